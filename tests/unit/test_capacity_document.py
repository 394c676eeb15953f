"""The units of a firing against the budgets of docs/architecture.md, and docs/capacity.md against the units."""

import re

import pytest

from benchmarks import units
from benchmarks.metering import prices
from benchmarks.metering.scenarios import IDLE_SWEEP, LARGE_HERD, SCENARIOS
from cronfleet.domain.instant import MINUTE
from cronfleet.domain.lease import SLOT
from cronfleet.ports.claiming import CLAIMS_AT_ONCE

IN_BATCHES = ("herd", "batch", "ordinary")
A_BATCH_OF_FIFTY = (1 + 1 + 1 + 1) / 50
"""Lease, batch, announcement and release, shared by fifty."""
A_DRAW = 1 / 50
"""What fifty fires of a tenant ask of its line, from which nobody has drawn yet …"""
A_DRAW_AT_REST = 2 / 50
"""… and of one that others have drawn from, long since: it is found to be at rest, and begun anew."""


@pytest.mark.parametrize("name", IN_BATCHES)
def test_an_ordinary_firing_in_batches_stays_in_its_budget(name: str) -> None:
    count = units.counts()[name]
    assert 5.0 < count.writes <= 5.3
    assert 1.5 < count.reads <= 2.1
    assert count.invocations == 1.0


def test_a_herd_of_ten_thousand_is_one_herd() -> None:
    herd = units.counts()["herd"]
    assert herd.firings == LARGE_HERD
    assert herd.parts["dispatcher"].invocations == 1
    assert herd.parts["worker"].invocations == LARGE_HERD


def test_a_firing_in_a_herd_takes_the_dispatcher_a_fifth_of_a_request_at_most() -> None:
    """Claims in requests of 25, messages in requests of ten whoever's they are, draws of many tenants together."""
    herd = units.counts()["herd"]
    assert herd.dispatcher_requests <= 0.2
    claims = [one for one in herd.parts["dispatcher"].bill.requests if one.table.endswith("-schedules") and one.writes]
    assert {one.operation for one in claims} == {"BatchExecuteStatement"}
    assert len(claims) == LARGE_HERD // CLAIMS_AT_ONCE


def test_a_lone_firing_stays_in_its_budget() -> None:
    assert units.counts()["lone"].writes <= 9.0


def test_a_fire_that_is_caught_up_in_its_turn_shares_a_claim_with_those_of_its_tick() -> None:
    """Ten ticks of five: each takes a lease, and writes, announces, claims (3) and closes a batch for its five.

    Two of the five are more than the shard's share of the tenant's rate: the line is asked, which is found to rest, and
    begun anew. The first tick has one, and asks a line that is not there yet.
    """
    counts = units.counts()
    ticks = counts["in_turns"].parts["dispatcher"].invocations
    assert 9 <= ticks <= 11
    assert counts["in_turns"].writes == pytest.approx(
        1 + 1 + (ticks * (1 + 1 + 1 + 3 + 1) + (ticks - 2) * 2 + 1) / 50, abs=1e-9
    )
    assert counts["in_turns"].writes < counts["ordinary"].writes


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("gate", 2.0),
        # Its slot taken, and let go of.
        ("slot", 2.0),
        ("receipt", 4.0),
        # Its row and the timer of its next attempt in a transaction, with the timer's entry in the index: 5 and not 1.
        # The timer's claim: 2. Start and finish: 2. And a batch of its own.
        # The failure is counted for the breaker of its target.
        ("retry", 9.0 + A_BATCH_OF_FIFTY + A_DRAW_AT_REST),
        # The gate that it finds taken is charged; nothing is released.
        ("skip", 1.0),
        # One row instead of a start and a finish.
        ("missed", -1.0 - A_DRAW),
        # It takes the place of the regular fire in the claim: nothing more, and nothing is stored beside the timer.
        ("caught_up", 0.0),
        # As an ordinary skip: its claim, one row, nothing to send.
        ("shadow", -1.0 - A_DRAW),
        ("frozen", -1.0 - A_DRAW),
        # And the lease of the tick that defers, its draw, and the one that found no place in time; no other is needed.
        ("deferral", 3.0 + 3 / 50 - A_DRAW),
        # Row, timer, audit entry and the end of its chain in a transaction, with their indexes: 11. The timer's claim
        # costs 2 instead of 3.
        ("run_now", 11.0 - 1.0),
    ],
)
def test_what_is_not_ordinary_costs_exactly_so_many_write_units_more(name: str, more: float) -> None:
    counts = units.counts()
    assert counts[name].writes == pytest.approx(counts["ordinary"].writes + more, abs=1e-9)


def test_a_ping_costs_a_transaction_of_two_items_and_two_reads() -> None:
    ping = units.counts()["ping"]
    assert (ping.writes, ping.reads, ping.sqs) == (4.0, 2.0, 0.0)


def test_a_lost_message_costs_two_writes_of_the_books_and_one_more_send() -> None:
    lost, lone = units.counts()["lost"], units.counts()["lone"]
    assert lost.writes == lone.writes
    assert lost.books == lone.books + 2.0
    assert lost.sqs == lone.sqs + 1.0


def test_a_dead_worker_costs_a_start_and_a_finish_more_and_one_write_of_the_books() -> None:
    taken_over, lone = units.counts()["taken_over"], units.counts()["lone"]
    assert taken_over.writes <= lone.writes + 2.0
    assert taken_over.books == lone.books + 1.0


def test_an_empty_tick_costs_one_write_and_one_read_at_most() -> None:
    part = units.idle_minute().parts["dispatcher"]
    assert part.invocations == MINUTE // SLOT, "each slot is laid once, by a ticker that lives on"
    assert part.bill.writes == part.invocations
    assert part.bill.reads <= part.invocations


def test_a_sweep_with_nothing_to_close_reads_three_items_of_a_shard() -> None:
    bill = units.idle_minute().parts["sweeper"].bill
    assert tuple(one.operation for one in bill.requests) == IDLE_SWEEP
    assert (bill.reads, bill.writes) == (len(IDLE_SWEEP), 0.0)


def test_a_firing_makes_one_request_for_ten_messages_and_two_for_each_of_them() -> None:
    assert units.counts()["herd"].sqs == pytest.approx(2.1)


def test_the_price_is_the_sum_of_its_parts() -> None:
    count = units.counts()["lone"]
    assert prices.per_million(count) == pytest.approx(10 * 0.625 + 5.5 * 0.125 + 3 * 0.5 + 0.2)


def test_the_document_says_what_was_counted() -> None:
    document = units.DOCUMENT.read_text()
    assert document == units.written(document), "run `python -m benchmarks.units --write`"


def test_every_scenario_is_in_the_document_once() -> None:
    titles = re.findall(r"^\| (.+?) \|", units.DOCUMENT.read_text(), re.MULTILINE)
    assert [titles.count(scenario.title) for scenario in SCENARIOS] == [1] * len(SCENARIOS)
