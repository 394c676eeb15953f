"""Units and requests of a firing for any number that is due at once, out of those that are counted and asserted.

`benchmarks/metering` counts a lone firing, 50 and 100 (a full batch) at once on the real services. What a tick costs
grows with the number in straight lines between these, and beyond a batch as with batches: each firing has its own
claim, start and finish, each batch its log and its announcement. `tests/unit/test_cost.py` plays others and compares.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from itertools import pairwise
from math import exp
from typing import Final

from benchmarks.metering.chain import PREFIX, Chain, metered_chain
from benchmarks.metering.dynamodb import MeteredDynamoDB
from benchmarks.metering.scenarios import IDLE, SCENARIOS, Count
from cronfleet.adapters.dynamodb import schema
from tests.support.settable_clock import NOON, SettableClock

KNOTS: Final = ("lone", "ordinary", "batch")
"""Scenarios of one kind of firing, by how many are due at once."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of the store and the queues; of one firing, or of any number."""

    writes: float
    reads: float
    store_requests: float
    dispatcher_requests: float
    sqs: float
    invocations: float

    def __add__(self, other: "Asked") -> "Asked":
        return Asked(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def __mul__(self, times: float) -> "Asked":
        return Asked(*(getattr(self, one.name) * times for one in fields(self)))

    def __sub__(self, other: "Asked") -> "Asked":
        return self + other * -1


NOTHING: Final = Asked(0, 0, 0, 0, 0, 0)


def of_count(count: Count) -> Asked:
    """One firing as a scenario counted it, the closing of the books included."""
    return Asked(
        count.writes + count.books,
        count.reads,
        count.store_requests,
        count.dispatcher_requests,
        count.sqs,
        count.invocations,
    )


@cache
def _scenario(name: str) -> Count:
    return next(one for one in SCENARIOS if one.name == name).count(metered_chain())


@cache
def _idle_tick() -> Asked:
    """A tick that finds nothing due: what it asks, one with fires asks as well, and is counted among theirs."""
    requests = [one for one in IDLE.count(metered_chain()).parts["dispatcher"].bill.requests if not one.failed]
    ticks = sum(1 for one in requests if one.writes)  # Each takes its shard's lease, and writes nothing else.
    writes, reads = (sum(getattr(one, name) for one in requests) / ticks for name in ("writes", "reads"))
    return Asked(writes, reads, len(requests) / ticks, len(requests) / ticks, 0, 0)


@cache
def idle_minute() -> Asked:
    """A minute of an idle shard: ticker, ticks and sweeper; the invocations of the ticker and sweeper are not here."""
    parts = IDLE.count(metered_chain()).parts
    ticks = parts["dispatcher"]
    requests = sum(len(part.bill.requests) for part in parts.values())
    writes, reads = (sum(getattr(part.bill, name) for part in parts.values()) for name in ("writes", "reads"))
    sqs = sum(part.sqs for part in parts.values())
    return Asked(writes, reads, requests, len(ticks.bill.requests), sqs, ticks.invocations)


def of_a_tick(firings: float, counted: Callable[[str], Count] = _scenario) -> Asked:
    """A tick that finds `firings` due (one at least), and all that becomes of them, beyond an idle tick."""
    if firings < 1:
        raise ValueError(f"a tick with {firings} firings is an idle one")
    knots = [(one.firings, of_count(one) * one.firings) for one in map(counted, KNOTS)]
    for (before, less), (after, more) in pairwise(knots):
        if firings <= after:
            return less + (more - less) * ((firings - before) / (after - before)) - _idle_tick()
    most, at_most = knots[-1]
    return at_most * (firings / most) - _idle_tick()


def of_firings(per_tick: float, firings: float) -> Asked:
    """All of `firings` that come at random, `per_tick` to a tick on average, beyond idle ticks."""
    if not firings:
        return NOTHING
    # Of ticks with so many on average, this share finds something (Poisson); they find so many each.
    busy = 1 - exp(-per_tick)
    found = max(1.0, per_tick / busy)
    return of_a_tick(found) * (firings / found)


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that DynamoDB keeps, what it adds itself included."""

    per_schedule: float
    per_firing: float


@cache
def stored() -> Stored:
    """Of a schedule without a payload, and of each firing."""
    number = 100
    clock = SettableClock(NOON)
    dynamodb = MeteredDynamoDB(PREFIX, clock)
    chain = Chain(dynamodb, PREFIX, dynamodb.counted, clock)
    for one in range(number):
        chain.add(one)
    schedules, runs, log = schema.SCHEDULES.name, schema.RUNS.name, schema.SHARDS.name
    added, log_before = dynamodb.bytes_kept(schedules), dynamodb.bytes_kept(log)
    chain.tick()
    chain.work()
    grown = dynamodb.bytes_kept(runs) + dynamodb.bytes_kept(log) - log_before
    return Stored(added / number, grown / number)


@cache
def of_a_change() -> Asked:
    """A change through the API: a run now, which writes as much as any: row, timer, audit entry and its chain."""
    count = _scenario("run_now")
    bill = count.parts["api"].bill
    requests = len(bill.requests) / count.firings
    return Asked(bill.writes / count.firings, bill.reads / count.firings, requests, 0, 0, 1)
