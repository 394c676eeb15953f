"""What happens to a firing, played on a chain: each scenario sets its scene, then counts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.metering.chain import Chain, Died, Part, merged
from cronfleet.domain.attempt import Result
from cronfleet.domain.backlog import Backlog, Stretch
from cronfleet.domain.freeze import Freeze, TenantScope, with_freeze
from cronfleet.domain.frozen import SETTLED
from cronfleet.domain.instant import DAY, MINUTE, SECOND
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.lease import SLOT
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.rate import MICROSECONDS, line_of_tenant
from cronfleet.domain.run import Attempt, Outcome, Run, RunKey, RunStatus
from cronfleet.domain.schedule import Hold, Shadow, Status, Timer
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.freezes import PutFreezeDirectory, PutFreezeList
from cronfleet.ports.target import Call
from cronfleet.ports.tenants import PutTenant
from cronfleet.services.heartbeats import Heartbeats, Report
from tests.support.settable_clock import NOON

HERD: Final = 50
LARGE_HERD: Final = 10_000
BATCH: Final = 100

CHAIN: Final = ("api", "dispatcher", "worker")
"""The parts that carry a fire from claim to finished run; the sweeper closes the books afterwards."""

UNCOUNTED: Final = "idle ticks"
"""The account of what happens with and without a firing, and is counted as an idle minute."""

IDLE_SWEEP: Final = ("GetItem", "GetItem", "GetItem")
"""What a sweep asks of a shard that has nothing to close: its lease twice and its books, one read unit each."""


@dataclass(frozen=True)
class Count:
    """Per firing, what a scenario asked for."""

    firings: int
    parts: dict[str, Part]

    def _per_firing(self, total: float) -> float:
        return total / self.firings

    def _chain(self) -> Part:
        return merged(*(self.parts.get(name, Part()) for name in CHAIN))

    def _all(self) -> Part:
        return merged(*(part for name, part in self.parts.items() if name != UNCOUNTED))

    @property
    def _idle_sweeps(self) -> int:
        return self.parts.get("sweeper", Part()).invocations * len(IDLE_SWEEP)

    @property
    def writes(self) -> float:
        """Write units, claim to finished run."""
        return self._per_firing(self._chain().bill.writes)

    @property
    def books(self) -> float:
        """Write units of the sweeper."""
        return self._per_firing(self.parts.get("sweeper", Part()).bill.writes)

    @property
    def reads(self) -> float:
        """Read units, closing the books included; not what a sweep with nothing to close reads as well."""
        return self._per_firing(self._all().bill.reads - self._idle_sweeps)

    @property
    def store_requests(self) -> float:
        """Requests to DynamoDB, closing the books included as in `reads`."""
        return self._per_firing(len(self._all().bill.requests) - self._idle_sweeps)

    @property
    def dispatcher_requests(self) -> float:
        """Requests of the dispatcher to DynamoDB and SQS."""
        part = self.parts.get("dispatcher", Part())
        return self._per_firing(len(part.bill.requests) + part.sends)

    @property
    def sqs(self) -> float:
        """Billed requests to the run queues."""
        return self._per_firing(self._all().sqs)

    @property
    def invocations(self) -> float:
        """Invocations that there would not be without a firing: workers, and the API's."""
        return self._per_firing(sum(self.parts.get(name, Part()).invocations for name in ("api", "worker")))

    @property
    def api_requests(self) -> float:
        """Requests through the gateway."""
        return self._per_firing(self.parts.get("api", Part()).invocations)


Play = Callable[[Chain, int], None]


@dataclass(frozen=True)
class Scenario:
    """`play` sets the scene, calls `start_counting`, and plays it for `firings` schedules that are due at once."""

    name: str
    title: str
    play: Play
    firings: int = HERD

    def count(self, chain: Chain) -> Count:
        """Played on fresh tables."""
        self.play(chain, self.firings)
        return Count(self.firings, chain.parts)


def _due(chain: Chain, firings: int, overlap: Overlap = Overlap.ALLOW) -> list[Timer]:
    added = [chain.add(number, overlap) for number in range(firings)]
    chain.start_counting()
    return added


def _close_books(chain: Chain) -> None:
    chain.clock.advance(90 * SECOND)
    # A live installation ticks on; the sweeper would otherwise take the shard for a quiet one.
    chain.tick(UNCOUNTED)
    chain.sweep()


def _settled(chain: Chain) -> None:
    chain.tick()
    chain.work()
    _close_books(chain)


def _ordinary(chain: Chain, firings: int) -> None:
    _due(chain, firings)
    _settled(chain)


def _herd(chain: Chain, firings: int) -> None:
    """Its tenants had as much yesterday: their lines are there, and at rest."""
    for tenant_id in {one.tenant for one in _due(chain, firings)}:
        chain.store.draw(line_of_tenant(tenant_id), MICROSECONDS, floor=(NOON - DAY) * MICROSECONDS)
    chain.start_counting()
    _settled(chain)


def _gated(chain: Chain, firings: int) -> None:
    _due(chain, firings, Overlap.SKIP)
    _settled(chain)


def _in_slots(chain: Chain, firings: int) -> None:
    for tenant_id in {one.tenant for one in _due(chain, firings)}:
        chain.store.commit([PutTenant(Tenant(tenant_id, quotas=(("concurrent_runs", 100),), rev=1), None)])
    chain.start_counting()
    _settled(chain)


def _retried(chain: Chain, firings: int) -> None:
    def fails_once(call: Call) -> Result:
        return Result(Outcome.FAILED, "no connection") if call.attempt == 1 else Result(Outcome.SUCCEEDED)

    _due(chain, firings)
    chain.targets.script = fails_once
    chain.tick()
    chain.work()
    chain.clock.advance(10 * SECOND)
    chain.tick()
    chain.work()
    _close_books(chain)


def _skipped_by_overlap(chain: Chain, firings: int) -> None:
    added = [chain.add(number, Overlap.SKIP) for number in range(firings)]
    for one in added:
        earlier = _running_since_yesterday(one)
        chain.store.insert_run(earlier)
        chain.store.take_gate(one.tenant, one.schedule_id, earlier.key.run_id, NOON - DAY, None)
    chain.start_counting()
    chain.tick()
    chain.work()
    _close_books(chain)


def _running_since_yesterday(one: Timer) -> Run:
    key = RunKey(one.tenant, one.schedule_id, one.epoch, NOON - DAY)
    attempt = Attempt(1, 1, "0" * 26, NOON - DAY)
    started = Run(key, RunStatus.RUNNING, NOON - DAY, one.tier, version=1, fence=1, attempts=(attempt,))
    return replace(started, lease_until=NOON + DAY, started_at=NOON - DAY)


def _missed(chain: Chain, firings: int) -> None:
    skip = Misfire(MisfirePolicy.SKIP, 1, 60)
    for number in range(firings):
        chain.add(number, misfire=skip)
    chain.clock.advance(3_600 * SECOND)
    chain.start_counting()
    chain.tick()
    _close_books(chain)


def _caught_up(chain: Chain, firings: int) -> None:
    for number in range(firings):
        chain.add(number, misfire=Misfire(MisfirePolicy.FIRE_ONCE, 1, 60))
    chain.clock.advance(3_600 * SECOND)
    chain.start_counting()
    chain.tick()
    chain.work()
    _close_books(chain)


def _caught_up_in_turns(chain: Chain, firings: int) -> None:
    """One schedule that has missed so many days: as many to a tick as its pace of sixty a minute gives."""
    late = Late(Cause.OUTAGE, NOON - firings * DAY, NOON - DAY, NOON)
    backlog = Backlog((Stretch(NOON - firings * DAY, NOON - DAY, late, per_minute=60),), NOON)
    one = chain.add(0, nominal_at=NOON + DAY, due_at=NOON, backlog=backlog)
    chain.start_counting()
    for _ in range(firings):
        chain.tick()
        chain.clock.advance(SLOT)
        held = chain.store.get_timer(one.tenant, one.schedule_id)
        if held is None or held.backlog is None:
            break
    chain.work()
    _close_books(chain)


def _in_shadow(chain: Chain, firings: int) -> None:
    hold = Hold("key", NOON - DAY, Shadow("key", NOON - DAY))
    for number in range(firings):
        chain.add(number, status=Status.HELD, hold=hold)
    chain.start_counting()
    chain.tick()
    _close_books(chain)


def _frozen(chain: Chain, firings: int) -> None:
    added = _due(chain, firings)
    directory = chain.store.get_freeze_directory()
    for number, tenant_id in enumerate(sorted({one.tenant for one in added})):
        freeze = Freeze(f"{number:026}", TenantScope(tenant_id), "key", NOON - MINUTE, "the ledger moves")
        kept = chain.store.get_freeze_list(tenant_id)
        kept, directory = with_freeze(kept, directory, freeze, now=NOON, change_id=f"{number:026}")
        chain.store.commit([PutFreezeList(kept), PutFreezeDirectory(directory)])
    chain.clock.advance(SETTLED)
    chain.start_counting()
    chain.tick()
    _close_books(chain)


def _deferred(chain: Chain, firings: int) -> None:
    added = _due(chain, firings)
    # The places of the next seconds are others': each of these has its own afterwards.
    for tenant_id in {one.tenant for one in added}:
        slow = Tenant(tenant_id, quotas=(("fires_per_second", 20),), rev=1)
        chain.store.commit([PutTenant(slow, None)])
        chain.store.draw(line_of_tenant(tenant_id), 15 * SECOND * MICROSECONDS, floor=NOON * MICROSECONDS)
    chain.start_counting()
    chain.tick()
    chain.clock.advance(25 * SECOND)
    chain.tick()
    chain.work()
    _close_books(chain)


def _run_now(chain: Chain, firings: int) -> None:
    added = [chain.add(number, nominal_at=NOON + DAY) for number in range(firings)]
    chain.start_counting()
    for one in added:
        with chain.as_part("api"):
            chain.runs.run_now(chain.caller(one), one.schedule_id)
    chain.tick()
    chain.work()
    _close_books(chain)


def _pinged(chain: Chain, firings: int) -> None:
    heartbeats = Heartbeats(store=chain.store, clock=chain.clock, ids=chain.ids, secrets=_Counted())
    added = [chain.add(number, nominal_at=NOON + DAY) for number in range(firings)]
    tokens = [heartbeats.make(chain.caller(one), one.schedule_id).form["token"] for one in added]
    chain.start_counting()
    for token in tokens:
        with chain.as_part("api"):
            heartbeats.ping(token, Report(exit_code=0))


class _Counted:
    """Secrets that are none."""

    def secret(self, size: int) -> bytes:
        return bytes(size)


def _lost(chain: Chain, firings: int) -> None:
    _due(chain, firings)
    chain.tick()
    chain.sqs.queue("standard").lose(lambda _: True)
    _sweep_for_minutes(chain, 8)


def _sweep_for_minutes(chain: Chain, minutes: int) -> None:
    for _ in range(minutes):
        chain.clock.advance(MINUTE)
        chain.tick(UNCOUNTED)
        chain.sweep()
        chain.work()


def _taken_over(chain: Chain, firings: int) -> None:
    def dies_once(call: Call) -> Result:
        if call.attempt == 1:
            raise Died
        return Result(Outcome.SUCCEEDED)

    _due(chain, firings)
    chain.targets.script = dies_once
    chain.tick()
    chain.work()
    _sweep_for_minutes(chain, 8)


def _with_receipt(chain: Chain, firings: int) -> None:
    def records(call: Call) -> Result:
        chain.receipts.record(call.key, call.fence, "invoice", {"number": call.attempt}, chain.clock.now())
        return Result(Outcome.SUCCEEDED)

    _due(chain, firings)
    chain.targets.script = records
    chain.tick()
    chain.work()
    _close_books(chain)


def _idle(chain: Chain, _firings: int) -> None:
    chain.add(0, nominal_at=NOON + DAY)
    # Two minutes lay ticks ahead, so that the third is an ordinary one.
    chain.idle_minute()
    chain.idle_minute()
    chain.idle_minute()
    chain.start_counting()
    chain.idle_minute()


ORDINARY: Final = Scenario("ordinary", "an ordinary firing, 50 at once", _ordinary)
SCENARIOS: Final = (
    Scenario("herd", "an ordinary firing, 10,000 at once", _herd, LARGE_HERD),
    Scenario("batch", "an ordinary firing, 100 at once (one full batch)", _herd, BATCH),
    ORDINARY,
    Scenario("lone", "a lone firing", _ordinary, 1),
    Scenario("gate", "with the overlap gate (`overlap: skip`)", _gated),
    Scenario("slot", "of a tenant with a limit of runs at once", _in_slots),
    Scenario("receipt", "with one receipt", _with_receipt),
    Scenario("retry", "whose first attempt fails", _retried),
    Scenario("skip", "skipped: an earlier run is still going", _skipped_by_overlap),
    Scenario("missed", "missed in an outage (`misfire: skip`): one range, however many nominals", _missed),
    Scenario("caught_up", "missed in an outage and caught up once (`misfire: fire_once`)", _caught_up),
    Scenario("in_turns", "caught up in turns: 50 that one schedule has missed, 60 a minute", _caught_up_in_turns),
    Scenario("shadow", "noted in shadow: one entry, of one nominal or of all that five minutes hold", _in_shadow),
    Scenario("frozen", "held back by a freeze: one entry, of one nominal or of all that a minute holds", _frozen),
    Scenario("deferral", "deferred once inside its timer", _deferred),
    Scenario("run_now", "a run-now through the API", _run_now),
    Scenario("ping", "a ping of a heartbeat URL (it fires nothing)", _pinged),
    Scenario("lost", "a lone firing, its message lost and sent again", _lost, 1),
    Scenario("taken_over", "a lone firing, its worker dead and its run revived", _taken_over, 1),
)
IDLE: Final = Scenario("idle", "an idle minute of a shard", _idle, 1)
