"""Whom alarms tell, and from which figure on."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from infra.config.context import Context


@dataclass(frozen=True, slots=True)
class Alarms:
    """`targets` are ARNs of SNS topics; `thresholds` stand by an alarm's name without the prefix, e.g. `lag-standard`.

    An alarm that is not named has the threshold that its specification gives it.
    """

    targets: tuple[str, ...]
    thresholds: Mapping[str, float]


def alarms_of(context: Context) -> Alarms:
    """The choices under `alarms`."""
    targets = context.texts("alarms.targets")
    for target in targets:
        if not re.fullmatch(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w-]+", target):
            context.refuse("alarms.targets", target, "ARNs of SNS topics, such as arn:aws:sns:REGION:ACCOUNT:NAME")
    names = context.names_in("alarms.thresholds")
    return Alarms(targets, {name: _threshold(context, f"alarms.thresholds.{name}") for name in names})


def _threshold(context: Context, name: str) -> float:
    value = context.value(name)
    text = str(value)
    if not re.fullmatch(r"-?\d+(\.\d+)?", text):
        context.refuse(name, text, "a number, in the unit of the alarm's metric")
    return float(text)
