"""The sweeper: every fire that was claimed ends in the ledger, and nothing is sent again without need."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from cronfleet.domain.attempt import Result, Start, decide_finish, decide_start
from cronfleet.domain.books import FIRST_RESEND, Books
from cronfleet.domain.claim import BatchId
from cronfleet.domain.dispatch_plan import claim_schedule
from cronfleet.domain.errors import ClockSkewed
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND
from cronfleet.domain.reason import Code
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import Outcome, Run, RunKey, RunMessage, RunStatus
from cronfleet.ports.job_store import Damaged
from cronfleet.services.sweeper import QUIET_AFTER
from tests.support.builders import at, cron, timer
from tests.support.world import World

TWO = at("2026-12-01 02:00")
STANDARD = "standard"


def claimed_world(schedules: int = 1) -> World:
    """So many fires claimed at two o'clock; their messages wait in the queue."""
    world = World(TWO)
    for number in range(schedules):
        world.add(timer(cron("0 2 * * *"), TWO, schedule_id=f"job-{number:04}"))
    world.tick()
    return world


def start(world: World, message: RunMessage, owner: str = "worker") -> Run:
    row = world.store.get_run(message.key)
    decision = decide_start(row, message, owner, world.clock.now())
    assert isinstance(decision, Start)
    store = world.store
    assert (store.insert_run(decision.run) if row is None else store.replace_run(decision.run)) is None
    return decision.run


def finish(world: World, run: Run, outcome: Outcome = Outcome.SUCCEEDED) -> Run:
    done = decide_finish(run, Result(outcome, "error"), Retry(max_attempts=3), world.clock.now())
    assert world.store.replace_run(done) is None
    return done


def lose_all(world: World) -> None:
    world.run_queue.tier(STANDARD).lose(lambda _: True)


def keep_ticking(world: World, milliseconds: int) -> None:
    """Time passes, and the shard is served meanwhile, so that the sweeper finds it awake."""
    world.clock.advance(milliseconds)
    world.tick()


def test_settled_batches_are_closed_once_and_not_read_again() -> None:
    world = claimed_world(5)
    for message in world.sent:
        finish(world, start(world, message))
    keep_ticking(world, MINUTE)
    assert world.sweep().settled == 5
    books = world.store.get_books(0)
    assert (books.closed_through, dict(books.open)) == (world.store.get_lease(0).last_batch, {})
    assert world.sweep().settled == 0


def test_a_batch_is_left_alone_while_it_is_young() -> None:
    world = claimed_world()
    keep_ticking(world, 30 * SECOND)
    assert world.sweep().open == 0
    assert world.store.get_books(0).closed_through is None


def test_a_run_under_a_live_lease_is_carried_over_until_it_ends() -> None:
    world = claimed_world()
    run = start(world, world.sent[0])
    keep_ticking(world, 50 * SECOND)
    report = world.sweep()
    assert (report.open, report.revived, report.resent) == (1, 0, 0)
    finish(world, run)
    keep_ticking(world, MINUTE)
    report = world.sweep()
    assert (report.open, report.settled) == (0, 1)


def test_a_dead_lease_is_revived_by_the_next_sweep() -> None:
    """O10, O48: a worker that was killed is not waited for longer than its lease and a minute."""
    world = claimed_world()
    message = world.sent[0]
    start(world, message)
    lose_all(world)
    keep_ticking(world, 60 * SECOND + 10 * SECOND)
    assert world.sweep().revived == 1
    (copy,) = world.sent
    again = start(world, copy, "another")
    assert (again.attempt, again.fence) == (2, 2)
    assert again.attempts[0].outcome is Outcome.LOST


def test_a_message_that_the_queue_lost_is_sent_again_within_a_quarter_of_an_hour() -> None:
    world = claimed_world()
    original = world.sent[0]
    lose_all(world)
    minutes = 0
    while not world.sent:
        keep_ticking(world, MINUTE)
        world.sweep()
        minutes += 1
    assert FIRST_RESEND // MINUTE <= minutes <= 15
    assert world.sent == [replace(original, resent_at=world.clock.now())]
    finish(world, start(world, original))
    keep_ticking(world, MINUTE)
    assert world.sweep().settled == 1


def test_a_message_lost_again_comes_at_doubling_intervals() -> None:
    world = claimed_world()
    resent_at = []
    for minute in range(90):
        if world.sent:
            resent_at.append(minute)
            lose_all(world)
        keep_ticking(world, MINUTE)
        world.sweep()
    gaps = [after - before for before, after in itertools.pairwise([0, *resent_at])]
    assert len(gaps) >= 3
    assert all(after >= 1.8 * before for before, after in itertools.pairwise(gaps[1:]))


def test_a_slow_queue_is_not_taken_for_a_lost_message() -> None:
    """While workers still start runs that were claimed no later, nothing is sent again."""
    world = claimed_world(30)
    waiting = list(world.sent)
    for message in waiting[:20]:
        keep_ticking(world, MINUTE)
        finish(world, start(world, message))
        assert world.sweep().resent == 0
    for message in waiting[20:]:
        finish(world, start(world, message))
    keep_ticking(world, MINUTE)
    assert world.sweep().open == 0


def test_a_start_that_a_wrong_clock_wrote_into_the_future_holds_up_nothing_that_was_lost() -> None:
    """Found by chaos: for an hour the tier seemed to be at work on what was claimed long ago."""
    world = claimed_world(2)
    first, _ = list(world.sent)
    row = start(world, first)
    world.store.state.runs[row.key] = replace(row, started_at=world.clock.now() + HOUR)
    lose_all(world)
    keep_ticking(world, 6 * MINUTE)
    assert world.sweep().resent == 1


def test_a_mass_of_lost_messages_comes_back_a_few_at_a_time() -> None:
    world = claimed_world(300)
    lose_all(world)
    keep_ticking(world, 6 * MINUTE)
    assert world.sweep().resent == 10


def test_each_of_many_lost_messages_has_its_turn_within_a_quarter_of_an_hour() -> None:
    """Ten a minute come back; that does not put the rest of their batch off by ten minutes more."""
    world = claimed_world(60)
    originals = {message.key for message in world.sent}
    lose_all(world)
    for _ in range(15):
        keep_ticking(world, MINUTE)
        world.sweep()
        for message in world.sent:
            if message.key in originals:
                finish(world, start(world, message))
        lose_all(world)
    assert {row.status for row in world.store.get_runs(originals).values()} == {RunStatus.SUCCEEDED}
    assert len(world.store.get_runs(originals)) == 60


def test_none_of_many_lost_messages_is_sent_twice_before_each_was_sent_once() -> None:
    """Not even when they get lost again: those at the end of a batch would never have their turn."""
    world = claimed_world(60)
    originals = {message.key for message in world.sent}
    lose_all(world)
    resent = []
    for _ in range(12):
        keep_ticking(world, MINUTE)
        world.sweep()
        resent += [message.key for message in world.sent]
        lose_all(world)
    assert sorted(resent) == sorted(originals)


def test_a_retry_that_waits_for_its_time_is_not_owed_by_the_first_attempts_batch() -> None:
    world = claimed_world()
    run = finish(world, start(world, world.sent[0]), Outcome.FAILED)
    assert run.status is RunStatus.WAITING
    keep_ticking(world, MINUTE)
    report = world.sweep()
    assert (report.settled, report.open) == (1, 0)


def test_the_fires_a_batch_lost_are_not_its_to_send() -> None:
    world = World(TWO)
    held = world.add(timer(cron("0 2 * * *"), TWO))
    actor = world.tick_as_actor("first")
    while actor.at != "claim":
        actor.step()
    world.store.claim(BatchId(0, 99, 1), [claim_schedule(held, world.clock.now())])
    actor.finish()
    assert not world.sent
    keep_ticking(world, 6 * MINUTE)
    report = world.sweep()
    assert (report.open, report.resent) == (0, 0)


@pytest.mark.parametrize("where", ["announce", "claim"])
def test_a_batch_that_was_written_and_never_announced_owes_nothing(where: str) -> None:
    """The orphan's schedule is claimed by the successor's batch; the sweeper follows the chain, not the folder."""
    world = World(TWO)
    world.add(timer(cron("0 2 * * *"), TWO))
    actor = world.tick_as_actor("first")
    while actor.at != where:
        actor.step()
    actor.kill()
    world.clock.advance(20 * SECOND)
    world.tick()
    assert len(world.sent) == 1
    lose_all(world)
    keep_ticking(world, 6 * MINUTE)
    assert world.sweep().resent == 1
    assert len(world.sent) == 1


def test_a_quiet_shard_is_served_by_the_sweeper_itself() -> None:
    """Queue polling may be down for hours; the sweeper is called directly."""
    world = World(TWO)
    world.add(timer(cron("* * * * *"), TWO))
    for minute in range(3):
        world.clock.set(TWO + minute * MINUTE)
        assert world.sweep().quiet_shards == 1
    assert len(world.sent) == 3


def test_a_shard_that_was_served_lately_is_not_woken() -> None:
    world = World(TWO)
    world.tick()
    world.clock.advance(QUIET_AFTER - SECOND)
    assert world.sweep().quiet_shards == 0


def test_a_sweeper_whose_clock_is_off_does_nothing() -> None:
    world = claimed_world()
    world.store.state.skew_ms = 5_000
    lose_all(world)
    world.clock.advance(10 * MINUTE)
    with pytest.raises(ClockSkewed):
        world.sweep()
    assert not world.sent


def test_two_sweepers_at_once_close_the_books_once() -> None:
    world = claimed_world()
    finish(world, start(world, world.sent[0]))
    keep_ticking(world, MINUTE)
    before = world.store.get_books(0)
    world.sweep()
    assert not world.store.put_books(replace(before, rev=before.rev + 1))


def test_a_fire_that_no_worker_ever_took_ends_in_the_ledger_as_refused() -> None:
    world = claimed_world()
    key = world.sent[0].key
    for _ in range(17):
        lose_all(world)
        keep_ticking(world, DAY)
        world.sweep()
    row = world.store.get_run(key)
    assert row is not None
    assert row.status is RunStatus.REFUSED
    assert row.reason is not None
    assert row.reason.code is Code.TOO_OLD


def test_a_damaged_batch_in_the_log_of_one_shard_leaves_the_others_their_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    world = claimed_world()
    lose_all(world)
    keep_ticking(world, FIRST_RESEND + MINUTE)
    read = world.store.get_books

    def damaged(shard: int) -> Books:
        if shard == 1:
            raise Damaged("SHARD#1", "B#1", "claims: not packed JSON")
        return read(shard)

    monkeypatch.setattr(world.store, "get_books", damaged)
    report = world.sweeper(shards=2).sweep(world.clock.now() + MINUTE)
    assert (report.shards, report.failed_shards, report.resent) == (1, 1, 1)
    (failed,) = [said for name, said in world.notes.alarms if name == "sweep_failed"]
    assert failed["shard"] == 1
    assert "not packed JSON" in failed["error"]


def test_a_row_that_cannot_be_read_keeps_nobody_elses_run_from_being_revived_or_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Written by a version that was taken back, say. Its own run stays in the books until the row can be read again."""
    world = claimed_world(5)
    spoilt, dead, *lost = world.sent
    start(world, spoilt)
    start(world, dead)
    lose_all(world)
    read = world.store.get_runs

    def damaged(keys: Sequence[RunKey]) -> Mapping[RunKey, Run]:
        if spoilt.key in keys:
            raise Damaged("acme#job", "R#1", "status: no such status")
        return read(keys)

    monkeypatch.setattr(world.store, "get_runs", damaged)
    keep_ticking(world, FIRST_RESEND + MINUTE)
    report = world.sweep()
    assert (report.shards, report.failed_shards, report.revived, report.resent) == (1, 0, 1, len(lost))
    assert [said["run_id"] for name, said in world.notes.alarms if name == "row_damaged"] == [spoilt.key.run_id]
    assert {message.key for message in world.sent} == {dead.key, *(one.key for one in lost)}
    monkeypatch.setattr(world.store, "get_runs", read)
    keep_ticking(world, MINUTE)
    world.sweep()
    assert spoilt.key in {message.key for message in world.sent}, "its worker was dead all the while"


def test_shards_that_another_deployment_served_are_swept_too_and_their_quiet_ones_served() -> None:
    world = World(TWO)
    beyond = replace(timer(cron("0 2 * * *"), TWO), shard=3)
    world.add(beyond)
    world.store.take_lease(0, TWO - MINUTE, "a dispatcher", TWO - MINUTE, TWO - MINUTE)
    world.store.raise_shards(4)
    report = world.sweeper(shards=2).sweep(world.clock.now() + MINUTE)
    assert report.shards == 4
    assert [key.schedule_id for key in world.sent_keys] == [beyond.schedule_id]
