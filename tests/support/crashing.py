"""A lived world whose functions can be stopped at any call through a port, and what must hold once it has recovered.

Functions are `dispatcher`, `worker`, `sweeper` and `api`. A stop is a crash: nothing more of that invocation happens,
and its message stays hidden. Then life goes on undisturbed: a tick each five seconds, a sweep each minute, workers.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from cronfleet.adapters.memory.side_by_side import OneByOne
from cronfleet.domain.attempt import PAUSE_CHECK
from cronfleet.domain.holding import SHADOW_STRETCH
from cronfleet.domain.instant import MINUTE, SECOND, Instant, to_text
from cronfleet.domain.lease import SLOT
from cronfleet.domain.long_run import LEASE_MARGIN_SECONDS
from cronfleet.domain.reason import Code
from cronfleet.domain.run import Attempt, Outcome, Run, RunKey, RunMessage, RunStatus
from cronfleet.domain.schedule import Change, Policies
from cronfleet.domain.trigger import Trigger, fires
from cronfleet.services.dispatcher import Dispatcher
from cronfleet.services.runs import CANCEL_RUN, Runs
from cronfleet.services.schedules import Schedules
from cronfleet.services.sweeper import Sweeper
from cronfleet.services.worker import Worker
from tests.support.builders import TENANT
from tests.support.faults import Crash, Faulty, FaultyQueue, FaultyStore, Hook
from tests.support.lived import LivedWorld
from tests.support.workshop import Effects, Ledger, Script, succeeds

DISPATCHER, WORKER, SWEEPER, API = "dispatcher", "worker", "sweeper", "api"

DISPATCHER_BOUND: Final = 25 * SECOND
"""One lease and two ticks. In figures, like the others: a lease that grows is to be noticed."""
WORKER_BOUND: Final = MINUTE
"""Past the end of its lease."""
LOST_BOUND: Final = 15 * MINUTE
QUIET_BOUND: Final = 90 * SECOND
"""While no ticks come, and the sweeper alone serves the shard."""
CALM: Final = 35 * SECOND
"""How long the world must have been calm when the sum is made: long enough for a schedule of 30 s to fire again."""

READS: Final = frozenset(
    {
        "get_lease",
        "get_notices",
        "get_sheet",
        "get_breaker",
        "get_gate",
        "get_run_timer",
        "get_freeze_directory",
        "get_freeze_list",
        "get_freeze_lists",
        "due",
        "get_batch",
        "batches",
        "get_books",
        "get_run",
        "get_runs",
        "list_runs",
        "get_timer",
        "get_definition",
        "find_idempotency",
        "get_tenant",
        "get_tenants",
        "get_schedule_count",
        "list_schedules",
        "get_timers",
    }
)
"""Calls that change nothing: a stop after one leaves what a stop before it leaves."""

EPOCH_CHANGES: Final = frozenset({Change.CREATE, Change.RETIME, Change.RESUME, Change.CANCEL})

BEGIN: Final = "begin"


@dataclass(frozen=True, slots=True)
class Moment:
    """A place to stop at: the `number`-th moment of `function` since the latest stop."""

    function: str
    number: int
    step: str
    at: Instant


class Stops:
    """Hears every call of every function, and stops one where the plan says so.

    With `all_moments` it hears before and after each call; else only moments with a state of their own: the
    beginning of an invocation, and after each write.
    """

    def __init__(self, plan: Sequence[tuple[str, int]], now: Callable[[], Instant], *, all_moments: bool) -> None:
        self._plan = list(plan)
        self._now = now
        self._all = all_moments
        self._counts: Counter[str] = Counter()
        self.heard: list[Moment] = []
        """Since the latest stop."""
        self.made: list[Moment] = []

    @property
    def is_over(self) -> bool:
        return not self._plan

    def forgo(self) -> None:
        """What has not been stopped by now is not stopped any more."""
        self._plan.clear()

    def last(self, *functions: str) -> Instant:
        """When one of these was last stopped; the beginning of time if never."""
        return max((stop.at for stop in self.made if stop.function in functions), default=0)

    def begin(self, function: str) -> None:
        """An invocation of `function` begins."""
        self._pass(function, BEGIN)

    def hear(self, function: str, when: str, name: str) -> None:
        """A call of `function` begins, or has come back."""
        if self._all or (when == "after" and name not in READS):
            self._pass(function, f"{when} {name}")

    def _pass(self, function: str, step: str) -> None:
        moment = Moment(function, self._counts[function], step, self._now())
        self._counts[function] += 1
        self.heard.append(moment)
        if self._plan and self._plan[0] == (function, moment.number):
            self._plan.pop(0)
            self._counts.clear()
            self.heard = []
            self.made.append(moment)
            raise Crash

    def story(self) -> str:
        """Who died where."""
        return ", then ".join(f"{one.function} dies at {to_text(one.at)} ({one.step})" for one in self.made)


class _Store(FaultyStore):
    """A store whose every call is a moment, but for the one that asks this process alone."""

    def __getattr__(self, name: str) -> Any:
        return self._port.skew_ms if name == "skew_ms" else super().__getattr__(name)


@dataclass(frozen=True, slots=True)
class _Named:
    """A stretch in which one trigger names the fires of a schedule: after `after`, up to `until`, both instants."""

    trigger: Trigger
    after: Instant
    until: Instant | None
    end_at: Instant | None = None

    def nominals(self, until: Instant) -> list[Instant]:
        last = min(one for one in (until, self.until, self.end_at) if one is not None)
        return list(fires(self.trigger, self.after, last))


class CrashingWorld(LivedWorld):
    """A lived world under a plan of stops. `ticking` false: the tick queue is down."""

    def __init__(self, now: Instant, script: Script = succeeds) -> None:
        super().__init__(now)
        self.store.state.runs = Ledger(self.clock)
        self.targets = Effects(self, script)  # type: ignore[arg-type]  # it needs a clock and a store
        self.stops = Stops((), self.clock.now, all_moments=False)
        self.ticking = True
        self.lost: dict[tuple[RunKey, int], Instant] = {}
        """Attempts whose message is gone, and since when: lost by the queue, or with a worker that wrote nothing."""
        common: dict[str, Any] = {"clock": self.clock, "telemetry": self.notes}
        ids: dict[str, Any] = {"ids": self.ids}
        errands: dict[str, Any] = {"errand_queue": self.errand_queue, "side_by_side": OneByOne()}
        self._dispatcher = Dispatcher(**self._ports(DISPATCHER), **errands, **common, **ids)
        inner = Dispatcher(**self._ports(SWEEPER), **errands, **common, **ids)
        self._sweeper = Sweeper(**self._ports(SWEEPER), dispatcher=inner, side_by_side=OneByOne(), shards=1, **common)
        targets: Any = Faulty(self.targets, self._hook(WORKER))
        self.worker = Worker(**self._ports(WORKER), targets=targets, **common, **ids)
        store = self._ports(API)["store"]
        self.schedules = Schedules(store=store, clock=self.clock, shards=1, **ids)
        self.runs = Runs(store=store, clock=self.clock, **ids)

    def _hook(self, function: str) -> Hook:
        def hear(when: str, name: str) -> None:
            self.stops.hear(function, when, name)

        return hear

    def _ports(self, function: str) -> dict[str, Any]:
        hook = self._hook(function)
        return {"store": _Store(self.store, hook), "run_queue": FaultyQueue(self.run_queue, hook)}

    # --- functions, which may die ------------------------------------------------------------------------------

    def dispatcher(self, actor: Any = None, **_: Any) -> Dispatcher:
        assert actor is None
        return self._dispatcher

    def sweeper(self) -> Sweeper:
        return self._sweeper

    def tick(self, **options: Any) -> Any:
        return self.invoke(DISPATCHER, lambda: LivedWorld.tick(self, **options)) if self.ticking else None

    def sweep(self) -> Any:
        return self.invoke(SWEEPER, lambda: LivedWorld.sweep(self))

    def handle(self, message: RunMessage) -> bool:
        done = self.invoke(WORKER, lambda: LivedWorld.handle(self, message))
        if done is None:
            self._note_lost(message)
        return bool(done)

    def _note_lost(self, message: RunMessage) -> None:
        row = self.store.get_run(message.key)
        waits = row is None or row.status is RunStatus.QUEUED
        if waits or (row is not None and row.status is RunStatus.WAITING and row.attempt < message.attempt):
            self.lost[message.key, message.attempt] = self.clock.now()

    def invoke(self, function: str, body: Callable[[], Any]) -> Any:
        """One invocation; `None` if it died."""
        try:
            self.stops.begin(function)
            return body()
        except Crash:
            return None

    def lose_messages(self) -> None:
        for message in self.sent:
            self.lost[message.key, message.attempt] = self.clock.now()
        super().lose_messages()

    # --- recovery ----------------------------------------------------------------------------------------------

    def plan(self, *stops: tuple[str, int], all_moments: bool = False) -> Stops:
        """Count and stop from now on."""
        self.stops = Stops(stops, self.clock.now, all_moments=all_moments)
        return self.stops

    def recover(self) -> None:
        """Live on until the sum of everything named up to now is exact; fails when a bound has gone by."""
        assert self.stops.is_over, "the function ended before the moment it was to be stopped at"
        mark = self.clock.now() + CALM
        end = self.clock.now() + LOST_BOUND + MINUTE
        while self.clock.now() < mark or not self.is_settled(mark):
            assert self.clock.now() < end, f"not settled: {self.unsettled(mark)}"
            self.step(self.clock.now() - self.clock.now() % SLOT + SLOT)

    def is_settled(self, mark: Instant) -> bool:
        return not self.unsettled(mark)

    def unsettled(self, mark: Instant) -> list[str]:
        """Rows that are not at their end; when there are none, schedules whose sum is not exact."""
        rows = self.store.state.runs.values()
        going = [row for row in rows if row.due_at <= mark and not row.is_terminal]
        left = [f"{row.key.run_id} is {row.status}" for row in going if not self._waits_out_a_pause(row)]
        return left or [wrong for one in self.schedule_ids() for wrong in self._wrong_sum(one, mark)]

    def _waits_out_a_pause(self, row: Run) -> bool:
        return row.status is RunStatus.WAITING and self.timer(row.key.schedule_id).pause is not None

    def _wrong_sum(self, schedule_id: str, mark: Instant) -> Iterator[str]:
        stretches = self._stretches(schedule_id)
        named, accounted = self._named(schedule_id, stretches, mark), self._accounted(schedule_id, stretches, mark)
        if named != accounted:
            missing, extra = Counter(named) - Counter(accounted), Counter(accounted) - Counter(named)
            yield f"{schedule_id}: {_texts(missing)} missing, {_texts(extra)} too many"

    # --- the sum -----------------------------------------------------------------------------------------------

    def schedule_ids(self) -> set[str]:
        return {schedule_id for _, schedule_id in self.store.state.timers}

    def changes(self, schedule_id: str) -> Iterator[tuple[Instant, str, Any]]:
        """What the audit log says of a schedule, oldest first."""
        for entry in sorted(self.store.state.audit.values(), key=lambda one: (one.at, one.entry_id)):
            if entry.schedule_id == schedule_id:
                yield entry.at, entry.action, entry.after

    def _stretches(self, schedule_id: str) -> list[_Named]:
        """Which trigger named its fires when, by the audit log."""
        found: list[_Named] = []
        for at, action, after in self.changes(schedule_id):
            if action not in (Change.CREATE, Change.RETIME, Change.CANCEL):
                continue
            if found and found[-1].until is None:
                found[-1] = replace(found[-1], until=at)
            if action != Change.CANCEL:
                spec = self.store.state.definitions[(TENANT, schedule_id), after["version"]].spec
                since = at if spec.start_at is None else max(at, spec.start_at - 1)
                found.append(_Named(spec.trigger, since, None, spec.end_at))
        return found

    def _named(self, schedule_id: str, stretches: Sequence[_Named], mark: Instant) -> list[Instant]:
        """Every nominal up to `mark` that a trigger names and no pause or hold holds back still.

        In shadow one entry stands for a stretch, which is made when the stretch is over.
        """
        timer = self.timer(schedule_id)
        named = [one for stretch in stretches for one in stretch.nominals(mark)]
        if timer.nominal_at is None or (timer.pause is None and timer.hold is None):
            return named
        return [one for one in named if one < timer.nominal_at]

    def _accounted(self, schedule_id: str, stretches: Sequence[_Named], mark: Instant) -> list[Instant]:
        """Every nominal up to `mark` that has an entry in the ledger, as often as it has one."""
        # Each of these changes begins an epoch, the first of them epoch 1.
        begun = [at for at, action, _ in self.changes(schedule_id) if action in EPOCH_CHANGES]
        found: list[Instant] = []
        for key in self.store.state.history.get((TENANT, schedule_id), ()):
            row = self.store.state.runs[key]
            if not key.is_scheduled or key.nominal_at > mark:
                continue
            if key.epoch < len(begun) and key.nominal_at > begun[key.epoch]:
                # Claimed ahead and overtaken: what comes after the change names it again, or nothing does.
                assert row.status in (RunStatus.SKIPPED, RunStatus.CANCELLED), row
            elif row.until_nominal_at is None:
                found.append(key.nominal_at)
            else:
                found += _inside(stretches, key.nominal_at, min(row.until_nominal_at, mark))
        return sorted(found)

    # --- what must hold ----------------------------------------------------------------------------------------

    def check(self) -> None:
        """Everything in time, nothing twice, also when every message comes once more."""
        self._check_manual()
        self._check_overlap()
        self._check_shadow()
        for row in list(self.store.state.runs.values()):
            for number, attempt in enumerate(row.attempts):
                self._check_in_time(row, row.attempts[number - 1] if number else None, attempt)
        self.check_once()
        before = dict(self.store.state.runs)
        for message in self.sent:
            if message.key in before and before[message.key].is_terminal:
                assert self.handle(message)
        assert before == self.store.state.runs, "a copy of a message that came late changed the ledger"

    def check_once(self) -> None:
        """No effect came twice, and no nominal ran in two epochs."""
        fences = [(one.key, one.fence) for one in self.targets.made]
        assert len(fences) == len(set(fences)), "two calls under one fence"
        assert set(self.targets.effects.values()) <= {1}, self.targets.effects
        nominals = [(one.schedule_id, one.nominal_at) for one in self.targets.effects if one.is_scheduled]
        assert len(nominals) == len(set(nominals)), "one nominal ran in two epochs"

    def _check_manual(self) -> None:
        asked = Counter(action for one in self.schedule_ids() for _, action, _ in self.changes(one))
        manual = [row for key, row in self.store.state.runs.items() if not key.is_scheduled]
        assert len(manual) == asked[Change.RUN.value]
        cancelled = [row for row in self.store.state.runs.values() if row.status is RunStatus.CANCELLED]
        assert len(cancelled) >= asked[CANCEL_RUN]

    def _check_overlap(self) -> None:
        """A run gave way only to one that was going: a gate that a dead worker left is nobody's."""
        for row in self.store.state.runs.values():
            if row.reason is not None and row.reason.code is Code.OVERLAP and row.finished_at is not None:
                holder = self.store.state.runs[RunKey.parse(str(row.reason.detail["run_id"]))]
                assert holder.finished_at is None or holder.finished_at >= row.finished_at, (row, holder)

    def _check_shadow(self) -> None:
        """What is held in shadow is noted in time, and only what was turned on since is ever called."""
        for timer in self.store.state.timers.values():
            if timer.is_shadow and timer.nominal_at is not None:
                noted_through = self.clock.now() - SHADOW_STRETCH - DISPATCHER_BOUND
                assert timer.nominal_at > noted_through, f"{timer.schedule_id} notes nothing"
        noted = {key for key, row in self.store.state.runs.items() if row.status in (RunStatus.SHADOW, RunStatus.HELD)}
        assert not noted & {one.key for one in self.targets.made}, "what was noted in shadow was sent"

    def _check_in_time(self, row: Run, before: Attempt | None, attempt: Attempt) -> None:
        by = self._start_by(row, before)
        lost_at = self.lost.get((row.key, attempt.number))
        if lost_at is not None:
            by = max(by, lost_at + LOST_BOUND)
        late = (
            f"attempt {attempt.number} of {row.key.run_id} began at {to_text(attempt.started_at)}, not by {to_text(by)}"
        )
        assert attempt.started_at <= by, late

    def _start_by(self, row: Run, before: Attempt | None) -> Instant:
        """By when an attempt must have begun, for what died meanwhile."""
        if before is not None and before.outcome is Outcome.LOST:
            lease_until = before.started_at + (self._policies(row).timeout_seconds + LEASE_MARGIN_SECONDS) * SECOND
            return max(lease_until, self.stops.last(WORKER, SWEEPER)) + WORKER_BOUND
        wanted_at = row.due_at if before is None else self._retry_at(row, before)
        changed_at = [at for at, _, _ in self.changes(row.key.schedule_id)]
        wanted_at = max([wanted_at, *changed_at]) if wanted_at < max(changed_at) else wanted_at
        if not self.ticking:
            return max(wanted_at, self.stops.last(SWEEPER)) + QUIET_BOUND
        died_at = self.stops.last(DISPATCHER)
        return max(wanted_at, died_at) + DISPATCHER_BOUND if died_at else wanted_at + SLOT

    def _retry_at(self, row: Run, before: Attempt) -> Instant:
        assert before.finished_at is not None
        retry_at = before.finished_at + self._policies(row).retry.backoff.base_seconds * SECOND
        resumed_at = [at for at, action, _ in self.changes(row.key.schedule_id) if action == Change.RESUME]
        # A retry that waits out a pause looks again once a minute.
        return max([retry_at, *(at + PAUSE_CHECK for at in resumed_at)])

    def _policies(self, row: Run) -> Policies:
        return self.store.state.definitions[(row.key.tenant, row.key.schedule_id), row.version].spec.policies


def _inside(stretches: Sequence[_Named], first_at: Instant, last_at: Instant) -> list[Instant]:
    """What a range entry from `first_at` to `last_at` stands for: at least its first nominal, named or not."""
    for stretch in stretches:
        inside = [one for one in stretch.nominals(last_at) if one >= first_at]
        if inside[:1] == [first_at]:
            return inside
    return [first_at]


def _texts(nominals: Counter[Instant]) -> list[str]:
    return [to_text(one) for one in sorted(nominals.elements())]


@contextmanager
def told(world: CrashingWorld) -> Iterator[None]:
    """Whatever fails inside is told with who died where."""
    try:
        yield
    except AssertionError as error:
        story = world.stops.story()
        raise AssertionError(f"{story or 'nobody died'}: {error}") from error
