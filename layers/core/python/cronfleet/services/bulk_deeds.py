"""Bulk deeds: what may be done to many schedules, as it is done to one."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Protocol

from cronfleet.domain.errors import Invalid
from cronfleet.domain.imported import OFF, OFF_LABEL
from cronfleet.domain.instant import Instant
from cronfleet.domain.misfire import Misfire
from cronfleet.domain.schedule import Change, Spec, Status
from cronfleet.domain.selection import MAX_LABELS, Selection
from cronfleet.services.access import Caller
from cronfleet.services.changing import Conditions
from cronfleet.services.schedules import Schedules

_LIVE: Final = frozenset(Status) - {Status.CANCELLED}


class Deed(Protocol):
    """One change, done to each schedule that is meant."""

    @property
    def change(self) -> Change:
        """What it is, for where it is allowed."""
        ...

    @property
    def word(self) -> str:
        """What it is called in a refusal."""
        ...

    @property
    def usual(self) -> Set[Status]:
        """Where a schedule stands that is meant when no status is asked for."""
        ...

    def leaves_out(self, labels: Mapping[str, str], selection: Selection) -> bool:
        """Whether a schedule that matches is not meant all the same."""
        ...

    def do(self, schedules: Schedules, caller: Caller, schedule_id: str, conditions: Conditions, reason: str) -> bool:
        """Do it; whether anything was changed. Raises what a change of one schedule raises."""
        ...


class _All:
    def leaves_out(self, labels: Mapping[str, str], selection: Selection) -> bool:  # noqa: ARG002 - by the protocol
        return False


@dataclass(frozen=True, slots=True)
class Pausing(_All):
    """Pause what is active."""

    change: ClassVar[Change] = Change.PAUSE
    word: ClassVar[str] = "pause"
    usual: ClassVar[Set[Status]] = frozenset({Status.ACTIVE})

    until: Instant | None = None

    def do(self, schedules: Schedules, caller: Caller, schedule_id: str, conditions: Conditions, reason: str) -> bool:
        schedules.pause(caller, schedule_id, reason=reason, until=self.until, conditions=conditions)
        return True


@dataclass(frozen=True, slots=True)
class Resuming:
    """Resume what is paused; what is held or parked only where that is asked for.

    What was off in the system that it was imported from stays out, unless `include_off`, or that label is asked for.
    """

    change: ClassVar[Change] = Change.RESUME
    word: ClassVar[str] = "resume"
    usual: ClassVar[Set[Status]] = frozenset({Status.PAUSED})

    missed: Misfire | None = None
    include_off: bool = False

    def leaves_out(self, labels: Mapping[str, str], selection: Selection) -> bool:
        return not self.include_off and labels.get(OFF_LABEL) == OFF and OFF_LABEL not in selection.labels

    def do(self, schedules: Schedules, caller: Caller, schedule_id: str, conditions: Conditions, reason: str) -> bool:
        schedules.resume(caller, schedule_id, missed=self.missed, reason=reason, conditions=conditions)
        return True


@dataclass(frozen=True, slots=True)
class Cancelling(_All):
    """Delete, whatever the status."""

    change: ClassVar[Change] = Change.CANCEL
    word: ClassVar[str] = "cancel"
    usual: ClassVar[Set[Status]] = _LIVE

    def do(self, schedules: Schedules, caller: Caller, schedule_id: str, conditions: Conditions, reason: str) -> bool:
        schedules.delete(caller, schedule_id, conditions, reason)
        return True


@dataclass(frozen=True, slots=True)
class Labelling(_All):
    """Set labels and take labels away, whatever the status. One that has them so already is not changed."""

    change: ClassVar[Change] = Change.EDIT
    word: ClassVar[str] = "labels"
    usual: ClassVar[Set[Status]] = _LIVE

    wanted: Mapping[str, str] = field(default_factory=dict)
    unwanted: Set[str] = frozenset()

    def do(self, schedules: Schedules, caller: Caller, schedule_id: str, conditions: Conditions, reason: str) -> bool:
        answer = schedules.edit(caller, schedule_id, self._labelled, conditions, reason)
        return answer.etag not in conditions.if_match

    def _labelled(self, current: Spec | None, _now: Instant) -> Spec:
        if current is None:
            raise ValueError("only what is there is labelled")
        kept = {name: value for name, value in current.labels.items() if name not in self.unwanted}
        labels = {**kept, **self.wanted}
        if len(labels) > MAX_LABELS:
            raise Invalid("labels", f"would be {len(labels)}; {MAX_LABELS} are allowed")
        return replace(current, labels=labels)
