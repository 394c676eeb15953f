"""Backfills: which nominal times of the past become runs, in which order, and which are passed over. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import merge
from itertools import dropwhile
from typing import Any, Final

from cronfleet.domain.instant import Instant
from cronfleet.domain.run import BACKFILL_CAUSE, RERUN_CAUSE, SCHEDULE_CAUSE, Run, RunStatus
from cronfleet.domain.schedule import Spec
from cronfleet.domain.trigger import Trigger, fires, latest_fires

MAX_SUBJECTS: Final = 100
"""Schedules of one backfill, or of one re-run by a filter."""

_NEWEST_AT_ONCE: Final = 64


class Order(StrEnum):
    """Which dates come first."""

    OLDEST = "oldest"
    NEWEST = "newest"

    def is_before(self, one: "Place", other: "Place") -> bool:
        """Whether `one` comes before `other`."""
        return self.sort_key(one) < self.sort_key(other)

    def sort_key(self, place: "Place") -> tuple[int, int]:
        """What places are sorted by; two at one time stand in the order of their schedules."""
        nominal_at = place.nominal_at if self is Order.OLDEST else -place.nominal_at
        return nominal_at, place.subject


class Mode(StrEnum):
    """What becomes of a date that has a run already."""

    SKIP_SUCCEEDED = "skip_succeeded"
    """Every date runs that has not succeeded, and is not on its way."""
    REDO_FAILED = "redo_failed"
    """Only dates whose runs failed, and none of which has succeeded since."""
    REDO_ALL = "redo_all"
    """Every date runs."""


class Standing(StrEnum):
    """Where a date stands, by the rows of its nominal time."""

    SUCCEEDED = "succeeded"
    GOING = "going"
    FAILED = "failed"
    OPEN = "open"
    """No run of it came to an end that counts."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One schedule of an operation, as it was when that was asked for."""

    schedule_id: str
    version: int
    epoch: int

    def record(self) -> list[Any]:
        """It, as an operation keeps it; `subjects_of` is the reverse."""
        return [self.schedule_id, self.version, self.epoch]


def subjects_of(asked: Mapping[str, Any]) -> list[Subject]:
    """The schedules that an operation was asked about."""
    return [Subject(*one) for one in asked["subjects"]]


def overlap(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two backfills were asked about a schedule in common, in stretches that have a moment in common."""
    schedules = {subject.schedule_id for subject in subjects_of(one)} & {
        subject.schedule_id for subject in subjects_of(other)
    }
    return bool(schedules) and max(one["from"], other["from"]) < min(one["to"], other["to"])


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A date of a backfill: its nominal time, and the number of its schedule among the subjects."""

    nominal_at: Instant
    subject: int

    def __str__(self) -> str:
        return f"{self.nominal_at}.{self.subject}"

    @classmethod
    def parse(cls, text: str) -> "Place":
        """The reverse of `str`; raises `ValueError`."""
        nominal_at, subject = map(int, text.split("."))
        return cls(nominal_at, subject)


@dataclass(frozen=True, slots=True)
class Window:
    """Nominal times from `from_at` on and before `to_at`, in an order."""

    from_at: Instant
    to_at: Instant
    order: Order


def dates(specs: Sequence[Spec], window: Window, after: Place | None = None) -> Iterator[Place]:
    """The dates of all schedules in their order, those behind `after` alone; two at one time in the subjects' order.

    What a schedule's `start_at` and `end_at` exclude is none. Raises what a trigger raises that no longer computes.
    """
    each = (_dates_of(spec, number, window, after) for number, spec in enumerate(specs))
    ordered = merge(*each, key=window.order.sort_key)
    return ordered if after is None else dropwhile(lambda place: not window.order.is_before(after, place), ordered)


def _dates_of(spec: Spec, number: int, window: Window, after: Place | None) -> Iterator[Place]:
    from_at = window.from_at if spec.start_at is None else max(window.from_at, spec.start_at)
    until = window.to_at - 1 if spec.end_at is None else min(window.to_at - 1, spec.end_at)
    if window.order is Order.OLDEST:
        from_at = from_at if after is None else max(from_at, after.nominal_at)
        return (Place(nominal, number) for nominal in fires(spec.trigger, from_at - 1, until))
    until = until if after is None else min(until, after.nominal_at)
    return (Place(nominal, number) for nominal in _newest(spec.trigger, from_at - 1, until))


def _newest(trigger: Trigger, after: Instant, until: Instant) -> Iterator[Instant]:
    while until > after:
        some = latest_fires(trigger, after, until, _NEWEST_AT_ONCE)
        yield from reversed(some)
        if len(some) < _NEWEST_AT_ONCE:
            return
        until = some[0] - 1


def counts_for_date(run: Run) -> bool:
    """Whether a row tells of a date of its schedule, and of no other request: a fire, a backfill, a re-run."""
    word = run.key.cause.partition("-")[0]
    return word in (SCHEDULE_CAUSE, BACKFILL_CAUSE, RERUN_CAUSE) and run.until_nominal_at is None


def standing(rows: Iterable[Run]) -> Standing:
    """Where a date stands by all the rows that count for it."""
    found = {_standing(row.status) for row in rows}
    return next((one for one in Standing if one in found), Standing.OPEN)


def _standing(status: RunStatus) -> Standing:
    if status is RunStatus.SUCCEEDED:
        return Standing.SUCCEEDED
    if status in (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING):
        return Standing.GOING
    return Standing.FAILED if status in (RunStatus.DEAD, RunStatus.REFUSED) else Standing.OPEN


def is_wanted(mode: Mode, stands: Standing) -> bool:
    """Whether a date that stands like this becomes a run."""
    if mode is Mode.REDO_ALL:
        return True
    if mode is Mode.REDO_FAILED:
        return stands is Standing.FAILED
    return stands in (Standing.FAILED, Standing.OPEN)
