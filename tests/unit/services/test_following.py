"""Executions from the worker to the clerk and to their end: started once, seldom looked at, stopped in time."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.adapters.memory.errands import remove_errand
from cronfleet.domain.attempt import Result, handed_over, heeding
from cronfleet.domain.errand import ErrandKind
from cronfleet.domain.execution import STOP_WAIT
from cronfleet.domain.follow import LONGEST_LOOK, STOP_LOOK
from cronfleet.domain.instant import HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.retiming import Cause, Retiming
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.run import Outcome, Run, RunStatus
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.slot import live
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import OneShotTrigger
from cronfleet.ports.executions import Unseen
from cronfleet.ports.tenants import PutTenant
from cronfleet.services.mending import MendStep
from tests.support.builders import at
from tests.support.crashing import WORKER
from tests.support.elsewhere import CLERK, MACHINE, FollowedWorld
from tests.support.lived import ACME

TWO = at("2026-12-01 02:00")
ONCE = Retry(max_attempts=1, backoff=Backoff(BackoffKind.FIXED, base_seconds=20))
TWICE = replace(ONCE, max_attempts=2)


def world_of(*, limit: int = 600, retry: Retry = ONCE, policies: Any = None, **cloud: Any) -> FollowedWorld:
    world = FollowedWorld(TWO - 10 * SECOND, **cloud)
    made = Policies(retry=retry, timeout_seconds=limit, **(policies or {}))
    spec = Spec(OneShotTrigger(TWO, "", None), MACHINE, payload={"day": 1}, policies=made)
    world.schedules.create(ACME, "nightly", lambda *_: spec)
    return world


def the_run(world: FollowedWorld) -> Run:
    (run,) = world.store.state.runs.values()
    return run


def test_an_execution_is_started_at_its_time_and_its_end_is_the_runs() -> None:
    world = world_of()
    world.live(15)
    run = the_run(world)
    assert run.status is RunStatus.RUNNING
    assert run.execution is not None
    assert run.execution.handle in world.cloud.executions
    world.live(40)
    run = the_run(world)
    assert (run.status, run.attempts[0].outcome) == (RunStatus.SUCCEEDED, Outcome.SUCCEEDED)
    assert run.attempts[0].execution is not None, "the history says what ran"
    log = world.store.get_log(run.key, 1)
    assert log is not None
    assert [line.text for line in log.lines] == ["done"]
    world.check_followed()


def test_a_long_execution_is_looked_at_ever_less_often_and_nothing_is_written_meanwhile() -> None:
    world = world_of(limit=4 * 3600, lasts=lambda _: 3 * 3600)
    world.live(20)
    rev = the_run(world).rev
    world.live(3600)
    first_hour = len(world.cloud.looks)
    world.live(3600)
    assert first_hour <= 28
    assert len(world.cloud.looks) - first_hour <= 12
    assert the_run(world).rev == rev
    world.live(3600 + LONGEST_LOOK // SECOND + 10)
    assert the_run(world).status is RunStatus.SUCCEEDED


def test_no_message_and_no_sweep_takes_over_what_goes_on_elsewhere() -> None:
    world = world_of(limit=2 * 3600, lasts=lambda _: 3600)
    world.clock.set(TWO)
    world.tick()
    (message,) = world.sent
    world.deliver()
    world.live(1800)
    assert world.notes.counts["revived"] == 0
    assert world.handle(message), "a copy means nothing"
    # Past its lease too, while no clerk has come to see to it.
    world.outage(3 * 3600)
    assert world.handle(message)
    assert the_run(world).attempt == 1
    assert len(world.cloud.executions) == 1


def test_a_failure_is_tried_again_as_another_execution_after_the_first_has_ended() -> None:
    world = world_of(
        retry=TWICE,
        comes_to=lambda call: Result(Outcome.FAILED, "failed: States.TaskFailed: no") if call.attempt == 1 else OK,
    )
    world.live(120)
    run = the_run(world)
    assert [one.outcome for one in run.attempts] == [Outcome.FAILED, Outcome.SUCCEEDED]
    assert run.attempts[0].error == "failed: States.TaskFailed: no"
    assert len(world.cloud.executions) == 2
    world.check_followed()


OK = Result(Outcome.SUCCEEDED)


def test_what_outlives_its_time_limit_is_stopped_and_has_timed_out() -> None:
    world = world_of(limit=60, lasts=lambda _: 3600)
    world.live(10 + 60 + 20)
    run = the_run(world)
    assert (run.status, run.attempts[0].outcome) == (RunStatus.DEAD, Outcome.TIMED_OUT)
    assert "time limit" in str(run.attempts[0].error)
    world.check_followed()


def test_what_does_not_stop_is_given_up_and_the_run_says_so() -> None:
    world = world_of(limit=60, lasts=lambda _: 3600, heeds_stop=False)
    world.live(10 + 60 + 200)
    run = the_run(world)
    assert run.attempts[0].outcome is Outcome.TIMED_OUT
    assert "may go on" in str(run.attempts[0].error)
    assert [name for name, _ in world.notes.alarms] == ["execution_given_up"]


def test_a_cancelled_run_is_stopped_within_two_ticks_however_seldom_it_is_looked_at() -> None:
    world = world_of(limit=4 * 3600, lasts=lambda _: 3 * 3600)
    world.live(3600)
    world.runs.cancel(ACME, the_run(world).key.run_id, reason="enough")
    world.live(10)
    assert not world.cloud.going
    world.live(2 * STOP_LOOK // SECOND)
    run = the_run(world)
    assert (run.status, run.attempts[0].outcome) == (RunStatus.CANCELLED, Outcome.CANCELLED)
    world.check_followed()


def test_a_success_that_came_before_the_stop_stands() -> None:
    world = world_of(limit=4 * 3600, lasts=lambda _: 3600)
    world.live(10 + 3600 + 1)
    assert the_run(world).status is RunStatus.RUNNING
    world.runs.cancel(ACME, the_run(world).key.run_id)
    world.live(10)
    assert the_run(world).status is RunStatus.SUCCEEDED


def test_a_start_that_is_refused_fails_the_attempt_at_once() -> None:
    world = world_of(refuses=lambda _: Result(Outcome.FAILED, "an express workflow", retryable=False))
    world.live(15)
    run = the_run(world)
    assert run.status is RunStatus.DEAD
    assert run.reason is not None
    assert "express" in run.reason.text
    world.live(30)
    world.check_followed()


def test_a_start_without_an_answer_is_asked_for_again_under_the_same_name() -> None:
    world = world_of(silent={"start"})
    world.live(15)
    assert the_run(world).status is RunStatus.RUNNING
    world.cloud.silent.clear()
    world.live(60)
    assert the_run(world).status is RunStatus.SUCCEEDED
    assert len(world.cloud.executions) == 1


@pytest.mark.parametrize("foresees", [True, False])
def test_what_cannot_be_seen_is_shown_to_be_so_and_ends_at_its_time_limit_at_the_latest(foresees: bool) -> None:
    world = world_of(limit=120, foresees=foresees, silent={"look"}, lasts=lambda _: 3600)
    world.live(40)
    run = the_run(world)
    assert run.progress is not None
    assert "cannot be seen" in run.progress.text
    world.live(120 + 200)
    run = the_run(world)
    assert (run.status, run.attempts[0].outcome) == (RunStatus.DEAD, Outcome.TIMED_OUT)


def test_what_can_be_seen_again_is_no_longer_shown_to_be_out_of_sight() -> None:
    world = world_of(limit=1200, silent={"look"}, lasts=lambda _: 600)
    world.live(40)
    world.cloud.silent.clear()
    world.live(60)
    assert the_run(world).progress is None


def test_what_its_service_has_forgotten_has_failed_as_it_is_not_known_how_it_ended() -> None:
    world = world_of(foresees=False, lasts=lambda _: 300)
    world.live(30)
    world.cloud.executions.clear()
    world.live(120)
    run = the_run(world)
    assert run.status is RunStatus.DEAD
    assert "unknown" in str(run.attempts[0].error)


def test_a_handle_that_could_not_be_told_beforehand_is_noted() -> None:
    world = world_of(foresees=False)
    world.live(15)
    execution = the_run(world).execution
    assert execution is not None
    assert execution.is_started
    assert execution.handle in world.cloud.executions


def test_its_slot_is_held_to_its_end_and_let_go_of() -> None:
    world = world_of(limit=3600, lasts=lambda _: 1200)
    one_at_once(world)
    world.live(15)
    world.live(900)
    assert held(world) == 1
    world.live(900)
    assert the_run(world).status is RunStatus.SUCCEEDED
    assert held(world) == 0


def one_at_once(world: FollowedWorld) -> None:
    before = world.store.get_tenant("acme", consistent=True)
    assert before is not None
    limited = (*before.quotas, ("concurrent_runs", 1))
    after = Tenant("acme", quotas=tuple(sorted(limited)), rev=before.rev + 1, change_id=world.ids.unique())
    world.store.commit([PutTenant(after, before)])


@pytest.mark.parametrize("function", [WORKER, CLERK])
def test_its_slot_is_free_minutes_after_the_run_is_over_whoever_died(function: str) -> None:
    def scene(*stops: tuple[str, int]) -> tuple[FollowedWorld, Any]:
        world = world_of(limit=6 * 3600, lasts=lambda _: 60)
        one_at_once(world)
        return world, world.plan(*stops, all_moments=True)

    calm, heard = scene()
    calm.live(10 * MINUTE // SECOND)
    assert held(calm) == 0
    for one in [one for one in heard.heard if one.function == function]:
        world, _ = scene((function, one.number))
        world.live(20 * MINUTE // SECOND)
        assert the_run(world).is_terminal, one
        assert held(world) == 0, one


def held(world: FollowedWorld, now: Instant | None = None) -> int:
    return live(world.store.get_slots("acme"), now or world.clock.now())


def test_a_second_run_waits_for_one_that_goes_on_elsewhere_where_runs_must_not_overlap() -> None:
    world = world_of(limit=3600, lasts=lambda _: 900, policies={"overlap": Overlap.SKIP})
    world.live(15)
    world.runs.run_now(ACME, "nightly")
    world.live(20)
    statuses = sorted(run.status for run in world.store.state.runs.values())
    assert statuses == [RunStatus.RUNNING, RunStatus.SKIPPED]
    world.live(1200)
    assert len(world.cloud.executions) == 1


def test_the_time_since_which_it_is_told_to_stop_stands_although_nobody_answers_to_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = world_of(limit=60, lasts=lambda _: 3600)
    world.live(20)
    numbers = iter(range(1_000))

    def stop(*_: Any) -> None:
        raise Unseen(f"no answer to request {next(numbers)}")

    monkeypatch.setattr(world.cloud, "stop", stop)
    world.live(60 + (STOP_WAIT + MINUTE) // SECOND)
    run = the_run(world)
    assert (run.status, run.attempts[0].outcome) == (RunStatus.DEAD, Outcome.TIMED_OUT)
    assert "did not stop" in str(run.attempts[0].error)


def test_what_a_worker_notes_late_of_its_start_takes_nothing_from_what_was_noted_meanwhile() -> None:
    world = world_of(limit=600, lasts=lambda _: 300, foresees=False)
    world.live(25)
    before = the_run(world)
    execution = before.execution
    assert execution is not None
    stopped = handed_over(before, replace(execution, stopping_at=world.clock.now()))
    late = handed_over(before, replace(execution, handle="", is_started=False))
    assert heeding(late, stopped, world.clock.now()).execution == stopped.execution
    assert heeding(stopped, replace(late, rev=late.rev), world.clock.now()).execution == stopped.execution


def test_a_newer_run_that_displaces_it_has_it_stopped() -> None:
    world = world_of(limit=3600, lasts=lambda _: 900, policies={"overlap": Overlap.CANCEL_OTHER})
    world.live(15)
    world.runs.run_now(ACME, "nightly")
    world.live(120)
    first, second = world.cloud.executions.values()
    assert first.stopped
    assert not second.stopped
    assert second.began_at >= first.ends_at


def test_a_cancellation_asked_for_between_start_and_hand_over_leaves_nothing_going() -> None:
    world = world_of(limit=3600, lasts=lambda _: 900)
    store: Any = world.store
    inner = store.get_definition

    def cancelled_meanwhile(*args: Any) -> Any:
        for run in list(world.store.state.runs.values()):
            if run.cancel is None and run.status is RunStatus.RUNNING:
                world.runs.cancel(ACME, run.key.run_id)
        return inner(*args)

    store.get_definition = cancelled_meanwhile
    world.live(15)
    store.get_definition = inner
    world.live(120)
    assert the_run(world).status is RunStatus.CANCELLED
    world.check_followed()


def test_an_execution_whose_schedule_is_gone_is_followed_to_its_end() -> None:
    world = world_of(limit=3600, lasts=lambda _: 300)
    world.live(15)
    world.schedules.delete(ACME, "nightly")
    world.live(600)
    assert the_run(world).status is RunStatus.SUCCEEDED
    world.check_followed()


def test_an_errand_whose_message_is_lost_comes_again() -> None:
    world = world_of(limit=3600, lasts=lambda _: 60)
    world.live(15)
    for _ in range(3):
        world.clock.advance(5 * SECOND)
        world.tick()
        world.errand_queue.queue.lose(lambda _: True)
    world.live(5 * 60)
    assert the_run(world).status is RunStatus.SUCCEEDED
    assert not world.store.get_errand("acme", ErrandKind.EXECUTION, the_run(world).key.run_id)


def test_after_a_fail_over_an_execution_whose_errand_has_not_come_is_followed_again() -> None:
    world = world_of(limit=3600, lasts=lambda _: 60)
    world.live(15)
    for key in list(world.store.state.errands):
        remove_errand(world.store.state, key)
    world.live(5 * 60)
    assert the_run(world).status is RunStatus.RUNNING
    job, timer = (
        Retiming("0job", Cause.FAILOVER, "", "eu-west-1", TWO // SECOND, world.clock.now()),
        world.timer("nightly"),
    )
    step = MendStep(world.store, world.clock, world.notes)
    for _ in range(2):
        step.decide(job, timer, world.clock.now())
    assert world.notes.counts["runs_mended"] == 1
    world.live(60)
    assert the_run(world).status is RunStatus.SUCCEEDED
    world.check_followed()


def test_a_clerk_that_was_away_for_hours_finds_the_end_and_when_it_came() -> None:
    world = world_of(limit=2 * 3600, lasts=lambda _: 1800, comes_to=lambda _: Result(Outcome.FAILED, "failed: no"))
    world.live(15)
    world.outage(5 * HOUR // SECOND)
    world.live(2 * MINUTE // SECOND)
    run = the_run(world)
    assert run.attempts[0].error == "failed: no", "it had ended long before its time limit"
