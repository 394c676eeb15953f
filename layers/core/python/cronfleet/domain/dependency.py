"""Dependencies: a trigger that is named by the runs of other schedules, its parents.

B's fire is named by the nominal time of a parent's run, so that a join of several parents is exact: whatever they did
for 02:00 belongs to B's run of 02:00. `domain/join.py` decides what B makes of their ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import HOUR, SECOND, Instant
from cronfleet.domain.tenant import ID_PATTERN
from cronfleet.domain.time_text import interval_text, parse_interval

MAX_PARENTS: Final = 20
MAX_DEPENDANTS: Final = 40
"""Schedules that run directly after one: what follows from its end is one transaction, two writes each, of 100."""

DEFAULT_WITHIN_SECONDS: Final = 24 * HOUR // SECOND
LONGEST_WITHIN_SECONDS: Final = 7 * DEFAULT_WITHIN_SECONDS

FIELDS: Final = ("after", "on", "within", "else")


class On(StrEnum):
    """Which ends of its parents a schedule waits for."""

    SUCCESS = "success"
    """Each of them succeeded."""
    FAILURE = "failure"
    """One of them failed: it is dead, or could not be run."""
    FINISHED = "finished"
    """Each of them has ended, whatever came of it."""


class Else(StrEnum):
    """What becomes of a run whose parents ended otherwise, or too late."""

    SKIP = "skip"
    """It is skipped, with the reason."""
    RUN = "run"
    """It runs all the same."""
    FAIL = "fail"
    """It is dead: a dead letter, with the reason."""


@dataclass(frozen=True, slots=True)
class AfterTrigger:
    """Fires for each run of its `parents` (ids of schedules of the same tenant), once for each nominal time.

    It names no time by itself: its timer waits for nothing, and is never completed.
    """

    parents: tuple[str, ...]
    on: On = On.SUCCESS
    within_seconds: int = DEFAULT_WITHIN_SECONDS
    otherwise: Else = Else.SKIP

    @property
    def timezone(self) -> str | None:
        """It goes by no clock."""
        return None

    def next_after(self, _instant: Instant) -> Instant | None:
        """None: which times there are, its parents say when they run."""
        return None


def parse_after(fields: Mapping[str, object]) -> AfterTrigger:
    """Reads `{"after": [ids][, "on"][, "within"][, "else"]}`; raises `Invalid` with the field."""
    return AfterTrigger(
        _parents(fields["after"]),
        _choice(fields, "on", On, On.SUCCESS),
        _within(fields.get("within")),
        _choice(fields, "else", Else, Else.SKIP),
    )


def _parents(asked: object) -> tuple[str, ...]:
    if not isinstance(asked, list | tuple) or not asked:
        raise Invalid("after", "must be a list of ids of schedules, at least one")
    if len(asked) > MAX_PARENTS:
        raise Invalid("after", f"names {len(asked)} schedules; {MAX_PARENTS} are allowed")
    for place, one in enumerate(asked):
        if not isinstance(one, str) or not ID_PATTERN.fullmatch(one):
            raise Invalid(f"after[{place}]", f"{one!r:.80} is no id of a schedule")
        if one in asked[:place]:
            raise Invalid(f"after[{place}]", f"names {one} twice")
    return tuple(map(str, asked))


def _within(asked: object) -> int:
    if asked is None:
        return DEFAULT_WITHIN_SECONDS
    try:
        return parse_interval(asked, longest=LONGEST_WITHIN_SECONDS)
    except Invalid as error:
        raise Invalid("within", error.reason) from error


def _choice(fields: Mapping[str, object], name: str, choices: Any, default: Any) -> Any:
    asked = fields.get(name)
    if asked is None:
        return default
    if asked not in tuple(choices):
        *most, last = (repr(choice.value) for choice in choices)
        raise Invalid(name, f"must be {', '.join(most)} or {last}, not {asked!r:.40}")
    return choices(str(asked))


def describe_after(trigger: AfterTrigger) -> dict[str, object]:
    """The API's form, as `parse_after` reads it."""
    return {
        "after": list(trigger.parents),
        "on": trigger.on.value,
        "within": interval_text(trigger.within_seconds),
        "else": trigger.otherwise.value,
    }


def after_record(trigger: AfterTrigger) -> dict[str, Any]:
    """The form kept in the job store: `f` parents, `n` on, `w` within in seconds, `e` else."""
    record = {"f": list(trigger.parents), "n": trigger.on.value, "w": trigger.within_seconds}
    return record | {"e": trigger.otherwise.value}


def after_of_record(record: Mapping[str, Any]) -> AfterTrigger:
    """The reverse of `after_record`; raises `Invalid` for a damaged one."""
    try:
        return AfterTrigger(tuple(map(str, record["f"])), On(record["n"]), int(record["w"]), Else(record["e"]))
    except (KeyError, ValueError, TypeError) as error:
        raise Invalid("after", f"the stored trigger is damaged: {error!r}") from error


_ON_WORDS: Final = {
    On.SUCCESS: "when {} succeeded",
    On.FAILURE: "when {} failed",
    On.FINISHED: "when {} ended, whatever came of it",
}
_ELSE_WORDS: Final = {
    Else.SKIP: "else it is skipped",
    Else.RUN: "else it runs all the same",
    Else.FAIL: "else it fails",
}


def after_words(trigger: AfterTrigger, within: str) -> str:
    """`After load, when it succeeded within 24 hours; else it is skipped`; `within` is the time in words."""
    one = len(trigger.parents) == 1
    who = "it" if one else "one of them" if trigger.on is On.FAILURE else "each of them"
    on = _ON_WORDS[trigger.on].format(who)
    return f"After {_joined(trigger.parents)}, {on}, within {within}; {_ELSE_WORDS[trigger.otherwise]}"


def _joined(names: tuple[str, ...]) -> str:
    *most, last = names or ("nothing",)
    return f"{', '.join(most)} and {last}" if most else last


@dataclass(frozen=True, slots=True)
class Dependants:
    """The schedules that run directly after one, by id. `rev` rises with every change; 0: nothing is stored."""

    tenant: str
    schedule_id: str
    names: tuple[str, ...] = ()
    rev: int = 0


@dataclass(frozen=True, slots=True)
class DependencyMark:
    """One for each tenant: every change of its dependencies raises `rev`, so that no two together make a cycle."""

    tenant: str
    rev: int = 0
