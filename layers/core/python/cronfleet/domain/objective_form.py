"""Objectives as callers write them and read them, and as they are stored."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cronfleet.domain.errors import Invalid
from cronfleet.domain.objective import LONGEST_SECONDS, MAX_NAMED_CHANNELS, Objectives
from cronfleet.domain.quiet_hours import parse_time_of_day, time_of_day
from cronfleet.domain.tenant import ID_PATTERN
from cronfleet.domain.time_text import interval_text, parse_interval

LEARNED: Final = "learned"
"""What `runs_no_longer_than` says where the limit comes from the schedule's history."""


def objectives_form(objectives: Objectives) -> dict[str, Any]:
    """What a caller writes; what is not expected is left out."""
    said = {
        "starts_within": _text(objectives.starts_within_seconds),
        "succeeds_within": _text(objectives.succeeds_within_seconds),
        "succeeds_by": None if objectives.succeeds_by is None else time_of_day(objectives.succeeds_by),
        "runs_no_longer_than": LEARNED if objectives.learns_longest else _text(objectives.longest_seconds),
        "ping_within": _text(objectives.ping_within_seconds),
    }
    return {name: value for name, value in said.items() if value is not None} | {"channels": list(objectives.channels)}


def _text(seconds: int | None) -> str | None:
    return None if seconds is None else interval_text(seconds)


def parse_objectives(form: Mapping[str, Any]) -> Objectives:
    """The reverse; raises `Invalid` naming the field below `objectives`."""
    learns = form.get("runs_no_longer_than") == LEARNED
    by = form.get("succeeds_by")
    found = Objectives(
        starts_within_seconds=_seconds(form, "starts_within"),
        succeeds_within_seconds=_seconds(form, "succeeds_within"),
        succeeds_by=None if by is None else parse_time_of_day(by, "objectives.succeeds_by"),
        longest_seconds=None if learns else _seconds(form, "runs_no_longer_than"),
        learns_longest=learns,
        ping_within_seconds=_seconds(form, "ping_within"),
        channels=_channels(form.get("channels", ())),
    )
    if not found.kinds:
        raise Invalid(
            "objectives",
            "expects nothing; write starts_within, succeeds_within, succeeds_by, runs_no_longer_than or ping_within, "
            "or leave objectives out",
        )
    return found


def _seconds(form: Mapping[str, Any], name: str) -> int | None:
    text = form.get(name)
    if text is None:
        return None
    field = f"objectives.{name}"
    try:
        return parse_interval(text, longest=LONGEST_SECONDS)
    except Invalid as error:
        learned = f", or {LEARNED}" if name == "runs_no_longer_than" else ""
        raise Invalid(field, error.reason.replace("interval", "duration") + learned) from error


def _channels(names: Sequence[str]) -> tuple[str, ...]:
    if len(names) > MAX_NAMED_CHANNELS:
        raise Invalid("objectives.channels", f"names {len(names)} channels; {MAX_NAMED_CHANNELS} are the most")
    for place, name in enumerate(names):
        if not ID_PATTERN.fullmatch(name):
            raise Invalid(f"objectives.channels.{place}", f"{name[:80]!r} is no name of a channel")
    return tuple(dict.fromkeys(names))
