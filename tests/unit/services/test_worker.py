"""The worker, one decision at a time: what starts, what is refused, what is written, and what it costs."""

from dataclasses import replace

import pytest

from cronfleet.domain.attempt import Result
from cronfleet.domain.claim import RunTimer, TimerKind
from cronfleet.domain.errors import ClockSkewed
from cronfleet.domain.instant import DAY, MINUTE, SECOND
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import Outcome, Run, RunKey, RunStatus
from cronfleet.domain.schedule import Policies, Status, Timer
from cronfleet.ports.job_store import InsertRun, InsertRunTimer, NoAnswer, UpdateTimer
from cronfleet.ports.target import Call
from cronfleet.services.starting import PASS_ON_SECONDS, NotSent
from tests.support.actors import no_actor_left
from tests.support.builders import every, message
from tests.support.workshop import BACKOFF, PAST_LEASE, TWO, Workshop, calls_of, fails_first, succeeds


def only_run_timer(world: Workshop) -> RunTimer:
    (waiting,) = world.store.state.run_timers.values()
    return waiting


def test_an_ordinary_run_costs_two_writes_one_strong_read_one_definition_and_once_a_second_what_is_frozen() -> None:
    world = Workshop()
    ordinary = ["insert_run", "get_timer", "get_definition", "call", "replace_run"]
    assert calls_of(world) == ["get_notices", *ordinary]


def test_a_run_that_succeeds_is_in_the_ledger_with_its_attempt_and_its_lag() -> None:
    world = Workshop()
    world.clock.advance(1_500)
    world.deliver()
    row = world.stored
    assert row.status is RunStatus.SUCCEEDED
    assert [(a.number, a.outcome, a.error) for a in row.attempts] == [(1, Outcome.SUCCEEDED, None)]
    assert row.lag_ms == 1_500
    assert row.lease_until is None
    assert world.notes.measures["lag"] == [1.5]


def test_every_attempt_is_one_line_that_says_what_happened() -> None:
    world = Workshop(fails_first(1))
    world.deliver()
    ((name, fields),) = world.notes.events
    assert name == "attempt_finished"
    assert fields["run_id"] == world.message.key.run_id
    assert (fields["tenant"], fields["schedule_id"]) == ("acme", "nightly")
    assert (fields["attempt"], fields["outcome"], fields["status"]) == (1, "failed", "waiting")
    assert fields["error"] == "error", "what it said stands in its row alone"
    assert fields["lag_seconds"] == 0


def test_a_message_that_comes_early_is_sent_again_with_the_delay_that_is_left() -> None:
    world = Workshop()
    world.clock.set(TWO - 2_400)
    assert world.deliver() is None
    assert world.row() is None
    queue = world.run_queue.tier("standard")
    assert queue.next_visible_at() == TWO - 2_400 + 3 * SECOND
    assert queue.bodies() == [world.message]


def test_a_message_that_comes_more_than_the_longest_delay_early_is_sent_again_with_the_longest() -> None:
    world = Workshop()
    world.clock.set(TWO - DAY)
    world.deliver()
    assert world.run_queue.tier("standard").next_visible_at() == TWO - DAY + 900 * SECOND


def test_an_early_message_that_the_queue_does_not_take_back_is_delivered_again() -> None:
    world = Workshop()
    world.clock.set(TWO - SECOND)
    world.run_queue.tier("standard").accepts = lambda _: False
    assert isinstance(world.deliver(), NotSent)


@pytest.mark.parametrize("skew", [2_001, -2_001, 3_600_000])
def test_a_worker_whose_clock_is_off_does_nothing_and_alarms(skew: int) -> None:
    world = Workshop()
    world.store.state.skew_ms = skew
    world.worker().handle(world.message)
    assert world.row() is None
    assert [name for name, _ in world.notes.alarms] == ["clock_skewed"]


def test_a_worker_whose_clock_is_off_leaves_its_messages_to_the_others() -> None:
    """It fails fast, so it would get more than its share; and what it kept would be hidden for an hour and a half, or
    wait five minutes for the sweeper, among the ten that are sent again in a minute.
    """
    world = Workshop()
    queue = world.run_queue.tier("standard")
    before = len(queue.bodies())
    world.store.state.skew_ms = 30_000
    world.worker().handle(world.message)
    assert len(queue.bodies()) == before + 1
    world.store.state.skew_ms = 0
    world.clock.advance(PASS_ON_SECONDS * SECOND)
    for received in queue.receive(10):
        world.worker().handle(received.body)
    assert world.stored.status is RunStatus.SUCCEEDED
    assert world.stored.attempt == 1


def test_a_queue_that_does_not_take_it_back_keeps_the_message_of_a_worker_whose_clock_is_off() -> None:
    world = Workshop()
    world.store.state.skew_ms = 30_000
    world.run_queue.tier("standard").accepts = lambda _: False
    with pytest.raises(NotSent):
        world.worker().handle(world.message)


def test_a_clock_that_is_set_after_the_start_writes_no_false_time_and_the_run_is_revived() -> None:
    """Nothing was heard since the clock was set, so what was heard before proves nothing."""
    world = Workshop()
    get_timer, get_run = world.store.get_timer, world.store.get_run

    def then_set(tenant: str, schedule_id: str) -> Timer | None:
        world.store.state.skew_ms = None
        return get_timer(tenant, schedule_id)

    def answer(key: RunKey) -> Run | None:
        world.store.state.skew_ms = 3_600_000
        return get_run(key)

    world.store.get_timer, world.store.get_run = then_set, answer  # type: ignore[method-assign]  # as in the next test
    with pytest.raises(ClockSkewed):
        world.worker().handle(world.message)
    world.store.get_timer, world.store.get_run = get_timer, get_run  # type: ignore[method-assign]  # as above
    world.store.state.skew_ms = 0
    assert world.targets.made == []
    assert world.stored.lease_until == TWO + 70 * SECOND
    world.clock.advance(PAST_LEASE)
    world.deliver()
    assert world.stored.status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("skew", [30_000, -30_000])
def test_a_clock_that_is_set_while_the_job_works_writes_no_false_end(skew: int) -> None:
    """An end an hour ahead would put the next attempt off for an hour; and one before its start is no end at all."""
    world = Workshop()

    def job(_: Call) -> Result:
        world.store.state.skew_ms = skew
        return Result(Outcome.FAILED, "whatever it was")

    world.targets.script = job
    with pytest.raises(ClockSkewed):
        world.worker().handle(world.message)
    assert world.stored.status is RunStatus.RUNNING
    world.store.state.skew_ms = 0
    world.targets.script = succeeds
    world.clock.advance(PAST_LEASE)
    world.deliver()
    assert world.stored.status is RunStatus.SUCCEEDED


def test_a_cold_worker_learns_the_stores_time_by_a_read_before_it_writes() -> None:
    world = Workshop()
    world.store.state.skew_ms = None
    get_run = world.store.get_run

    def answer(key: RunKey) -> Run | None:
        world.store.state.skew_ms = -5_000
        return get_run(key)

    world.store.get_run = answer  # type: ignore[method-assign]  # the first answer tells the time
    world.worker().handle(world.message)
    assert world.store.state.runs == {}
    assert [name for name, _ in world.notes.alarms] == ["clock_skewed"]


def test_a_failed_attempt_waits_in_the_due_index_for_its_next_one() -> None:
    world = Workshop(fails_first(1))
    world.deliver()
    row, waiting = world.stored, only_run_timer(world)
    assert row.status is RunStatus.WAITING
    assert row.retry_at == TWO + 10 * SECOND
    assert (waiting.kind, waiting.attempt, waiting.due_at) == (TimerKind.RETRY, 2, TWO + 10 * SECOND)
    assert (waiting.shard, waiting.tier, waiting.version, waiting.timeout_seconds) == (0, "standard", 1, 60)


def test_a_retry_runs_when_its_timer_fires_and_keeps_the_first_start_and_lag() -> None:
    world = Workshop(fails_first(1))
    world.clock.advance(700)
    world.deliver()
    world.clock.advance(11 * SECOND)
    assert world.wake_timers() == 1
    row = world.stored
    assert row.status is RunStatus.SUCCEEDED
    assert [a.outcome for a in row.attempts] == [Outcome.FAILED, Outcome.SUCCEEDED]
    assert (row.started_at, row.lag_ms) == (TWO + 700, 700)
    assert world.notes.measures["lag"] == [0.7]


def test_a_run_out_of_attempts_is_dead_with_the_error_of_each() -> None:
    world = Workshop(fails_first(9))
    world.deliver()
    row = world.settle()
    assert row.status is RunStatus.DEAD
    assert [a.error for a in row.attempts] == [f"attempt {n} was to fail" for n in (1, 2, 3)]
    assert row.reason is not None
    assert row.reason.code is Code.ATTEMPTS


def test_a_failure_that_no_retry_can_mend_ends_the_run_at_once() -> None:
    world = Workshop(lambda _: Result(Outcome.FAILED, "no such account", retryable=False))
    world.deliver()
    assert world.stored.status is RunStatus.DEAD
    assert world.stored.reason is not None
    assert world.stored.reason.code is Code.PERMANENT
    assert not world.store.state.run_timers


def test_a_worker_killed_in_the_middle_is_followed_by_a_takeover_that_counts_as_an_attempt() -> None:
    world = Workshop()
    with world_killed_in_call(world):
        pass
    world.clock.advance(PAST_LEASE)
    world.deliver()
    row = world.stored
    assert [a.outcome for a in row.attempts] == [Outcome.LOST, Outcome.SUCCEEDED]
    assert [a.fence for a in row.attempts] == [1, 2]
    assert world.targets.effects == {world.message.key: 1}
    assert world.notes.counts["takeovers"] == 1


class world_killed_in_call:  # noqa: N801 - reads as a phrase
    """The first worker dies after its target was called and before it wrote the end."""

    def __init__(self, world: Workshop) -> None:
        world.deliver_as_actor("first").run(10).kill()
        assert world.stored.status is RunStatus.RUNNING
        assert len(world.targets.made) == 1

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def test_a_run_whose_workers_die_each_time_is_dead_after_its_attempts() -> None:
    world = Workshop()
    for _ in range(4):
        world.deliver_as_actor("dies").run(6).kill()
        world.clock.advance(PAST_LEASE)
    world.deliver()
    row = world.stored
    assert row.status is RunStatus.DEAD
    assert row.reason is not None
    assert row.reason.code is Code.ATTEMPTS
    assert len(world.targets.made) == 0


def test_a_duplicate_of_a_live_run_is_deleted_and_counted() -> None:
    world = Workshop()
    first = world.deliver_as_actor("first").run(6)
    assert world.deliver() is None
    first.finish()
    assert world.stored.attempt == 1
    assert world.notes.counts["messages_dropped"] == 1


def test_a_duplicate_of_a_finished_run_never_starts_it_again_however_late() -> None:
    world = Workshop()
    world.deliver()
    done = world.stored
    for wait in (SECOND, DAY, 40 * DAY):
        world.clock.advance(wait)
        world.deliver()
    assert world.stored == done
    assert len(world.targets.made) == 1


def test_a_message_claimed_more_than_fifteen_days_ago_is_refused_in_the_ledger() -> None:
    world = Workshop()
    world.clock.advance(15 * DAY)
    world.deliver()
    assert world.stored.status is RunStatus.REFUSED
    assert world.stored.reason is not None
    assert world.stored.reason.code is Code.TOO_OLD
    assert not world.targets.made


def test_a_later_attempt_of_a_run_that_has_no_row_starts_nothing() -> None:
    world = Workshop()
    world.deliver(replace(world.message, attempt=2))
    assert world.row() is None


def test_a_run_of_a_paused_schedule_is_skipped_with_who_paused_it_and_why() -> None:
    world = Workshop()
    world.pause()
    world.deliver()
    assert world.stored.status is RunStatus.SKIPPED
    said = {"by": "ada", "why": "", "paused_at": world.clock.now()}
    assert world.stored.reason == Reason(Code.PAUSED, "paused by ada", said)
    assert world.stored.attempts[0].outcome is Outcome.NOT_STARTED
    assert not world.targets.made


def test_a_run_of_a_cancelled_schedule_is_cancelled() -> None:
    world = Workshop()
    world.cancel()
    world.deliver()
    assert world.stored.status is RunStatus.CANCELLED
    assert not world.targets.made


def test_a_fire_that_was_not_yet_due_when_the_trigger_changed_is_superseded() -> None:
    world = Workshop()
    world.clock.set(TWO - 5 * SECOND)
    world.edit(trigger=every(3600))
    world.clock.set(TWO)
    world.deliver()
    assert world.stored.status is RunStatus.SKIPPED
    assert world.stored.reason is not None
    assert world.stored.reason.code is Code.SUPERSEDED


def test_a_fire_that_was_due_when_the_trigger_changed_runs() -> None:
    world = Workshop()
    world.clock.set(TWO + SECOND)
    world.edit(trigger=every(3600))
    world.deliver()
    assert world.stored.status is RunStatus.SUCCEEDED


def test_a_superseded_fire_stays_so_when_the_worker_that_found_out_dies_before_it_says_so() -> None:
    world = Workshop()
    world.clock.set(TWO - 5 * SECOND)
    world.edit(trigger=every(3600))
    # Admission is the second line: the change could not foresee a fire that a deferral had made due later.
    del world.store.state.runs[world.message.key]
    world.clock.set(TWO)
    world.deliver_as_actor("dies").run(4).kill()
    assert world.stored.status is RunStatus.RUNNING
    world.clock.advance(PAST_LEASE)
    world.deliver()
    assert not world.targets.made
    assert world.stored.status is RunStatus.SKIPPED


def test_the_first_attempt_takes_the_version_that_is_current_and_later_ones_keep_it() -> None:
    world = Workshop(fails_first(1))
    world.edit(payload={"for": "some"}, policies=replace(world.policies, timeout_seconds=120))
    world.deliver()
    assert world.targets.made[0].deadline_at == TWO + 120 * SECOND
    world.edit(payload={"for": "none"})
    world.clock.advance(11 * SECOND)
    world.wake_timers()
    assert [made.payload for made in world.targets.made] == [{"for": "some"}, {"for": "some"}]
    assert world.stored.version == 2


def test_a_takeover_under_an_old_message_gets_the_time_limit_of_the_version_that_runs() -> None:
    world = Workshop()
    world.edit(policies=replace(world.policies, timeout_seconds=300))
    world.deliver_as_actor("dies").run(10).kill()
    world.clock.advance(400 * SECOND)
    world.deliver()
    assert world.targets.made[-1].deadline_at == world.clock.now() + 300 * SECOND
    assert world.stored.status is RunStatus.SUCCEEDED


def test_a_retry_waits_out_a_pause_and_runs_after_it() -> None:
    world = Workshop(fails_first(1))
    world.deliver()
    world.pause()
    world.clock.advance(11 * SECOND)
    world.wake_timers()
    assert world.stored.status is RunStatus.WAITING
    assert world.stored.attempt == 1
    assert world.stored.retry_at == world.clock.now() + MINUTE
    world.clock.advance(2 * MINUTE)
    world.wake_timers()
    assert world.stored.status is RunStatus.WAITING
    world.resume()
    world.clock.advance(2 * MINUTE)
    world.wake_timers()
    assert world.stored.status is RunStatus.SUCCEEDED
    assert [a.number for a in world.stored.attempts] == [1, 2]
    assert world.stored.fence == 4


def test_a_run_whose_definition_cannot_be_read_is_refused_with_an_alarm() -> None:
    world = Workshop()
    world.store.state.definitions.clear()
    world.deliver()
    assert world.stored.status is RunStatus.REFUSED
    assert world.stored.reason is not None
    assert world.stored.reason.code is Code.NO_DEFINITION
    assert [name for name, _ in world.notes.alarms] == ["definition_gone"]


def manual(world: Workshop, **row: object) -> RunKey:
    """A row as run-now leaves it, with its message."""
    key = RunKey("acme", "nightly", 1, TWO, "manual-7")
    world.store.commit([InsertRun(Run(key, RunStatus.QUEUED, TWO, "standard", version=1, **row))])
    world.message = message(TWO, key=key)
    return key


def test_a_manual_run_passes_a_pause_and_takes_the_payload_of_its_request() -> None:
    world = Workshop()
    world.pause()
    manual(world, payload=None, has_payload=True)
    world.deliver()
    assert world.stored.status is RunStatus.SUCCEEDED
    assert world.targets.made[0].payload is None


def test_a_manual_run_without_a_payload_of_its_own_takes_the_schedules() -> None:
    world = Workshop()
    manual(world)
    world.deliver()
    assert world.targets.made[0].payload == {"for": "all"}


def test_a_manual_run_reads_its_row_instead_of_a_write_that_must_fail() -> None:
    world = Workshop()
    manual(world)
    assert calls_of(world)[:3] == ["get_notices", "get_run", "replace_run"]


def test_a_run_that_was_cancelled_while_it_was_queued_does_not_start() -> None:
    world = Workshop()
    manual(world)
    world.store.replace_run(world.stored.ended(RunStatus.CANCELLED, TWO))
    world.deliver()
    assert not world.targets.made


# --- overlap ---------------------------------------------------------------------------------------------------


def test_a_run_is_skipped_while_an_earlier_one_of_its_schedule_is_going() -> None:
    world = Workshop(overlap=Overlap.SKIP)
    first = world.deliver_as_actor("first").run(10)
    later = message(TWO + MINUTE)
    world.clock.advance(MINUTE)
    world.deliver(later)
    row = world.row(later.key)
    assert row is not None
    assert row.status is RunStatus.SKIPPED
    assert row.reason is not None
    assert world.message.key.run_id in row.reason.text
    first.finish()
    assert world.stored.status is RunStatus.SUCCEEDED
    assert world.store.state.gates == {}


def test_a_run_holds_the_gate_through_its_backoff() -> None:
    world = Workshop(fails_first(1), overlap=Overlap.SKIP)
    world.deliver()
    later = message(TWO + SECOND)
    world.clock.advance(SECOND)
    world.deliver(later)
    skipped = world.row(later.key)
    assert skipped is not None
    assert skipped.status is RunStatus.SKIPPED
    world.clock.advance(10 * SECOND)
    world.wake_timers()
    assert world.stored.status is RunStatus.SUCCEEDED
    assert world.store.state.gates == {}


def test_a_gate_that_a_finished_run_left_behind_is_taken_from_it() -> None:
    world = Workshop(overlap=Overlap.SKIP)
    world.deliver()
    world.store.take_gate("acme", "nightly", world.message.key.run_id, TWO, None)
    later = message(TWO + SECOND)
    world.clock.advance(SECOND)
    world.deliver(later)
    row = world.row(later.key)
    assert row is not None
    assert row.status is RunStatus.SUCCEEDED
    assert world.store.state.gates == {}


@pytest.mark.parametrize("left_behind", [False, True], ids=["let go", "left behind"])
def test_a_run_that_started_before_the_one_ahead_had_ended_is_skipped(left_behind: bool) -> None:
    """It asks for the gate a moment later and may find it free; but the history would show the two side by side."""
    world = Workshop(overlap=Overlap.SKIP)
    first = world.deliver_as_actor("first")
    while first.at != "call done":
        first.step()
    later = message(TWO + SECOND)
    world.clock.advance(SECOND)
    second = world.deliver_as_actor("second", later)
    while second.at != "take_gate":
        second.step()
    world.clock.advance(1)
    first.finish()
    if left_behind:
        world.store.state.gates["acme", "nightly"] = world.message.key.run_id
        world.store.state.gates_free_since.clear()
    second.finish()
    skipped = world.row(later.key)
    assert skipped is not None
    assert skipped.status is RunStatus.SKIPPED
    assert skipped.reason is not None
    assert world.message.key.run_id in skipped.reason.text
    world.clock.advance(SECOND)
    after = message(TWO + 2 * SECOND)
    world.deliver(after)
    ran = world.row(after.key)
    assert ran is not None
    assert ran.status is RunStatus.SUCCEEDED


def test_a_late_worker_does_not_free_the_gate_that_its_run_still_holds() -> None:
    """The run was taken over and waits for its next attempt; the first worker comes back from its long sleep."""
    only_the_first = {1: Result(Outcome.SUCCEEDED), 2: Result(Outcome.FAILED, "the second fails")}
    world = Workshop(lambda call: only_the_first[call.attempt], overlap=Overlap.SKIP)
    first = world.deliver_as_actor("first").run(12)
    assert first.at == "call done"
    world.clock.advance(PAST_LEASE)
    world.deliver()
    assert world.stored.status is RunStatus.WAITING
    first.finish()
    assert world.store.state.gates == {("acme", "nightly"): world.message.key.run_id}


def test_a_release_without_an_answer_harms_nobody() -> None:
    world = Workshop(overlap=Overlap.SKIP)

    def silent(*_: object) -> None:
        raise NoAnswer("never")

    world.store.release_gate = silent  # type: ignore[method-assign]  # the store is gone for this one call
    assert world.deliver() is None
    assert world.stored.status is RunStatus.SUCCEEDED


# --- a worker that is late --------------------------------------------------------------------------------------


def test_a_worker_that_returns_after_its_lease_expired_cannot_finish_the_run() -> None:
    world = Workshop(fails_first(1))
    first = world.deliver_as_actor("first").run(8)
    world.clock.advance(PAST_LEASE)
    world.deliver()
    done = world.stored
    assert done.status is RunStatus.SUCCEEDED
    first.finish()
    assert world.stored == done
    assert world.notes.counts["late_finishes"] == 1
    assert not world.store.state.run_timers


def test_a_worker_that_stood_still_past_its_lease_before_the_call_does_not_call() -> None:
    world = Workshop()
    first = world.deliver_as_actor("first").run(6)
    world.clock.advance(PAST_LEASE)
    first.finish()
    assert "call" not in first.steps
    assert world.stored.status is RunStatus.WAITING
    assert world.stored.attempts[0].outcome is Outcome.TIMED_OUT


def test_a_schedule_that_is_held_or_parked_starts_nothing_of_its_own() -> None:
    for status in (Status.HELD, Status.PARKED):
        world = Workshop()
        held = world.timer()
        world.store.commit([UpdateTimer(replace(held, status=status, rev=held.rev + 1), held)])
        world.deliver()
        assert world.stored.status is RunStatus.SKIPPED
        assert world.stored.reason is not None
        assert world.stored.reason.code is Code.NOT_ON


def test_a_timer_that_already_waits_for_the_attempt_fails_the_delivery_and_the_run_goes_on_later() -> None:
    """It cannot happen while every part keeps its rules; if it does, nothing is lost."""
    world = Workshop(fails_first(1), retry=Retry(max_attempts=5, backoff=BACKOFF))
    stray = RunTimer(world.message.key, TimerKind.RETRY, 2, TWO + DAY, "standard", 0, 1, 60)
    world.store.commit([InsertRunTimer(stray)])
    with pytest.raises(Exception, match="condition of write 1"):
        world.worker().handle(world.message)
    assert world.settle().status is RunStatus.SUCCEEDED


def test_the_policies_of_a_schedule_give_the_deadline() -> None:
    world = Workshop()
    world.edit(policies=Policies(timeout_seconds=5))
    world.deliver()
    assert world.targets.made[0].deadline_at == TWO + 5 * SECOND


def test_a_clock_that_jumps_while_a_row_is_read_does_not_take_over_a_live_lease() -> None:
    """Found by simulation: half a minute ahead, a live lease looks ended."""
    world = Workshop()
    first = world.deliver_as_actor("first")
    while first.at != "call":
        first.step()
    second = world.deliver_as_actor("second")
    with no_actor_left(first, second):
        while second.at != "insert_run done":
            second.step()
        world.clock.advance(PAST_LEASE)
        world.store.state.skew_ms = PAST_LEASE
        second.run()
        world.clock.advance(-PAST_LEASE)
        world.store.state.skew_ms = 0
        assert [name for name, _ in world.notes.alarms] == ["clock_skewed"]
        first.finish()
    assert [made.fence for made in world.targets.made] == [1]
    assert world.stored.status is RunStatus.SUCCEEDED
