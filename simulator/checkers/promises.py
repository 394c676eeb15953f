"""Checkers: each watches one promise from outside, and tells the first moment at which it was broken.

They read what the world noted and what the tables hold. None takes the product's word: nominal times come from
the oracle, epochs from the audit log, leases and fences from the writes of rows.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from simulator.checkers.audit_chain import check_audit_chain, check_verdict
from simulator.checkers.batches import check_batches
from simulator.checkers.cancels import check_cancels
from simulator.checkers.concurrency import check_concurrency
from simulator.checkers.dead_letters import check_dead_letters
from simulator.checkers.frozen import check_frozen
from simulator.checkers.ledger import check_ledger
from simulator.checkers.missed import check_missed
from simulator.checkers.operations import check_operations
from simulator.checkers.overlap import check_overlap, those_that_may_wait
from simulator.checkers.quotas import check_quotas
from simulator.checkers.rates import check_rates
from simulator.checkers.shadow import check_shadow
from simulator.checkers.statuses import TERMINAL
from simulator.checkers.traces import check_traces
from simulator.checkers.versions import check_versions
from simulator.checkers.violation import Violation
from simulator.faults import MINUTE, SECOND
from simulator.history import Call, Request
from simulator.world import World

EARLY_BY_STORE: Final = 3 * SECOND
"""By how much a start may come early by the store's clock: two clocks may be off, and a header has whole seconds."""

RECOVERY: Final = 5 * MINUTE
"""A sweep may begin a minute and some after the lease, find the run in a batch of its own, and its message be slow."""

CALM_LAG: Final = 25 * SECOND
"""The longest lag of a fire that comes due once all is calm."""

UNCHANGED: Final = frozenset(
    {
        "edit",
        "cancel_run",
        "retime",
        "rollback",
        "create",
        "hold",
        "shadow",
        "delete_tenant",
        "thaw",
        "backfill",
        "pause_operation",
        "resume_operation",
        "cancel_operation",
    }
)
"""Requests that may ask for what is so already."""

OFF: Final = frozenset({"resume", "create", "retime", "rollback"})
"""Requests after which an earlier pause may not hold any more (a retime of a paused schedule keeps it paused)."""


@dataclass(frozen=True)
class Spans:
    """When the calm began, when it had settled, and when the world was stopped."""

    calm_at: int
    settled_at: int
    end_at: int


def check_leases(world: World, _spans: Spans) -> Iterator[Violation]:
    """Promise 2: no run is under two live leases, and a fence never falls."""
    by_run: dict[str, list[Call]] = defaultdict(list)
    for call in world.history.calls:
        by_run[call.run_id].append(call)
    for run_id, calls in by_run.items():
        for before, after in pairwise(calls):
            ended = before.ended_at if before.ended_at is not None else before.lease_until
            if after.began_at < min(ended, before.lease_until):
                yield Violation(after.began_at, "two live leases", f"{run_id}: {before} and {after}")
            if after.fence <= before.fence:
                yield Violation(after.began_at, "a fence fell", f"{run_id}: {before.fence} then {after.fence}")


def check_rows(world: World, _spans: Spans) -> Iterator[Violation]:
    """Promise 2: a finished run is never written again, and fences rise with every write."""
    last: dict[str, tuple[str, int]] = {}
    for at, run_id, status, fence in world.history.row_writes:
        before_status, before_fence = last.get(run_id, ("", 0))
        if before_status in TERMINAL:
            yield Violation(at, "a finished run was written again", f"{run_id}: {before_status} then {status}")
        if fence < before_fence:
            yield Violation(at, "a fence fell", f"{run_id}: {before_fence} then {fence}")
        last[run_id] = (status, fence)


def check_early(world: World, _spans: Spans) -> Iterator[Violation]:
    """Promise 9: nothing starts early by the clock of whoever starts it, nor over three seconds by the store's."""
    for key, row in world.rows.items():
        if row.started_at is not None and row.started_at < row.due_at:
            yield Violation(row.started_at, "started early by its own clock", key.run_id)
    for call in world.history.calls:
        if call.row_started_at < call.due_at - EARLY_BY_STORE:
            yield Violation(call.began_at, "started early", f"{call.run_id} by {call.due_at - call.row_started_at} ms")


def check_clocks(world: World, _spans: Spans) -> Iterator[Violation]:
    """Promise 9: whoever has a wrong clock does nothing, so no time is written that has not come."""
    for at, what in world.history.of_the_future:
        yield Violation(at, "a wrong clock was believed", what)


def check_obeyed(world: World, spans: Spans) -> Iterator[Violation]:
    """Promise 3: nothing starts after a pause or a cancellation that returned."""
    requests: dict[tuple[str, str], list[Request]] = defaultdict(list)
    for request in world.history.requests:
        requests[request.tenant, request.schedule_id].append(request)
    calls: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in world.history.calls:
        calls[call.tenant, call.schedule_id].append(call)
    ended = _automatic_ends(world)
    for key, asked in requests.items():
        for request in asked:
            if request.answer != "accepted" or request.action not in ("pause", "cancel") or request.answered_at is None:
                continue
            until = _held_until(request, asked, ended[key], spans.end_at)
            for call in calls[key]:
                stopped = call.scheduled or request.action == "cancel"
                if stopped and request.answered_at < call.row_started_at < until:
                    text = (
                        f"{call.run_id} began at {call.row_started_at}; {request.action} returned {request.answered_at}"
                    )
                    yield Violation(call.began_at, f"a {request.action} was not obeyed", text)


def _held_until(request: Request, asked: list[Request], ends: list[int], end_at: int) -> int:
    """When something may have ended what `request` asked for: another request's beginning, or a pause's own end."""
    later = [other.asked_at for other in asked if other is not request and _ends(request, other)]
    own = [at for at in ends if at >= request.asked_at] if request.action == "pause" else []
    return min([*later, *own, end_at])


def _ends(request: Request, other: Request) -> bool:
    lifts = {"create", "hold"} if request.action == "cancel" else OFF
    finished = other.answered_at is None or other.answered_at > request.asked_at
    return other.action in lifts and finished


def _automatic_ends(world: World) -> dict[tuple[str, str], list[int]]:
    """When pauses ended by themselves: some seconds early at most, since the dispatcher's clock may be ahead."""
    ends: dict[tuple[str, str], list[int]] = defaultdict(list)
    for entry in world.store.state.audit.values():
        if entry.actor == "cronfleet" and entry.action == "resume":
            ends[entry.tenant, entry.schedule_id].append(entry.at - EARLY_BY_STORE)
    return ends


def check_audit(world: World, spans: Spans) -> Iterator[Violation]:
    """Promise 7: the audit log is the sequence of accepted changes."""
    entries: dict[str, list[Any]] = defaultdict(list)
    for entry in world.store.state.audit.values():
        if entry.actor != "cronfleet":
            entries[entry.request_id].append(entry)
    for request in world.history.requests:
        written = entries.pop(request.request_id, [])
        if len(written) > 1:
            yield Violation(request.asked_at, "a change was audited twice", str(request))
        if request.answer == "accepted" and not written and request.action not in UNCHANGED:
            yield Violation(request.asked_at, "an accepted change is not in the audit log", str(request))
        if request.answer == "refused" and written:
            yield Violation(request.asked_at, "a refused change is in the audit log", str(request))
    for request_id in entries:
        yield Violation(spans.end_at, "the audit log names a request that nobody made", request_id)


def check_effects(world: World, spans: Spans) -> Iterator[Violation]:
    """A run's effect under its receipt happens once, and a run that succeeded had it."""
    for run_id, times in world.history.effects.items():
        if times != 1:
            yield Violation(spans.end_at, "an effect happened twice", run_id)
    for key, row in world.rows.items():
        if row.status.value == "succeeded" and not world.history.effects[key.run_id]:
            yield Violation(spans.end_at, "a run succeeded without its effect", key.run_id)


def check_settled(world: World, spans: Spans) -> Iterator[Violation]:
    """Once calm, everything that was due before comes to its end."""
    for key, row in world.rows.items():
        if row.status.value not in TERMINAL and key.nominal_at <= spans.settled_at:
            yield Violation(spans.end_at, "a run never ended", f"{key.run_id}: {row}")
    state = world.store.state
    for shard, lease in state.leases.items():
        if lease.open_batch is not None and lease.until < spans.end_at - MINUTE:
            yield Violation(spans.end_at, "a batch stays open", f"shard {shard}: {lease}")
    for timer in state.timers.values():
        if timer.status.value == "held" and timer.due_at is not None and timer.due_at < spans.end_at - MINUTE:
            yield Violation(spans.end_at, "a fire in shadow is not noted", f"{timer}")
        waits = timer.status.value == "active" and timer.nominal_at is not None
        if waits and timer.due_at is not None and timer.due_at < spans.end_at - MINUTE:
            yield Violation(spans.end_at, "a due fire is not claimed", f"{timer}")
        if timer.status.value == "parked":
            yield Violation(spans.end_at, "a sound schedule was parked", f"{timer}")


def check_recovery(world: World, spans: Spans) -> Iterator[Violation]:
    """Once calm, a run whose worker died is taken over within its lease and the sweeper's minute."""
    for key, row in world.rows.items():
        for before in row.attempts[:-1]:
            if before.outcome is None or before.outcome.value != "lost":
                continue
            lease_until = world.rows.lease_until(key.run_id, before.fence)
            # The very next fence: that takeover may have had to wait out a pause, and left no attempt of its own.
            revived_at = world.rows.started_at(key.run_id, before.fence + 1)
            if revived_at > max(lease_until, spans.calm_at) + RECOVERY:
                yield Violation(revived_at, "a dead lease was not revived in time", f"{key.run_id}: {row}")


def check_lag(world: World, spans: Spans) -> Iterator[Violation]:
    """Once calm, lag is bounded, but for what waits its turn at a gate."""
    patient = those_that_may_wait(world)
    for call in world.history.calls:
        if (call.tenant, call.schedule_id) in patient:
            continue
        if call.attempt == 1 and call.due_at > spans.settled_at and call.row_started_at - call.due_at > CALM_LAG:
            yield Violation(
                call.row_started_at, "late in the calm", f"{call.run_id}: {call.row_started_at - call.due_at} ms"
            )


def check_answers(world: World, _spans: Spans) -> Iterator[Violation]:
    """A caller never meets an error that nobody thought of."""
    for request in world.history.requests:
        if request.answer.startswith("unknown: ") and "NoAnswer" not in request.answer:
            yield Violation(request.asked_at, "a request ended in an unforeseen error", str(request))


def check_calendars(world: World, spans: Spans) -> Iterator[Violation]:
    """Once calm, whoever follows a calendar has come to its newest version."""
    state = world.store.state
    for timer in state.timers.values():
        rule = getattr(timer.trigger, "calendar", None)
        if rule is None or rule.pinned or timer.status.value not in ("active", "paused"):
            continue
        newest = state.calendar_heads[timer.tenant, rule.name].version
        if rule.version != newest:
            yield Violation(spans.end_at, "a calendar's version has not come to a schedule", f"{timer}: {newest}")


Checker = Callable[[World, Spans], Iterator[Violation]]
CHECKERS: Final[tuple[Checker, ...]] = (
    lambda world, spans: check_ledger(world, spans.settled_at, spans.calm_at),
    lambda world, spans: check_missed(world, spans.end_at),
    lambda world, spans: check_shadow(world, spans.end_at),
    lambda world, spans: check_frozen(world, spans.end_at),
    lambda world, _: check_batches(world),
    check_leases,
    check_rows,
    check_early,
    check_clocks,
    check_obeyed,
    check_audit,
    lambda world, spans: check_audit_chain(world, spans.end_at),
    lambda world, spans: check_verdict(world, spans.end_at),
    check_effects,
    check_settled,
    check_recovery,
    check_lag,
    check_answers,
    check_calendars,
    check_cancels,
    lambda world, spans: check_dead_letters(world, spans.end_at),
    lambda world, spans: check_operations(world, spans.end_at),
    lambda world, spans: check_versions(world, spans.end_at),
    lambda world, spans: check_quotas(world, spans.end_at),
    lambda world, spans: check_concurrency(world, spans.end_at),
    lambda world, spans: check_overlap(world, spans.end_at),
    lambda world, _: check_rates(world),
    lambda world, spans: check_traces(world, spans.end_at),
)


def first_violation(world: World, spans: Spans) -> Violation | None:
    """The earliest moment at which any promise was broken."""
    found = [violation for checker in CHECKERS for violation in checker(world, spans)]
    return min(found, default=None, key=lambda violation: violation.at)
