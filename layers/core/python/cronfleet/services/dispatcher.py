"""The dispatcher: turns what is due in one shard into runs. Claims first, loses nothing.

It decides here what is claimed, skipped and deferred; `carrying_out.py` does it, batch by batch, in the order that is
the promise (docs/architecture.md, Dispatch).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from cronfleet.domain.allotment import Draft, by_tenant
from cronfleet.domain.claim import (
    Claim,
    Claimable,
    DueItem,
    tenant_of,
)
from cronfleet.domain.dispatch_plan import (
    LOOK_AHEAD,
    Park,
    Plan,
    Resume,
    Tally,
    drafted,
    in_rounds,
    placed,
    settle,
)
from cronfleet.domain.errand import Errand
from cronfleet.domain.fairness import rounds
from cronfleet.domain.frozen import FROZEN_STRETCH, apart, looks_back
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.lease import MAX_SKEW, SLOT, ShardLease, lease_until, slot_of
from cronfleet.domain.schedule import Timer
from cronfleet.domain.shard import DEFAULT_SHARDS
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.errands import ErrandQueue
from cronfleet.ports.events import Events
from cronfleet.ports.job_store import JobStore, NoAnswer
from cronfleet.ports.queues import RunQueue, Tick
from cronfleet.ports.side_by_side import SideBySide
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.allotments import Allotments
from cronfleet.services.asking import ask
from cronfleet.services.carrying_out import WHOLE, CarryingOut, Held, LeaseLost, Portions
from cronfleet.services.errands import Errands
from cronfleet.services.freeze_watch import FreezeWatch
from cronfleet.services.look_ahead import LookAhead
from cronfleet.services.own_changes import OwnChanges
from cronfleet.services.serving import Closed, Serving
from cronfleet.services.slot_allotments import SlotAllotments
from cronfleet.services.telling import Telling
from cronfleet.services.tenant_rules import TenantRules
from cronfleet.services.tick_report import Served, TickReport, publish
from cronfleet.services.true_clock import true_now
from cronfleet.services.yielding import Yielding

FIRST_SLICE: Final = 200
"""Claims by which a tick sees how many more it has time for."""

HANDING_OVER: Final = 600
"""How long before its slot ends, in ms, a tick begins nothing new: its last batch has to be closed, and the shard let
go of, when the next tick comes, which finds it taken otherwise and leaves it idle for a whole slot.
"""

SHORTEST_WORK: Final = 3 * SECOND
"""How long a tick works that comes late in its slot. The one after next still sees everything before its time."""

DEFERRALS_AT_ONCE: Final = 100
"""Places that are drawn together for what has to wait; so much of it at least is moved in each tick."""


PUT_RIGHT_AT_LEAST: Final = 25
"""So many pauses end, or schedules are parked, in each tick, however little time there is."""

ENOUGH_NOTED: Final = 2_000
"""What can be noted in the second half of a slot, and more."""


class Dispatcher:
    """Serves ticks. Holds nothing between them but what it has read of tenants, for a while."""

    def __init__(  # noqa: PLR0913 - one for each port, and how many shards there are
        self,
        *,
        store: JobStore,
        run_queue: RunQueue,
        errand_queue: ErrandQueue,
        side_by_side: SideBySide,
        clock: Clock,
        ids: Ids,
        telemetry: Telemetry,
        shards: int = DEFAULT_SHARDS,
        events: Events | None = None,
        portions: Portions = WHOLE,
    ) -> None:
        """`shards` is how many there are where a tick does not say it: each lets its share of a tenant's rate through.
        `events` is where tenants that asked for it are told. `portions` says how much goes together.
        """
        self._store = store
        self._clock = clock
        self._ids = ids
        self._telemetry = telemetry
        self._shards = shards
        self._rules = TenantRules(store)
        self._freezes = FreezeWatch(store, clock, telemetry, consistent=False)
        telling = None if events is None else Telling(events, telemetry, self._freezes.board)
        self._changes = OwnChanges(store, ids, telemetry, self._rules, telling)
        self._carrying_out = CarryingOut(
            store=store,
            run_queue=run_queue,
            side_by_side=side_by_side,
            telemetry=telemetry,
            true_now=self._now,
            rules=self._rules,
            board=self._freezes.board,
            changes=self._changes,
            telling=telling,
            portions=portions,
        )
        self._at_once = portions.batch
        self._errands = Errands(store, errand_queue, clock)

    def tick(self, tick: Tick, deadline_at: Instant) -> TickReport:
        """Serve `tick`, stopping before `deadline_at`.

        Raises `ClockSkewed` before anything is written, or, where the clock was set meanwhile, before anything is
        decided by it, and `NoAnswer` when the store stays silent: whatever was announced by then is finished by the
        next tick.
        """
        try:
            return self._serve(tick, deadline_at)
        except NoAnswer:
            # One is nothing; many are what an alarm watches for: the shard is late and no one else says so.
            self._telemetry.count("ticks_unanswered", shard=str(tick.shard))
            raise

    def _serve(self, tick: Tick, deadline_at: Instant) -> TickReport:
        report = TickReport(tick.shard)
        switch = self._freezes.board.switch()
        hold = switch.in_force(self._store.here)
        if hold is not None and hold.is_standby:
            report.served = Served.HELD
            return report
        now = self._now(tick.shard)
        if tick.slot_at > now + MAX_SKEW:
            report.served = Served.EARLY
            return report
        owner = self._ids.unique()
        until = lease_until(tick.slot_at, now)
        lease = ask(
            lambda: self._store.take_lease(tick.shard, tick.slot_at, owner, until, now, known=switch.rev),
        )
        if lease is None:
            report.served = Served.NOT_OURS
            return report
        try:
            if hold is None:
                self._drain(lease, tick.shards or self._shards, now, deadline_at, report)
            else:
                self._finish_held(lease, report)
        except LeaseLost:
            report.served = Served.LOST_LEASE
            self._telemetry.count("leases_lost")
        publish(report, self._telemetry)
        return report

    def _now(self, shard: int) -> Instant:
        return true_now(self._store, self._clock, self._telemetry, lambda: self._store.get_lease(shard), shard=shard)

    def _drain(self, lease: ShardLease, shards: int, now: Instant, deadline_at: Instant, report: TickReport) -> None:
        """Finish the predecessor's batch, then go through what is due at `now`, the tick's one clock reading.

        Read ahead, decide about all that was read, claim it batch by batch. Then, when nobody's fire waits for it any
        more, comes what is to be put right, what is only noted, and at last what has to wait.
        """
        closed = Closed(lease.last_batch, lease.last_losers)
        if lease.open_batch is not None:
            closed = self._carrying_out.finish(lease.open_batch, report)
        serving = self._serving(lease, shards, now, deadline_at, closed)
        try:
            self._go_through(lease, serving, report)
        except Held:
            report.served = Served.HELD
        closed = serving.closed
        serving.slots.close()
        is_open = lease.open_batch is not None or report.batches > 0
        if is_open and ask(lambda: self._store.release(lease, closed.losers)):
            serving.slots.lost(closed.lost)

    def _go_through(self, lease: ShardLease, serving: Serving, report: TickReport) -> None:
        """Everything that is due, in the order in which somebody waits for it. Raises `Held` when it must stop."""
        carry_out = partial(self._carrying_out.go_through, lease, serving, report=report)
        while not serving.look_ahead.is_over:
            made = self._decide(serving, self._apart(serving, serving.look_ahead.read()))
            for number, drafts in enumerate(self._in_slices(serving, made.drafts)):
                claims = self._granted(serving, made, drafts)
                carry_out(self._in_time(serving, claims, at_least_one=number == 0))
            serving.set_aside(made)
            if self._is_to_stop(serving):
                break
        self._put_right(serving, report)
        carry_out(self._in_time(serving, self._yielding(serving), at_least_one=True))
        carry_out(self._in_time(serving, serving.noted, at_least_one=True))
        self._defer_all(serving, report)
        self._carrying_out.stop_if_held()
        report.errands = self._errands.send_due(serving.errands, serving.now, serving.works_until)

    def _finish_held(self, lease: ShardLease, report: TickReport) -> None:
        """Under a hold what a predecessor had announced is finished, and nothing else done: it was claimed in part."""
        report.served = Served.HELD
        if lease.open_batch is not None:
            closed = self._carrying_out.finish(lease.open_batch, report)
            ask(lambda: self._store.release(lease, closed.losers))

    def _serving(self, lease: ShardLease, shards: int, now: Instant, deadline_at: Instant, closed: Closed) -> Serving:
        tally = Tally()
        return Serving(
            now,
            min(deadline_at, max(lease.slot_at + SLOT - HANDING_OVER, now + SHORTEST_WORK)),
            LookAhead(self._store, lease.shard, now + self._reach(now)),
            tally,
            Allotments(self._store, shards, now, tally, has_shares=slot_of(now) <= lease.slot_at),
            SlotAllotments(self._store, now),
            Yielding(now),
            closed,
        )

    def _apart(self, serving: Serving, items: Sequence[DueItem]) -> Sequence[Claimable]:
        """`items` without the errands, which wait until all that was read is claimed."""
        serving.errands += (item for item in items if isinstance(item, Errand))
        return [item for item in items if not isinstance(item, Errand)]

    def _decide(self, serving: Serving, items: Sequence[Claimable]) -> Plan:
        """What becomes of `items`. Whatever the plan has to know besides them (rates, freezes, slots) is asked here."""
        frozen = apart(*self._freezes.over(self._in_tiers(items, serving.now)), serving.now, serving.now + LOOK_AHEAD)
        made = drafted(frozen.rest, serving.now, serving.tally)
        tenants = self._tenants([*made.drafts, *made.yielding], serving.now)
        serving.tenants |= tenants
        made.noted += frozen.claims
        made.parks += frozen.parks
        return made

    def _in_time(self, serving: Serving, claims: Sequence[Claim], *, at_least_one: bool) -> Iterator[Sequence[Claim]]:
        """`claims` batch by batch, as long as there is time."""
        for start in range(0, len(claims), self._at_once):
            if (start or not at_least_one) and self._clock.now() >= serving.works_until:
                return
            yield claims[start : start + self._at_once]

    def _yielding(self, serving: Serving) -> Sequence[Claim]:
        """What operations asked for and may go, if there is time."""
        kept = [draft for draft in serving.yielding.drafts if self._rules.knows(draft.tenant)]
        if not kept or self._clock.now() >= serving.works_until:
            return ()
        serving.yielding.drafts = kept
        return serving.yielding.claims(
            serving.waiting, serving.tenants, serving.allotments, serving.slots, serving.tally
        )

    def _is_to_stop(self, serving: Serving) -> bool:
        """Whether no more is read: the slot is over, or half of it, and there is enough to note in the other."""
        now = self._clock.now()
        return now >= serving.works_until or (len(serving.noted) >= ENOUGH_NOTED and now >= serving.is_half_over_at)

    def _in_slices(self, serving: Serving, drafts: Sequence[Draft]) -> Iterator[Sequence[Draft]]:
        """The drafts in the rounds of their tenants: first a few, then as many more as there is time for at that pace;
        where the pace of this tick is known, as many as there is time for at once.

        What is granted and not claimed is lost to its tenant, and what is not granted is found again by the next tick,
        which sees by then what has come due for others: a tick that goes on for one tenant makes all others late.
        """
        tiers = {tenant_id: tenant.tier for tenant_id, tenant in serving.tenants.items()}
        ordered = in_rounds(drafts, tiers)
        for _ in range(2):
            began_at = self._clock.now()
            some = ordered[: self._fitting(serving, began_at, len(ordered))]
            if not some:
                return
            yield some
            serving.took, serving.claimed = self._clock.now() - began_at, len(some)
            ordered = ordered[len(some) :]

    def _fitting(self, serving: Serving, now: Instant, most: int) -> int:
        """How many drafts there is time for, at the pace of those before; of the first ones there are few."""
        if not serving.claimed:
            return min(FIRST_SLICE, most)
        left = serving.works_until - now
        if left <= 0 or serving.took <= 0:
            return 0 if left <= 0 else most
        return min(most, max(1, serving.claimed * left // serving.took))

    def _granted(self, serving: Serving, made: Plan, drafts: Sequence[Draft]) -> list[Claim]:
        """The claims of those of `drafts` that may go now; what has to wait is noted in `made`."""
        # Of whom nothing is known yet may have a limit of runs at once; it is left to the next tick.
        known = [draft for draft in drafts if self._rules.knows(draft.tenant)]
        slotted = serving.slots.narrowed(known, serving.tenants)
        parts = serving.slots.granted(serving.allotments.parts(slotted, serving.tenants))
        tiers = {tenant_id: tenant.tier for tenant_id, tenant in serving.tenants.items()}
        return settle(made, [*parts, *serving.slots.without()], serving.now, serving.tally, tiers)

    def _tenants(self, drafts: Sequence[Draft], now: Instant) -> dict[str, Tenant]:
        """The tenants of `drafts`; one without a record has the tier that its timers were made with."""
        firsts = {draft.tenant: draft for draft in reversed(drafts)}
        known = self._rules.of(firsts, now)
        return {
            tenant_id: tenant if tenant.rev else replace(tenant, tier=firsts[tenant_id].item.tier)
            for tenant_id, tenant in known.items()
        }

    def _in_tiers(self, items: Sequence[Claimable], now: Instant) -> Sequence[Claimable]:
        """`items`, where a tier is frozen with the tiers that their tenants' records say."""
        if not self._freezes.directory().tiers:
            return items
        known = self._rules.of({item.tenant for item in items if isinstance(item, Timer)}, now)
        return [
            replace(item, tier=known[item.tenant].tier) if isinstance(item, Timer) and known[item.tenant].rev else item
            for item in items
        ]

    def _reach(self, now: Instant) -> int:
        """How far ahead this tick looks: further after a thaw, for what the freeze has put off."""
        return FROZEN_STRETCH if looks_back(self._freezes.directory().ends(), now) else LOOK_AHEAD

    def _defer_all(self, serving: Serving, report: TickReport) -> None:
        """Move what waits to places of its own, tenant by tenant in turn, as long as there is time.

        Places are drawn for a few at a time: what is drawn and not written is lost to the tenant.
        """
        ordered = rounds(by_tenant(serving.waiting), cost=lambda _: 1, quantum=lambda _: 1)
        for start in range(0, len(ordered), DEFERRALS_AT_ONCE):
            if start and self._clock.now() >= serving.works_until:
                return
            self._carrying_out.stop_if_held()
            for tenant_id, parts in by_tenant(ordered[start : start + DEFERRALS_AT_ONCE]).items():
                # What has a place already, for a slot, is not charged for one in the line of the rate.
                drafts = [part.draft for part in parts if not part.needs_slot and part.place is None]
                deferrals = serving.allotments.deferrals(drafts, serving.tenants[tenant_id])
                deferrals += [deferral for part in parts if (deferral := placed(part)) is not None]
                deferrals += serving.slots.deferrals([part for part in parts if part.needs_slot])
                for deferral in deferrals:
                    report.deferrals += ask(partial(self._store.defer, deferral.item, deferral.due_at, deferral.reason))

    def _put_right(self, serving: Serving, report: TickReport) -> None:
        """What the scheduler changes by itself, tenant by tenant in turn, as long as there is time; a few at least."""
        owned: defaultdict[str, list[Park | Resume | Timer]] = defaultdict(list)
        for one in serving.amiss:
            owned[tenant_of(one if isinstance(one, Timer) else one.item)].append(one)
        for number, one in enumerate(rounds(owned, cost=lambda _: 1, quantum=lambda _: 1)):
            if number >= PUT_RIGHT_AT_LEAST and self._clock.now() >= serving.works_until:
                return
            self._carrying_out.stop_if_held()
            if isinstance(one, Park):
                report.parks += self._changes.park(one.item, one.reason, serving.now)
            elif isinstance(one, Resume):
                report.resumes += self._changes.resume(one.item, serving.now)
            else:
                report.retimes += self._changes.retime(one, serving.now)
