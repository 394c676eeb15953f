"""Backfills as callers ask for them: counted first, made once however often the same is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Final

from cronfleet.domain.backfill import MAX_SUBJECTS, Mode, Order, Place, Subject, Window, dates, is_wanted
from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.errors import Invalid, NotFound, QuotaExceeded
from cronfleet.domain.form import Form
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.operation import DEFAULT_CONCURRENT, UNITS_PER_RUN, Kind, Operation, backfill_id
from cronfleet.domain.operation_form import operation_form
from cronfleet.domain.quota import quotas_of
from cronfleet.domain.schedule import Spec, Status, Timer
from cronfleet.domain.selection import Selection
from cronfleet.domain.trigger import UNCOMPUTABLE
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import JobStore
from cronfleet.services.access import Caller
from cronfleet.services.changing import Answer, Changing, Draft, Once, answer_of
from cronfleet.services.date_history import standings
from cronfleet.services.operations import check_open, check_stretch, making
from cronfleet.services.quotas import TenantQuotas
from cronfleet.services.runs import Override
from cronfleet.services.selecting import everything

MAX_DATES: Final = 200_000
"""Dates of one backfill, whatever the quota: they are counted while the caller waits."""
MAX_JUDGED: Final = 2_000
"""Dates of a preview whose histories are looked at; of more it says only how many there are."""
JUDGED_AT_ONCE: Final = 200
SHOWN: Final = 5
"""First and last dates that a preview shows."""


@dataclass(frozen=True, slots=True)
class AskedBackfill:
    """What a caller asks for. `schedule_id` or `labels` say of what; `flow_on`: dependants follow.
    `again` tells the same, asked for anew, apart."""

    from_at: Instant
    to_at: Instant
    schedule_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    order: Order = Order.OLDEST
    mode: Mode = Mode.SKIP_SUCCEEDED
    version: int | None = None
    override: Override | None = None
    flow_on: bool = False
    again: int = 1
    max_concurrent: int = DEFAULT_CONCURRENT
    rate_per_minute: int | None = None

    @property
    def window(self) -> Window:
        """The stretch of time that it is about."""
        return Window(self.from_at, self.to_at, self.order)

    def record(self) -> dict[str, Any]:
        """What is asked, but for how fast and why: what names the backfill."""
        said: dict[str, Any] = {"from": self.from_at, "to": self.to_at, "order": self.order.value}
        said |= {"mode": self.mode.value}
        said |= {"schedule": self.schedule_id} if self.schedule_id is not None else {"labels": dict(self.labels)}
        said |= {} if self.version is None else {"version": self.version}
        said |= {} if self.override is None else {"payload": [self.override.payload]}
        said |= {"flow_on": True} if self.flow_on else {}
        return said if self.again == 1 else {**said, "again": self.again}


@dataclass(frozen=True, slots=True)
class _Subjects:
    """The schedules of a backfill, as they stand, and what names their dates."""

    timers: Sequence[Timer]
    specs: Sequence[Spec]

    def record(self) -> list[list[Any]]:
        return [Subject(timer.schedule_id, timer.version, timer.epoch).record() for timer in self.timers]


class Backfills:
    """The service behind POST /v1/backfills."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids, shards: int) -> None:
        """`shards` is how many there are: the errand of an operation waits in one of them."""
        self._store = store
        self._shards = shards
        self._clock = clock
        self._ids = ids
        self._changing = Changing(store, clock)
        self._quotas = TenantQuotas(store)

    def create(self, caller: Caller, asked: AskedBackfill, *, reason: str = "", once: Once | None = None) -> Answer:
        """The backfill, made now, or the one that the same call made before: then nothing is created.

        `Invalid`, `NotFound` and `QuotaExceeded` as for a preview; `Conflict` where too many operations are under way.
        """
        tenant = caller.tenant.tenant_id
        made_id = backfill_id(tenant, asked.record())
        existing = answer_of(lambda: self._store.get_operation(tenant, made_id))
        if existing is not None:
            return Answer(operation_form(existing))
        subjects = self._subjects(caller, asked)
        total = len(self._places(caller, asked, subjects))
        check_open(self._store, tenant)

        def decide(now: Instant) -> Draft:
            there = answer_of(lambda: self._store.get_operation(tenant, made_id))
            if there is not None:
                return Draft([], Answer(operation_form(there)))
            change_id = self._ids.unique()
            made = self._made(caller, asked, subjects, total, (made_id, change_id), reason, now)
            return making(self._store, caller, made, now, shards=self._shards)

        return self._changing.change(caller, once, decide)

    def _made(
        self,
        caller: Caller,
        asked: AskedBackfill,
        subjects: _Subjects,
        total: int,
        ids: tuple[str, str],
        reason: str,
        now: Instant,
    ) -> Operation:
        return Operation(
            caller.tenant.tenant_id,
            ids[0],
            Kind.BACKFILL,
            {**asked.record(), "subjects": subjects.record()},
            caller.actor,
            now,
            ids[1],
            reason,
            total=total,
            max_concurrent=asked.max_concurrent,
            rate_per_minute=asked.rate_per_minute,
            changed_at=now,
            origin=caller.trace,
        )

    def preview(self, caller: Caller, asked: AskedBackfill) -> Form:
        """How many dates there are, the first and the last, how many of them would run, and what that costs."""
        subjects = self._subjects(caller, asked)
        places = self._places(caller, asked, subjects)
        made_id = backfill_id(caller.tenant.tenant_id, asked.record())
        existing = answer_of(lambda: self._store.get_operation(caller.tenant.tenant_id, made_id))
        runs = self._runs(asked, subjects, places)
        first, last = places[:SHOWN], places[max(SHOWN, len(places) - SHOWN) :]
        return {
            "dry_run": True,
            "id": made_id,
            "exists": existing is not None,
            "count": len(places),
            "runs": runs,
            "first": [_date(subjects, place) for place in first],
            "last": [_date(subjects, place) for place in last],
            "schedules": [timer.schedule_id for timer in subjects.timers],
            "write_units": UNITS_PER_RUN * (len(places) if runs is None else runs),
        }

    # --- what is asked about -----------------------------------------------------------------------------------

    def _subjects(self, caller: Caller, asked: AskedBackfill) -> _Subjects:
        self._check(caller, asked)
        timers = subject_timers(self._store, caller, asked.schedule_id, asked.labels)
        specs = []
        for timer in timers:
            read = partial(self._store.get_definition, timer.tenant, timer.schedule_id, timer.version)
            definition = answer_of(read)
            if definition is None:
                raise NotFound("version", f"{timer.schedule_id} {timer.version}")
            specs.append(definition.spec)
        return _Subjects(timers, specs)

    def _check(self, caller: Caller, asked: AskedBackfill) -> None:
        check_stretch(asked.from_at, asked.to_at)
        if asked.to_at > self._clock.now():
            raise Invalid("to", "lies ahead: what is to come, the schedule fires by itself; write a time that is past")
        if asked.override is not None:
            self._quotas.check_payload(self._quotas.tenant_of(caller), asked.override.payload)
        if asked.version is not None:
            self._check_version(caller, asked, asked.version)

    def _check_version(self, caller: Caller, asked: AskedBackfill, version: int) -> None:
        schedule_id = asked.schedule_id
        if schedule_id is None:
            raise Invalid("version", "goes with schedule alone: each schedule has versions of its own; leave it out")
        read = partial(self._store.get_definition, caller.tenant.tenant_id, schedule_id, version)
        if answer_of(read) is None:
            raise Invalid("version", f"is {version}, which {schedule_id} has never had; see its /versions")

    def _places(self, caller: Caller, asked: AskedBackfill, subjects: _Subjects) -> list[Place]:
        most = min(MAX_DATES, quotas_of(self._quotas.tenant_of(caller)).backfill_fires)
        try:
            places = list(islice(dates(subjects.specs, asked.window), most + 1))
        except UNCOMPUTABLE as error:
            raise Invalid("schedule", f"names dates that cannot be computed any more: {error}") from error
        if len(places) > most:
            hint = "the stretch names more dates; make it shorter, and backfill it in parts"
            raise QuotaExceeded("backfill_fires", len(places), most, hint)
        if not places:
            follows = next((spec.trigger for spec in subjects.specs if isinstance(spec.trigger, AfterTrigger)), None)
            if follows is not None and len(subjects.specs) == 1:
                hint = f"runs after {follows.parents[0]} and names no times itself: backfill that, with flow_on"
                raise Invalid("schedule", hint)
            raise Invalid("from", "and to hold no time that the trigger names, as it is now; there is nothing to run")
        return places

    def _runs(self, asked: AskedBackfill, subjects: _Subjects, places: Sequence[Place]) -> int | None:
        """How many of the dates would run by the mode; `None` where there are too many to look at."""
        if asked.mode is Mode.REDO_ALL:
            return len(places)
        if len(places) > MAX_JUDGED:
            return None
        return sum(self._wanted_of(asked, timer, number, places) for number, timer in enumerate(subjects.timers))

    def _wanted_of(self, asked: AskedBackfill, timer: Timer, number: int, places: Sequence[Place]) -> int:
        own = [place.nominal_at for place in places if place.subject == number]
        count = 0
        for start in range(0, len(own), JUDGED_AT_ONCE):
            some = own[start : start + JUDGED_AT_ONCE]
            found = answer_of(partial(standings, self._store, timer, some))
            count += sum(is_wanted(asked.mode, found[nominal]) for nominal in some)
        return count


def subject_timers(
    store: JobStore, caller: Caller, schedule_id: str | None, labels: Mapping[str, str], field_name: str = "labels"
) -> list[Timer]:
    """The timers of the schedule, or of all with these labels. `NotFound`, or `Invalid` for none or too many."""
    tenant = caller.tenant.tenant_id
    if schedule_id is not None:
        timer = answer_of(lambda: store.get_timer(tenant, schedule_id))
        if timer is None or timer.status is Status.CANCELLED:
            raise NotFound("schedule", schedule_id, f"{field_name.removesuffix('labels')}schedule")
        return [timer]
    selection = Selection(labels=labels)
    found: list[Timer] = []
    for page in everything(store, tenant, selection, None):
        found += [timer for timer, definition in page.items if selection.takes(timer, definition.spec)]
        if len(found) > MAX_SUBJECTS:
            raise Invalid(field_name, f"are those of more than {MAX_SUBJECTS} schedules; ask for fewer at a time")
    if not found:
        raise Invalid(field_name, "are those of no schedule; see GET /v1/schedules?label=")
    return found


def _date(subjects: _Subjects, place: Place) -> Form:
    return {"schedule_id": subjects.timers[place.subject].schedule_id, "nominal_at": to_text(place.nominal_at)}
