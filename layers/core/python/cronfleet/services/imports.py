"""Imports: schedules of another scheduler, registered as held. Importing the same again creates nothing."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final

from cronfleet.domain.beginning import Beginning
from cronfleet.domain.calendar_change import rule_of
from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.errors import CronfleetError, Exists
from cronfleet.domain.form import spec_form
from cronfleet.domain.instant import Instant
from cronfleet.domain.schedule import Definition, Spec, Status, Timer
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore, Listed
from cronfleet.services.access import Caller
from cronfleet.services.changing import Conditions, answer_of
from cronfleet.services.quotas import Room, TenantQuotas
from cronfleet.services.schedules import Schedules, SpecMaker

_PER_READ: Final = 50
"""Schedules that are looked for at a time."""


class Outcome(StrEnum):
    """What became of a schedule that was to be imported, or would become of it in a dry run."""

    CREATED = "created"
    UNCHANGED = "unchanged"
    """It is there, and says the same."""
    DIFFERS = "differs"
    """It is there and says something else; it was left as it is."""
    REPLACED = "replaced"
    """It was there, held (or anyhow, where any status may be replaced), and says now what the file says."""
    PENDING = "pending"
    """Time was up: import the same again, and it goes on."""
    FAILED = "failed"
    """It could not be written; the reason stands beside it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A schedule to be imported: its id, and what makes its spec (as in `Schedules.create`).

    `beginning` says how a new one stands; left out, it is held. `brings_calendar`: its calendar comes with it, so a dry
    run, which has made none, judges it without.
    """

    schedule_id: str
    make: SpecMaker
    beginning: Beginning | None = None
    brings_calendar: bool = False
    parents: tuple[str, ...] = ()
    """The schedules that it runs after."""
    brings: frozenset[str] = frozenset()
    """Those of them that come with it: a dry run, which has made none, judges it without."""

    def judged(self, current: Spec | None, now: Instant) -> Spec:
        """What a dry run has to judge."""
        spec = self.make(current, now)
        if isinstance(spec.trigger, AfterTrigger):
            parents = tuple(name for name in spec.trigger.parents if name not in self.brings)
            return replace(spec, trigger=replace(spec.trigger, parents=parents))
        if not self.brings_calendar or rule_of(spec.trigger) is None:
            return spec
        return replace(spec, trigger=replace(spec.trigger, calendar=None))  # type: ignore[arg-type]  # only a cron has a rule


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one; `differs` names the fields in which the stored one is different."""

    outcome: Outcome
    status: Status = Status.HELD
    differs: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Mode:
    """How to import: `dry_run` changes nothing; `replace` has a held one that differs say what the file says, and with
    `of_any_status` others too; `shadow` has new ones note what they would fire; after `deadline_at` nothing more is
    begun.
    """

    dry_run: bool
    replace: bool
    shadow: bool
    deadline_at: Instant
    reason: str
    of_any_status: bool = False


class Imports:
    """The service behind /v1/imports."""

    def __init__(self, *, schedules: Schedules, store: JobStore, clock: Clock) -> None:
        self._schedules = schedules
        self._store = store
        self._clock = clock
        self._judging = schedules.judged()
        self._quotas = TenantQuotas(store, writes=False)

    def carry_out(self, caller: Caller, wanted: Sequence[Wanted], mode: Mode) -> list[Result]:
        """What became of each, in the order of `wanted`. One that fails costs the others nothing."""
        found = self._stored(caller, wanted)
        room = self._room(caller) if mode.dry_run else None
        results = {
            one.schedule_id: self._one(caller, one, found.get(one.schedule_id), mode, room)
            for one in _parents_first(wanted)
        }
        return [results[one.schedule_id] for one in wanted]

    def _room(self, caller: Caller) -> Room:
        tenant = self._quotas.tenant_of(caller)
        return Room(self._quotas, tenant, self._quotas.seen(tenant.tenant_id))

    def _stored(self, caller: Caller, wanted: Sequence[Wanted]) -> Mapping[str, tuple[Timer, Definition]]:
        return {timer.schedule_id: (timer, definition) for timer, definition in self._read(caller, wanted)}

    def _read(self, caller: Caller, wanted: Sequence[Wanted]) -> Iterator[tuple[Timer, Definition]]:
        for some in _parts(wanted):
            listed = [Listed(one.schedule_id, Status.HELD, 1) for one in some]
            yield from answer_of(partial(self._store.get_schedules, caller.tenant.tenant_id, listed))

    def _one(
        self, caller: Caller, one: Wanted, stored: tuple[Timer, Definition] | None, mode: Mode, room: Room | None
    ) -> Result:
        if self._clock.now() >= mode.deadline_at:
            return Result(Outcome.PENDING)
        try:
            if stored is None:
                return self._new(caller, one, mode, room)
            return self._again(caller, one, stored, mode)
        except CronfleetError as error:
            return Result(Outcome.FAILED, reason=str(error))

    def _new(self, caller: Caller, one: Wanted, mode: Mode, room: Room | None) -> Result:
        schedules, make = (self._judging, one.judged) if mode.dry_run else (self._schedules, one.make)
        try:
            schedules.create(caller, one.schedule_id, make, held=True, shadow=mode.shadow, beginning=one.beginning)
        except Exists:
            # The first look may have been a moment old; this one is not.
            timer = answer_of(partial(self._store.get_timer, caller.tenant.tenant_id, one.schedule_id))
            if timer is None:
                raise
            listed = [Listed(timer.schedule_id, timer.status, timer.version)]
            for found in answer_of(partial(self._store.get_schedules, timer.tenant, listed)):
                return self._again(caller, one, found, mode)
            raise
        if room is not None:
            room.take(one.make(None, self._clock.now()).payload)
        return Result(Outcome.CREATED)

    def _again(self, caller: Caller, one: Wanted, stored: tuple[Timer, Definition], mode: Mode) -> Result:
        timer, definition = stored
        differs = _differences(one.make(definition.spec, self._clock.now()), definition.spec)
        if not differs:
            return Result(Outcome.UNCHANGED, timer.status)
        if not mode.replace or not (mode.of_any_status or timer.status is Status.HELD):
            return Result(Outcome.DIFFERS, timer.status, differs)
        schedules, make = (self._judging, one.judged) if mode.dry_run else (self._schedules, one.make)
        schedules.edit(caller, one.schedule_id, make, Conditions(if_match=(timer.etag,)), mode.reason)
        return Result(Outcome.REPLACED, timer.status, differs)


def _parents_first(wanted: Sequence[Wanted]) -> list[Wanted]:
    """`wanted`, each after the schedules that it runs after; what stands in a cycle is refused when its turn comes."""
    left = {one.schedule_id: one for one in wanted}
    ordered: list[Wanted] = []
    while left:
        ready = [one for one in left.values() if not any(parent in left for parent in one.parents)]
        ordered += [left.pop(one.schedule_id) for one in ready or list(left.values())]
    return ordered


def _parts(wanted: Sequence[Wanted]) -> Iterator[Sequence[Wanted]]:
    for start in range(0, len(wanted), _PER_READ):
        yield wanted[start : start + _PER_READ]


def _differences(one: Spec, other: Spec) -> tuple[str, ...]:
    """The fields in which two specs say different things; by their form, as in `Schedules`."""
    said, stored = spec_form(one), spec_form(other)
    return tuple(name for name in said if _text(said[name]) != _text(stored[name]))


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)
