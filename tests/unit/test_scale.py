"""The benchmark of ten million schedules, with twenty thousand: that it counts right, and would notice what is lost."""

import numpy as np
import pytest

from benchmarks.scale.__main__ import main
from benchmarks.scale.capacity import WRITE_UNITS, Meter, offset_of
from benchmarks.scale.cloud import Cloud
from benchmarks.scale.due_index import CompactIndex
from benchmarks.scale.ledger import closed
from benchmarks.scale.mix import HERD_AT, lines_of, measured, natural
from benchmarks.scale.played import played
from benchmarks.scale.population import NEVER, Population, expected, made
from benchmarks.scale.sent import Sent
from benchmarks.scale.settings import Settings, Workers, settings_for
from benchmarks.scale.store import CompactStore
from benchmarks.scale.working import worked
from cronfleet.domain.claim import BatchId, ClaimOutcome
from cronfleet.domain.dispatch_plan import claim_schedule
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.trigger import fires

MINUTES = 2
SHARDS = 4
BEGINS_AT = HERD_AT - MINUTE


def population(schedules: int = 20_000, firings: int = 1_200, herd: int = 500, seed: int = 0) -> Population:
    lines = lines_of(BEGINS_AT, MINUTES)
    shares = measured(lines, schedules, firings * MINUTES, herd, MINUTES)
    return made(lines, shares, BEGINS_AT, MINUTES, SHARDS, seed)


@pytest.fixture(scope="module")
def small() -> Population:
    return population()


class _Clock:
    def __init__(self, now: int) -> None:
        self.at = now

    def now(self) -> int:
        return self.at


def store_of(people: Population) -> CompactStore:
    meter = Meter(index_quota=40_000, base_partitions=4)
    return CompactStore(
        _Clock(BEGINS_AT), people, CompactIndex(people, SHARDS), meter, lambda _number, change: change()
    )


# --- the population ----------------------------------------------------------------------------------------------


def test_what_has_to_fire_is_what_the_triggers_themselves_name(small: Population) -> None:
    end = BEGINS_AT + MINUTES * MINUTE - 1
    named = [
        number << 32 | (nominal_at - BEGINS_AT) // SECOND
        for number in range(0, len(small), 7)
        for nominal_at in fires(small.trigger_of(number), BEGINS_AT - 1, end)
    ]
    wanted = expected(small)
    assert sorted(named) == wanted[(wanted >> 32) % 7 == 0].tolist()
    assert len(named) > 300


def test_a_measured_population_has_the_herd_and_the_firings_that_were_asked_for(small: Population) -> None:
    seconds = expected(small) & 0xFFFFFFFF
    assert len(small) == 20_000
    assert len(seconds) == pytest.approx(1_200 * MINUTES + 500, rel=0.02)
    assert (seconds == 60).sum() == pytest.approx(500, rel=0.1)


def test_a_natural_population_comes_together_at_the_full_hour() -> None:
    lines = lines_of(BEGINS_AT, MINUTES)
    people = made(lines, natural(lines, 20_000), BEGINS_AT, MINUTES, SHARDS, seed=0)
    before, at_the_hour = np.bincount((expected(people) & 0xFFFFFFFF) // 60)
    assert at_the_hour > 5 * before


def test_a_herd_that_brings_too_much_is_refused_with_what_to_write_instead() -> None:
    assert main(["--schedules", "1000", "--firings", "100", "--herd", "100000", "--minutes", "2"]) == 2


# --- the store ---------------------------------------------------------------------------------------------------


def test_a_claim_is_won_once_and_again_by_the_same_batch_alone(small: Population) -> None:
    people = population()
    store = store_of(people)
    timer = store.due(0, BEGINS_AT + MINUTE, None, 1).items[0]
    claim = claim_schedule(timer, BEGINS_AT)
    ours, theirs = BatchId(0, 1, 1), BatchId(0, 2, 1)
    assert store.claim(ours, [claim]) == [ClaimOutcome.WON]
    assert store.claim(ours, [claim]) == [ClaimOutcome.WON]
    assert store.claim(theirs, [claim]) == [ClaimOutcome.LOST]
    assert timer not in store.due(0, BEGINS_AT + 2 * MINUTE, None, 100_000).items


def test_pages_of_the_index_hold_everything_that_waits_once_and_oldest_first(small: Population) -> None:
    store = store_of(small)
    found, cursor = [], None
    while True:
        page = store.due(1, BEGINS_AT + MINUTES * MINUTE, cursor, 50)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            break
    dues = [timer.due_at for timer in found]
    waiting = (small.shard == 1) & (small.due < NEVER)
    assert dues == sorted(dues)
    assert len({timer.schedule_id for timer in found}) == len(found) == waiting.sum()


def test_a_partition_gives_a_second_no_more_than_it_has() -> None:
    meter = Meter(index_quota=40_000, base_partitions=1_000)
    begin = 1_000 - offset_of(3)
    taken = sum(meter.takes(shard=3, base=number, moved=2, now=begin + number) for number in range(1_000))
    assert taken == WRITE_UNITS / 2
    assert meter.throttled["index partition"] == 1_000 - taken
    assert meter.takes(shard=4, base=1, moved=2, now=begin + 999)
    assert meter.takes(shard=3, base=0, moved=2, now=begin + 1_000)


# --- the whole ---------------------------------------------------------------------------------------------------


def test_each_fire_runs_once_also_when_one_tick_in_ten_dies() -> None:
    people = population()
    settings = settings_for(SHARDS, killed=0.1)
    outcome = played(people, settings, seed=1, told=lambda *_: None)
    assert outcome.ledger.is_exact
    assert outcome.ledger.expected > 2_500
    assert outcome.cloud.ticks_failed > 5
    assert outcome.lags.ms.min() >= 0


def test_a_message_that_was_never_sent_is_missed_in_the_books(small: Population) -> None:
    people = population()
    cloud = Cloud(people, settings_for(SHARDS), seed=0)
    wanted = expected(people)
    cloud.sent.number.append(int(wanted[0] >> 32))
    for column in (cloud.sent.nominal, cloud.sent.due):
        column.append(int(wanted[0] & 0xFFFFFFFF))
    cloud.sent.sent_ms.append(0)
    cloud.sent.arrives_ms.append(130_000)
    cloud.sent.tier.append(0)
    ledger = closed(people, wanted, cloud.sent, worked(cloud.sent, cloud.settings, MINUTES, seed=0).at_ms)
    assert ledger.succeeded == 1
    assert len(ledger.lost) == len(wanted) - 1
    assert not ledger.is_exact


def test_more_workers_make_a_herd_wait_less_and_pollers_held_ready_less_still() -> None:
    sent = Sent()
    for number in range(5_000):
        for column in (sent.number, sent.nominal, sent.due, sent.sent_ms, sent.arrives_ms, sent.tier):
            column.append(number if column is sent.number else 0)
    latest = [
        worked(sent, Settings(workers=(Workers(most, ready), Workers(1))), 10, seed=0).at_ms.max()
        for most, ready in ((50, 0), (500, 0), (500, 500))
    ]
    assert latest[0] > latest[1] > latest[2]
    assert latest[2] == pytest.approx(5_000 / 500 * 143, rel=0.1)  # ten turns of a worker each


def test_fires_past_the_watched_minutes_are_not_counted_against_anybody() -> None:
    people = population()
    sent = Sent()
    for column in (sent.number, sent.nominal, sent.due, sent.sent_ms, sent.arrives_ms, sent.tier):
        column.append(60 * MINUTES if column in (sent.nominal, sent.due) else 0)
    ledger = closed(people, expected(people), sent, np.array([130_000]))
    assert (len(ledger.invented), ledger.succeeded, ledger.first.any()) == (0, 0, False)


def test_a_shard_with_more_due_than_a_tick_can_claim_is_served_in_each_slot() -> None:
    lines = lines_of(BEGINS_AT, MINUTES)
    shares = measured(lines, 30_000, 600 * MINUTES, 6_000, MINUTES)
    outcome = played(made(lines, shares, BEGINS_AT, MINUTES, 1, seed=0), settings_for(1), 0, lambda *_: None)
    # 500 claims a second, from ten seconds ahead on: a slot that was left idle would show as five seconds more.
    assert 2_000 < outcome.herd.claimed_ms.max() < 9_000
    assert outcome.ledger.is_exact


def test_an_index_as_a_whole_never_shows_more_than_its_quota() -> None:
    people = population(schedules=8_000, firings=300, herd=300)
    outcome = played(people, settings_for(SHARDS, index_quota=40), seed=0, told=lambda *_: None)
    meter = outcome.cloud.meter
    assert meter.throttled["index quota"]
    assert meter.most("whole index")[0] <= 40
    assert outcome.ledger.is_exact


def test_a_claim_that_is_issued_again_moves_no_entry_of_the_index() -> None:
    store = store_of(population())
    claim = claim_schedule(store.due(0, BEGINS_AT + MINUTE, None, 1).items[0], BEGINS_AT)
    for _ in range(3):
        assert store.claim(BatchId(0, 1, 1), [claim]) == [ClaimOutcome.WON]
    assert sum(store.meter.units["index"].values()) <= 2
    assert sum(store.meter.units["table"].values()) == 3
