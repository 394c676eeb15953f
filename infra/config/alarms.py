"""Whom alarms tell, and from which figure on."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from infra.config.context import Context

TOPIC: Final = r"arn:aws[a-z-]*:sns:([a-z0-9-]+):[0-9]{12}:[A-Za-z0-9_-]+"
MOST_TARGETS: Final = 5
"""Actions that an alarm may have for each of its states (CloudWatch, PutMetricAlarm)."""


@dataclass(frozen=True, slots=True)
class Alarms:
    """`targets` are ARNs of SNS topics; `thresholds` stand by an alarm's name without the prefix, e.g. `lag-standard`.

    An alarm that is not named has the threshold that its specification gives it.
    """

    targets: tuple[str, ...]
    thresholds: Mapping[str, float]


def alarms_of(context: Context) -> Alarms:
    """The choices under `alarms`."""
    targets = tuple(dict.fromkeys(context.texts("alarms.targets")))
    if len(targets) > MOST_TARGETS:
        context.refuse("alarms.targets", list(targets), f"at most {MOST_TARGETS}, which is what an alarm tells")
    for target in targets:
        _check_topic(context, target)
    names = context.names_in("alarms.thresholds")
    return Alarms(targets, {name: _threshold(context, f"alarms.thresholds.{name}") for name in names})


def _check_topic(context: Context, arn: str) -> None:
    found, region = re.fullmatch(TOPIC, arn), context.text("region")
    if found is None:
        context.refuse("alarms.targets", arn, "ARNs of SNS topics, such as arn:aws:sns:REGION:ACCOUNT:NAME")
    if region and found.group(1) != region:
        context.refuse("alarms.targets", arn, f"topics in {region}: an alarm reaches no other region")


def _threshold(context: Context, name: str) -> float:
    value = context.value(name)
    text = str(value)
    if not re.fullmatch(r"-?\d+(\.\d+)?", text):
        context.refuse(name, text, "a number, in the unit of the alarm's metric")
    return float(text)
