"""Schedules: what callers do with them. Each change is one transaction with its audit item."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from cronfleet.domain.audit import schedule_subject
from cronfleet.domain.beginning import SIMPLY_ACTIVE, Beginning, begun
from cronfleet.domain.change import (
    cancelled,
    created,
    edited,
    paused,
    resumed,
    retimes,
    shadowed,
)
from cronfleet.domain.errors import Exists, Invalid, NotFound, Stale
from cronfleet.domain.form import Form, schedule_form, spec_form
from cronfleet.domain.freeze import Freeze
from cronfleet.domain.frozen import freeze_of, in_force, unfrozen
from cronfleet.domain.instant import Instant
from cronfleet.domain.misfire import Misfire
from cronfleet.domain.outlook import NamedFire, fires_of
from cronfleet.domain.quota import payload_bytes
from cronfleet.domain.schedule import Change, Definition, Hold, Pause, Shadow, Spec, Status, Timer
from cronfleet.domain.schedule_answer import answered_form
from cronfleet.domain.selection import Selection
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import (
    CreateTimer,
    InsertDefinition,
    InsertRun,
    InsertRunTimer,
    JobStore,
    Page,
    UpdateTimer,
    Write,
)
from cronfleet.services.access import Caller
from cronfleet.services.calendar_binding import bound, following_anew
from cronfleet.services.changing import (
    NO_CONDITIONS,
    Answer,
    Changing,
    Conditions,
    Draft,
    Once,
    answer_of,
    audit,
)
from cronfleet.services.dependencies import Dependencies
from cronfleet.services.fitting import fitting
from cronfleet.services.freeze_watch import FreezeWatch
from cronfleet.services.quotas import TenantQuotas, counting
from cronfleet.services.reviving import revivals
from cronfleet.services.selecting import find
from cronfleet.services.spreading import Spreading
from cronfleet.services.telling import Telling
from cronfleet.services.trying import Judging, Trying
from cronfleet.services.waking import waking

SpecMaker: TypeAlias = Callable[[Spec | None, Instant], Spec]
"""Makes the wanted spec out of the current one (`None`: there is none) and the time; raises `Invalid`."""

SpecCheck: TypeAlias = Callable[[Spec, Instant], object]
"""Judges a spec at a time; raises `Invalid`."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A live schedule as it was read."""

    timer: Timer
    definition: Definition

    @property
    def form(self) -> Form:
        return schedule_form(self.timer, self.definition)

    def answer(self, now: Instant, freeze: Freeze | None) -> Answer:
        """What its caller gets: the form, in words too, with what will surprise, and the `freeze` that holds it."""
        return Answer(answered_form(self.timer, self.definition, now, freeze), self.timer.etag)


class Schedules:
    """The service behind /v1/schedules."""

    def __init__(
        self,
        *,
        store: JobStore,
        clock: Clock,
        ids: Ids,
        shards: int,
        changing: Changing | None = None,
        telling: Telling | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._shards = shards
        self._changing = changing or Changing(store, clock, telling)
        self._quotas = TenantQuotas(store, writes=changing is None)
        self._freezes = FreezeWatch(store, clock, consistent=True)
        self._dependencies = Dependencies(store)
        self._spreading = Spreading(store)

    def tried(self) -> "Schedules":
        """The same service, whose changes write nothing and answer with their effect beside what would be."""
        return self._with(Trying(self._store, self._clock))

    def judged(self) -> "Schedules":
        """The same service, whose changes are judged as ever and write nothing: no effect is worked out."""
        return self._with(Judging(self._store, self._clock))

    def _with(self, changing: Changing) -> "Schedules":
        return Schedules(store=self._store, clock=self._clock, ids=self._ids, shards=self._shards, changing=changing)

    # --- reading -----------------------------------------------------------------------------------------------

    def get(self, caller: Caller, schedule_id: str) -> Answer:
        """The schedule; `NotFound` when there is none, or it is another tenant's."""
        found = self._require(caller, schedule_id)
        return found.answer(self._clock.now(), self._freeze_of(caller, found.timer))

    def list(self, caller: Caller, selection: Selection, *, cursor: str | None, limit: int) -> Page[Form]:
        """A page of the tenant's schedules that `selection` takes, by id; it may be short and still have a cursor."""
        now = self._clock.now()

        def read(most: int) -> Page[Form]:
            page = find(self._store, caller.tenant.tenant_id, selection, cursor, most)
            forms = [answered_form(*one, now, self._freeze_of(caller, one[0])) for one in page.items]
            return Page(forms, page.cursor)

        return fitting(read, limit)

    def fires(
        self, caller: Caller, schedule_id: str, *, from_at: Instant | None, to_at: Instant | None, limit: int
    ) -> Sequence[NamedFire]:
        """The fires that the schedule's trigger names from `from_at` (now) to `to_at`, both included, and which a
        freeze holds.
        """
        found = self._require(caller, schedule_id)
        start = self._clock.now() if from_at is None else from_at
        if to_at is not None and to_at < start:
            raise Invalid("to", "must not be earlier than from (now, if left out)")
        freezes, now = self._freezes_of(caller, found.timer), self._clock.now()
        fires = fires_of(found.timer, start - 1, to_at, limit)
        return [NamedFire(fire.nominal_at, fire.due_at, freeze_of(fire, freezes, now) is not None) for fire in fires]

    def _freezes_of(self, caller: Caller, timer: Timer) -> Sequence[Freeze]:
        """Every freeze of the schedule, those that have lately ended too."""
        return answer_of(lambda: self._freezes.of(timer, caller.tenant.tier))

    def _freeze_of(self, caller: Caller, timer: Timer) -> Freeze | None:
        """The freeze that holds the schedule now."""
        return in_force(self._freezes_of(caller, timer), self._clock.now())

    def _unchanged(self, caller: Caller, found: _Found, now: Instant) -> Draft:
        """The change that there is nothing to change."""
        return Draft((), found.answer(now, self._freeze_of(caller, found.timer)), found.timer, found.timer)

    def _find(self, caller: Caller, schedule_id: str) -> tuple[Timer | None, _Found | None]:
        """The stored timer, and the schedule unless that is a tombstone."""
        tenant = caller.tenant.tenant_id
        timer = answer_of(lambda: self._store.get_timer(tenant, schedule_id))
        if timer is None or timer.status is Status.CANCELLED:
            return timer, None
        definition = answer_of(partial(self._store.get_definition, tenant, schedule_id, timer.version))
        if definition is None:
            raise RuntimeError(f"version {timer.version} of {timer.key} is gone: it is never deleted")
        return timer, _Found(timer, definition)

    def _require(self, caller: Caller, schedule_id: str) -> _Found:
        _, found = self._find(caller, schedule_id)
        if found is None:
            raise NotFound("schedule", schedule_id)
        return found

    # --- creating and editing ----------------------------------------------------------------------------------

    def create(
        self,
        caller: Caller,
        schedule_id: str | None,
        make: SpecMaker,
        once: Once | None = None,
        *,
        held: bool = False,
        shadow: bool = False,
        beginning: Beginning | None = None,
    ) -> Answer:
        """A new schedule, under an id of its own when none is given; `Exists` when the id is taken.

        `held`: registered and not yet on, until it is resumed. `shadow`, for a held one: what it would have fired is
        noted, and never sent. `beginning` says how it stands instead of the two.

        What is wrong with the request itself is said first, here and in every change: whoever mends that must not
        find another fault than the one that was named.
        """
        name = schedule_id or self._ids.unique()

        def decide(now: Instant) -> Draft:
            tombstone, found = self._find(caller, name)
            begins = beginning or _beginning(caller, now, held=held, shadow=shadow)
            draft = self._created(caller, name, make(None, now), None if found else tombstone, "", now, begins)
            if found is not None:
                raise Exists(name, found.timer.etag)
            return draft

        return self._changing.change(caller, once, decide)

    def put(
        self,
        caller: Caller,
        schedule_id: str,
        make: SpecMaker,
        conditions: Conditions = NO_CONDITIONS,
        reason: str = "",
        *,
        held: bool = False,
        shadow: bool = False,
    ) -> Answer:
        """Create the schedule, `held` and in `shadow` as in `create`, or replace its definition.

        An equal one changes nothing, and is no new version.
        """

        def decide(now: Instant) -> Draft:
            tombstone, found = self._find(caller, schedule_id)
            spec = make(found.definition.spec if found else None, now)
            if found is not None:
                if conditions.only_new:
                    raise Exists(schedule_id, found.timer.etag)
                _check_hold(found.timer, held=held, shadow=shadow)
                return self._edited(caller, found, spec, conditions, reason, now)
            if conditions.if_match:
                raise Stale(conditions.if_match, "none: there is no such schedule")
            begins = _beginning(caller, now, held=held, shadow=shadow)
            return self._created(caller, schedule_id, spec, tombstone, reason, now, begins)

        return self._changing.change(caller, None, decide)

    def edit(
        self,
        caller: Caller,
        schedule_id: str,
        make: SpecMaker,
        conditions: Conditions = NO_CONDITIONS,
        reason: str = "",
    ) -> Answer:
        """Change the definition of a schedule that is there."""

        def decide(now: Instant) -> Draft:
            found = self._require(caller, schedule_id)
            return self._edited(caller, found, make(found.definition.spec, now), conditions, reason, now)

        return self._changing.change(caller, None, decide)

    def roll_back(
        self,
        caller: Caller,
        schedule_id: str,
        version: int,
        check: SpecCheck,
        *,
        conditions: Conditions = NO_CONDITIONS,
        reason: str = "",
        once: Once | None = None,
    ) -> Answer:
        """A new version that says what `version` said; nothing where the current one does.

        A calendar that it follows comes in its newest version. `check` judges by today's rules what was right then.
        """

        def decide(now: Instant) -> Draft:
            found = self._require(caller, schedule_id)
            old = answer_of(partial(self._store.get_definition, caller.tenant.tenant_id, schedule_id, version))
            if old is None:
                raise Invalid("version", f"there is no version {version}; the newest is {found.timer.version}")
            why = f"back to version {version}" + (f": {reason}" if reason else "")
            try:
                check(old.spec, now)
                return self._edited(caller, found, following_anew(old.spec), conditions, why, now)
            except Invalid as error:
                raise Invalid("version", f"{version} cannot come back: {error.field} {error.reason}") from error

        return self._changing.change(caller, once, decide)

    def _created(
        self,
        caller: Caller,
        schedule_id: str,
        spec: Spec,
        tombstone: Timer | None,
        reason: str,
        now: Instant,
        begins: Beginning,
    ) -> Draft:
        change_id = self._ids.unique()
        tenant = self._quotas.tenant_of(caller)
        spec, checks = bound(self._store, tenant.tenant_id, spec, None)
        spec = self._spreading.drawn(spec, None, tenant.tenant_id, schedule_id, now)
        timer, definition = created(
            spec,
            tenant=tenant,
            schedule_id=schedule_id,
            shards=self._shards,
            now=now,
            change_id=change_id,
            author=caller.actor,
            tombstone=tombstone,
            may_be_over=begins.may_be_over,
        )
        timer = begun(timer, begins)
        edges = self._dependencies.writes(tenant.tenant_id, schedule_id, None, spec)
        self._quotas.check_payload(tenant, spec.payload)
        form = schedule_form(timer, definition)
        writes: list[Write] = [
            CreateTimer(timer) if tombstone is None else UpdateTimer(timer, tombstone),
            InsertDefinition(definition),
            audit(caller, change_id, now, Change.CREATE, schedule_subject(schedule_id), after=form, reason=reason),
            *checks,
            *edges,
            self._quotas.one_more(tenant),
            *waking(self._store, tombstone, timer, now, self._shards),
        ]
        form = answered_form(timer, definition, now, self._freeze_of(caller, timer))
        answer = Answer(form, timer.etag, created=True)
        return Draft(writes, answer, after=timer)

    def _edited(
        self, caller: Caller, found: _Found, spec: Spec, conditions: Conditions, reason: str, now: Instant
    ) -> Draft:
        conditions.check(found.timer)
        change_id = self._ids.unique()
        before = found.definition
        spec, checks = bound(self._store, caller.tenant.tenant_id, spec, before.spec)
        spec = self._spreading.drawn(spec, before.spec, found.timer.tenant, found.timer.schedule_id, now)
        if _same(spec, before.spec):
            return self._unchanged(caller, found, now)
        if payload_bytes(spec.payload) > payload_bytes(before.spec.payload):
            self._quotas.check_payload(self._quotas.tenant_of(caller), spec.payload)
        held, noted = unfrozen(found.timer, self._freezes_of(caller, found.timer), now)
        timer, definition, rows, run_timers = edited(
            held, before, spec, now=now, change_id=change_id, author=caller.actor, reason=reason
        )
        rows += noted
        action = Change.RETIME if retimes(before.spec, spec) else Change.EDIT
        more: list[Write] = [InsertDefinition(definition), *map(InsertRun, rows), *map(InsertRunTimer, run_timers)]
        edges = self._dependencies.writes(caller.tenant.tenant_id, timer.schedule_id, before.spec, spec)
        return self._draft(caller, found, _Found(timer, definition), action, reason, [*more, *checks, *edges])

    # --- pausing, resuming, deleting ---------------------------------------------------------------------------

    def pause(
        self,
        caller: Caller,
        schedule_id: str,
        *,
        reason: str,
        until: Instant | None = None,
        conditions: Conditions = NO_CONDITIONS,
        once: Once | None = None,
    ) -> Answer:
        """Nothing starts after this has returned, until it is resumed or `until` has come."""

        def decide(now: Instant) -> Draft:
            found = self._require(caller, schedule_id)
            if until is not None and until <= now:
                raise Invalid("until", "is past; write a time that is still to come, or leave it out")
            conditions.check(found.timer)
            pause = Pause(caller.actor, now, reason, until)
            timer = paused(found.timer, pause, now=now, change_id=self._ids.unique())
            return self._draft(caller, found, _Found(timer, found.definition), Change.PAUSE, reason, ())

        return self._changing.change(caller, once, decide)

    def resume(
        self,
        caller: Caller,
        schedule_id: str,
        *,
        missed: Misfire | None = None,
        reason: str = "",
        conditions: Conditions = NO_CONDITIONS,
        once: Once | None = None,
    ) -> Answer:
        """On again from the next regular time; `missed` says which of the fires held back are still wanted.

        Left out, it is what the schedule's own policy for pauses says.
        """

        def decide(now: Instant) -> Draft:
            found = self._require(caller, schedule_id)
            conditions.check(found.timer)
            timer, rows = resumed(found.timer, now=now, change_id=self._ids.unique(), catch_up=missed)
            catch_up = found.timer.after_pause if missed is None else missed
            more: list[Write] = [*map(InsertRun, rows), *self._revivals(found.timer, timer, catch_up)]
            return self._draft(caller, found, _Found(timer, found.definition), Change.RESUME, reason, more)

        return self._changing.change(caller, once, decide)

    def shadow(
        self,
        caller: Caller,
        schedule_id: str,
        *,
        is_on: bool,
        reason: str = "",
        conditions: Conditions = NO_CONDITIONS,
        once: Once | None = None,
    ) -> Answer:
        """Have a held schedule note what it would fire, or no longer; what it is already changes nothing."""

        def decide(now: Instant) -> Draft:
            found = self._require(caller, schedule_id)
            conditions.check(found.timer)
            if found.timer.status is Status.HELD and found.timer.is_shadow is is_on:
                return self._unchanged(caller, found, now)
            shadow = Shadow(caller.actor, now) if is_on else None
            timer, rows = shadowed(found.timer, shadow, now=now, change_id=self._ids.unique(), by=caller.actor)
            after = _Found(timer, found.definition)
            return self._draft(caller, found, after, Change.SHADOW, reason, [InsertRun(row) for row in rows])

        return self._changing.change(caller, once, decide)

    def _revivals(self, before: Timer, after: Timer, catch_up: Misfire) -> Sequence[Write]:
        return answer_of(lambda: list(revivals(self._store, before, after, catch_up)))

    def delete(
        self, caller: Caller, schedule_id: str, conditions: Conditions = NO_CONDITIONS, reason: str = ""
    ) -> None:
        """Nothing starts after this has returned; the history stays."""

        def decide(now: Instant) -> Draft:
            found = self._require(caller, schedule_id)
            conditions.check(found.timer)
            timer, rows = cancelled(found.timer, now=now, change_id=self._ids.unique())
            after = _Found(timer, found.definition)
            spec, tenant = found.definition.spec, caller.tenant.tenant_id
            edges = self._dependencies.writes(tenant, schedule_id, spec, None)
            return self._draft(caller, found, after, Change.CANCEL, reason, [*map(InsertRun, rows), *edges])

        self._changing.change(caller, None, decide)

    def _draft(
        self, caller: Caller, before: _Found, after: _Found, action: Change, reason: str, more: Sequence[Write]
    ) -> Draft:
        # One that is older than counting is counted when it is changed, if nobody has found it before.
        timer = replace(after.timer, is_counted=action is not Change.CANCEL)
        said = {"before": before.form, "after": None if action is Change.CANCEL else after.form, "reason": reason}
        writes: list[Write] = [
            UpdateTimer(timer, before.timer),
            audit(caller, timer.change_id, timer.updated_at, action, schedule_subject(timer.schedule_id), **said),
            *more,
            *counting(before.timer, timer),
            *waking(self._store, before.timer, timer, timer.updated_at, self._shards),
        ]
        answer = after.answer(timer.updated_at, self._freeze_of(caller, timer))
        return Draft(writes, answer, before.timer, timer)


def _beginning(caller: Caller, now: Instant, *, held: bool, shadow: bool) -> Beginning:
    if not held:
        if shadow:
            raise Invalid("shadow", "is for a held schedule; write held: true as well")
        return SIMPLY_ACTIVE
    return Beginning(Hold(caller.actor, now, Shadow(caller.actor, now) if shadow else None))


def _check_hold(timer: Timer, *, held: bool, shadow: bool) -> None:
    """Whether what is asked of a new schedule holds for one that is there; raises `Invalid`."""
    if held and timer.status is not Status.HELD:
        raise Invalid(
            "held", f"is for a new schedule; this one is there, and {timer.status}. Leave it out, or pause it"
        )
    if shadow and not timer.is_shadow:
        raise Invalid("shadow", "is for a new schedule; turn this one's on with POST /v1/schedules/{id}/shadow")


def _same(one: Spec, other: Spec) -> bool:
    """Whether two specs say the same; by their form, since in Python `1`, `1.0` and `True` are equal."""
    return json.dumps(spec_form(one), sort_keys=True) == json.dumps(spec_form(other), sort_keys=True)
