"""Re-runs: one run again, or all that a filter takes; each with a run id of its own, its cause and its ancestor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from cronfleet.domain.audit import schedule_subject
from cronfleet.domain.backfill import Subject
from cronfleet.domain.claim import RunTimer
from cronfleet.domain.errors import Conflict, Invalid, Miscounted, NotFound, QuotaExceeded
from cronfleet.domain.form import Form, run_form
from cronfleet.domain.frozen import frozen_reason, in_force
from cronfleet.domain.instant import Instant
from cronfleet.domain.operation import DEFAULT_CONCURRENT, UNITS_PER_RUN, Kind, Operation, operation_id
from cronfleet.domain.quota import quotas_of
from cronfleet.domain.rerun import WITH_SIGNATURE, Version, check_repeatable, pinned_version
from cronfleet.domain.run import RERUN_CAUSE, Run, RunKey, RunStatus
from cronfleet.domain.schedule import Definition, Status, Timer
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import InsertRun, InsertRunTimer, JobStore
from cronfleet.services.access import Caller
from cronfleet.services.backfills import subject_timers
from cronfleet.services.changing import Answer, Changing, Draft, Once, answer_of, audit
from cronfleet.services.freeze_watch import FreezeWatch
from cronfleet.services.operation_sources import queued
from cronfleet.services.operations import check_open, check_stretch, making
from cronfleet.services.quotas import TenantQuotas
from cronfleet.services.rerun_source import RerunSource
from cronfleet.services.runs import Override

RERUN: Final = "rerun_run"
"""The audit log's word for the repetition of one run."""

MAX_COUNTED: Final = 20_000
"""Rows that a count finds; of more it says that there are at least so many."""
COUNTED_AT_ONCE: Final = 500
MAX_ROUNDS: Final = 60
"""Of a count: each looks through a few thousand rows, or a thousand dead letters."""
SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class AskedRerun:
    """Which runs to repeat, how, and how fast. `expected` is how many there are to be."""

    schedule_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    from_at: Instant | None = None
    to_at: Instant | None = None
    statuses: tuple[RunStatus, ...] = (RunStatus.DEAD,)
    signature: str | None = None
    version: Version = Version.NEWEST
    override: Override | None = None
    flow_on: bool = False
    rate_per_minute: int | None = None
    max_concurrent: int = DEFAULT_CONCURRENT
    expected: int | None = None

    def record(self, timers: Sequence[Timer]) -> dict[str, Any]:
        """What is asked, as the operation keeps it."""
        said: dict[str, Any] = {"status": sorted(status.value for status in self.statuses)}
        said |= {"version": self.version.value}
        said |= {} if self.schedule_id is None else {"schedule": self.schedule_id}
        said |= {"labels": dict(self.labels)} if self.labels else {}
        said |= {} if self.signature is None else {"signature": self.signature}
        said |= {} if self.from_at is None else {"from": self.from_at}
        said |= {} if self.to_at is None else {"to": self.to_at}
        said |= {} if self.override is None else {"payload": [self.override.payload]}
        said |= {"flow_on": True} if self.flow_on else {}
        subjects = [Subject(timer.schedule_id, timer.version, timer.epoch).record() for timer in timers]
        return {**said, "subjects": subjects}


@dataclass(frozen=True, slots=True)
class _Count:
    """How many rows a filter takes; `is_all`: there are no more. `examples` are the first of them."""

    count: int
    is_all: bool
    examples: Sequence[Run]


class Reruns:
    """The service behind POST /v1/runs/{run_id}/rerun and POST /v1/reruns."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids, shards: int) -> None:
        """`shards` is how many there are: the errand of an operation waits in one of them."""
        self._store = store
        self._shards = shards
        self._clock = clock
        self._ids = ids
        self._changing = Changing(store, clock)
        self._freezes = FreezeWatch(store, clock, consistent=True)
        self._quotas = TenantQuotas(store)
        self._source = RerunSource(store)

    # --- one run -----------------------------------------------------------------------------------------------

    def rerun(
        self,
        caller: Caller,
        run_id: str,
        *,
        version: Version = Version.NEWEST,
        override: Override | None = None,
        flow_on: bool = False,
        reason: str = "",
        once: Once | None = None,
    ) -> Answer:
        """The run again, due now, beside it in the history. `Conflict` for one that is not over, or under a freeze."""

        def decide(now: Instant) -> Draft:
            ancestor = self._ancestor(caller, run_id)
            check_repeatable(ancestor)
            timer = self._timer(ancestor)
            self._refuse_frozen(caller, timer, now)
            if override is not None:
                self._quotas.check_payload(self._quotas.tenant_of(caller), override.payload)
            run, run_timer = self._repeated(ancestor, timer, version, override, now)
            run = replace(run, flows_on=flow_on, origin=caller.trace)
            return self._draft_of(caller, run, replace(run_timer, trace=run.carried), reason, now)

        return self._changing.change(caller, once, decide)

    def _ancestor(self, caller: Caller, run_id: str) -> Run:
        key = RunKey.parse(run_id)
        row = None if key.tenant != caller.tenant.tenant_id else answer_of(lambda: self._store.get_run(key))
        if row is None:
            raise NotFound("run", run_id)
        return row

    def _timer(self, ancestor: Run) -> Timer:
        key = ancestor.key
        timer = answer_of(lambda: self._store.get_timer(key.tenant, key.schedule_id))
        if timer is None or timer.status is Status.CANCELLED:
            raise NotFound("schedule", key.schedule_id)
        if key.epoch < timer.born_epoch:
            raise Conflict(
                "the run belongs to a schedule that was deleted; the one that has its id now is another. POST "
                f"/v1/schedules/{key.schedule_id}/run runs that"
            )
        return timer

    def _refuse_frozen(self, caller: Caller, timer: Timer, now: Instant) -> None:
        freeze = in_force(answer_of(lambda: self._freezes.of(timer, caller.tenant.tier)), now)
        if freeze is not None:
            raise Conflict(f"{frozen_reason(freeze).text} (freeze {freeze.freeze_id}); run it after the thaw")

    def _repeated(
        self, ancestor: Run, timer: Timer, version: Version, override: Override | None, now: Instant
    ) -> tuple[Run, RunTimer]:
        key = replace(ancestor.key, cause=f"{RERUN_CAUSE}-{self._ids.unique()}")
        run, run_timer = queued(key, timer, now, self._pinned(ancestor, version))
        run = replace(run, ancestor=ancestor.key.run_id)
        said = override or (Override(ancestor.payload) if ancestor.has_payload else None)
        return (run if said is None else replace(run, payload=said.payload, has_payload=True)), run_timer

    def _draft_of(self, caller: Caller, run: Run, run_timer: RunTimer, reason: str, now: Instant) -> Draft:
        form = run_form(run)
        seen = form | {"payload": run.payload} if run.has_payload else form
        filed, change_id = schedule_subject(run.key.schedule_id), run.key.cause.removeprefix(f"{RERUN_CAUSE}-")
        entry = audit(caller, change_id, now, RERUN, filed, after=seen, reason=reason)
        return Draft([InsertRun(run), InsertRunTimer(run_timer), entry], Answer(form, created=True))

    def _pinned(self, ancestor: Run, version: Version) -> Definition | None:
        number, key = pinned_version(ancestor, version), ancestor.key
        if number is None:
            return None
        found = answer_of(lambda: self._store.get_definition(key.tenant, key.schedule_id, number))
        if found is None:
            raise Invalid("version", f'is "same", and version {number} cannot be read any more; write "newest"')
        return found

    # --- all that a filter takes -------------------------------------------------------------------------------

    def preview(self, caller: Caller, asked: AskedRerun) -> Form:
        """How many runs the filter takes now, the first of them, and what it costs to run them again."""
        counted = self._count(self._draft(caller, asked, "", self._clock.now(), "o", None))
        return {
            "dry_run": True,
            "count": counted.count,
            "is_complete": counted.is_all,
            "examples": [run_form(run) for run in counted.examples],
            "write_units": UNITS_PER_RUN * counted.count,
        }

    def create(self, caller: Caller, asked: AskedRerun, *, reason: str = "", once: Once | None = None) -> Answer:
        """An operation that repeats them. `Miscounted` where they are not as many as expected."""
        check_open(self._store, caller.tenant.tenant_id)
        drafted = self._draft(caller, asked, reason, self._clock.now(), "o", None)
        counted = self._count(drafted)
        self._check_count(caller, asked, counted)

        def decide(now: Instant) -> Draft:
            change_id = self._ids.unique()
            total = counted.count if counted.is_all else None
            made = replace(drafted, operation_id=operation_id(change_id), change_id=change_id, total=total)
            return making(self._store, caller, made, now, shards=self._shards)

        return self._changing.change(caller, once, decide)

    def _draft(
        self, caller: Caller, asked: AskedRerun, reason: str, now: Instant, made_id: str, total: int | None
    ) -> Operation:
        check_stretch(asked.from_at, asked.to_at, "filter.")
        if asked.override is not None:
            self._quotas.check_payload(self._quotas.tenant_of(caller), asked.override.payload)
        timers = self._timers(caller, asked)
        return Operation(
            caller.tenant.tenant_id,
            made_id,
            Kind.RERUN,
            asked.record(timers),
            caller.actor,
            now,
            made_id,
            reason,
            total=total,
            max_concurrent=asked.max_concurrent,
            rate_per_minute=asked.rate_per_minute,
            changed_at=now,
            origin=caller.trace,
        )

    def _timers(self, caller: Caller, asked: AskedRerun) -> Sequence[Timer]:
        """Of the schedules whose history is gone through: of none for what a failure signature alone names."""
        if asked.signature is not None and not WITH_SIGNATURE & set(asked.statuses):
            raise Invalid("filter.signature", "is of runs that failed; let status be dead or refused, or leave it out")
        if asked.signature is not None and asked.schedule_id is None and not asked.labels:
            return ()
        return subject_timers(self._store, caller, asked.schedule_id, asked.labels, "filter.labels")

    def _count(self, drafted: Operation) -> _Count:
        count, cursor, examples = 0, "", list[Run]()
        for _ in range(MAX_ROUNDS):
            names = answer_of(partial(self._source.names, drafted, cursor, COUNTED_AT_ONCE))
            count += len(names.items)
            examples += [named.ancestor for named in names.items if named.ancestor is not None][: SHOWN - len(examples)]
            cursor = names.position
            if names.is_last or count >= MAX_COUNTED:
                return _Count(count, is_all=names.is_last, examples=examples)
        return _Count(count, is_all=False, examples=examples)

    def _check_count(self, caller: Caller, asked: AskedRerun, counted: _Count) -> None:
        if asked.expected is not None and (not counted.is_all or counted.count != asked.expected):
            raise Miscounted(asked.expected, counted.count, "runs")
        if not counted.count and counted.is_all:
            raise Invalid("filter", "takes no run; see GET /v1/schedules/{id}/runs")
        most = quotas_of(self._quotas.tenant_of(caller)).backfill_fires
        if counted.count > most:
            hint = "the filter takes more runs; ask for fewer at a time, by from and to"
            raise QuotaExceeded("backfill_fires", counted.count, most, hint)
