"""The pulse of an attempt: few writes, each of which proves the lease, shows the progress and hears of a request."""

import pytest

from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_log import AttemptLog, LogLine, LogPlace
from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.instant import SECOND
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.progress import BEAT_SECONDS, LISTEN_SECONDS, LOG_SECONDS, Progress
from cronfleet.domain.run import Outcome, RunStatus
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.target import FenceLost
from cronfleet.services.pulse import RunPulse
from tests.support.workshop import PAST_LEASE, Workshop, calls_of, fails_first

DONE = Result(Outcome.SUCCEEDED)
LINES = [LogLine(1, "INFO", "at work")]


def world_of(script, **about):
    """A world whose job is `script(world, pulse)`."""
    world = Workshop(**about)
    world.targets.script = lambda _call: script(world, world.targets.pulse)
    return world


def ask(world):
    row = world.stored
    world.store.replace_run(row.asked_to_cancel(CancelRequest(world.clock.now(), "ada")))


def beats(world, pulse, seconds, every=1):
    for number in range(int(seconds / every)):
        world.clock.advance(every * SECOND)
        pulse.beat(number / seconds, f"at {number}")


# --- beats -----------------------------------------------------------------------------------------------------


def test_progress_stands_in_the_row_while_the_attempt_goes_on():
    def job(world, pulse):
        beats(world, pulse, BEAT_SECONDS)
        row = world.stored
        assert row.status is RunStatus.RUNNING
        assert row.progress == Progress(world.clock.now(), 0.8, "at 4")
        return DONE

    world = world_of(job)
    world.deliver()
    assert (world.stored.status, world.stored.progress.fraction) == (RunStatus.SUCCEEDED, 0.8)


def test_a_minute_of_beats_twice_a_second_costs_twelve_writes():
    def job(world, pulse):
        before = world.stored.rev
        beats(world, pulse, 60, every=0.5)
        assert world.stored.rev - before == 60 // BEAT_SECONDS
        return DONE

    world = world_of(job)
    world.deliver()
    assert world.stored.status is RunStatus.SUCCEEDED


def test_an_attempt_shorter_than_a_beat_pays_nothing_for_what_it_tells_and_its_end_shows_it():
    told = world_of(lambda world, pulse: pulse.beat(1.0, "done") or DONE)
    assert calls_of(told) == calls_of(Workshop())
    assert (told.stored.progress.fraction, told.stored.progress.text) == (1.0, "done")


def test_what_was_told_last_is_written_although_nothing_is_told_any_more():
    def job(world, pulse):
        pulse.beat(0.5)
        world.clock.advance(BEAT_SECONDS * SECOND)
        pulse.look()
        assert world.stored.progress.fraction == 0.5
        rev = world.stored.rev
        world.clock.advance(BEAT_SECONDS * SECOND)
        pulse.look()
        assert world.stored.rev == rev, "and once"
        return DONE

    world_of(job).deliver()


def test_the_next_attempt_begins_without_the_progress_of_the_last():
    world = Workshop(fails_first(1))
    script = world.targets.script

    def job(call):
        if call.attempt == 1:
            world.targets.pulse.beat(0.9)
        else:
            assert world.stored.progress is None
        return script(call)

    world.targets.script = job
    world.deliver()
    assert world.stored.progress.fraction == 0.9
    assert world.settle().status is RunStatus.SUCCEEDED


def test_a_beat_whose_reply_was_lost_is_no_loss_of_the_lease(monkeypatch):
    def job(world, pulse):
        written = world.store.replace_run
        monkeypatch.setattr(world.store, "replace_run", lambda run: (written(run), _silence())[1])
        beats(world, pulse, BEAT_SECONDS)
        monkeypatch.setattr(world.store, "replace_run", written)
        beats(world, pulse, 2 * BEAT_SECONDS)
        return DONE

    world = world_of(job)
    world.deliver()
    assert world.stored.status is RunStatus.SUCCEEDED
    assert world.notes.counts["beats_unanswered"] == 1


def _silence():
    raise NoAnswer


def test_an_attempt_whose_lease_is_lost_learns_it_at_its_next_beat():
    def job(world, pulse):
        world.clock.advance(PAST_LEASE)
        world.targets.script = lambda _call: DONE
        world.deliver()
        with pytest.raises(FenceLost):
            pulse.beat()
        return Result(Outcome.FAILED, "stopped")

    world = world_of(job)
    world.deliver()
    assert (world.stored.status, world.stored.fence) == (RunStatus.SUCCEEDED, 2)


def test_a_clock_that_is_set_back_does_not_silence_the_beats():
    def job(world, pulse):
        world.clock.advance(-600 * SECOND)
        pulse.beat(0.5)
        assert world.stored.progress.fraction == 0.5
        return DONE

    world_of(job).deliver()


# --- cancellation ----------------------------------------------------------------------------------------------


def test_the_request_is_known_at_the_next_beat_that_is_written():
    def job(world, pulse):
        ask(world)
        pulse.beat()
        assert pulse.cancel is None, "not written yet"
        beats(world, pulse, BEAT_SECONDS)
        assert pulse.cancel.by == "ada"
        return Result(Outcome.CANCELLED, "gave up")

    world = world_of(job)
    world.deliver()
    assert world.stored.status is RunStatus.CANCELLED


def test_a_silent_attempt_does_not_read_its_row():
    def job(world, pulse):
        ask(world)
        for _ in range(50):
            world.clock.advance(SECOND)
            pulse.look()
        assert pulse.cancel is None
        return Result(Outcome.TIMED_OUT, "stopped at its limit")

    world = world_of(job)
    world.deliver()
    assert world.stored.status is RunStatus.CANCELLED, "by deadline otherwise"


def test_where_newer_runs_cancel_older_ones_a_silent_attempt_hears_of_it():
    heard = []

    def job(world, pulse):
        ask(world)
        for _ in range(LISTEN_SECONDS):
            world.clock.advance(SECOND)
            pulse.look()
        heard.append(pulse.cancel)
        return Result(Outcome.CANCELLED, "given up")

    world = world_of(job, overlap=Overlap.CANCEL_OTHER)
    world.deliver()
    assert heard[0].by == "ada"
    assert world.stored.status is RunStatus.CANCELLED


# --- logs ------------------------------------------------------------------------------------------------------


def kept(world, attempt=1):
    return world.store.get_log(world.message.key, attempt)


def test_the_end_of_the_log_is_kept_when_the_attempt_is_over():
    place = LogPlace("us-east-1", "/aws/lambda/worker", "s")

    def job(_world, pulse):
        pulse.log(LINES, is_whole=True, place=place)
        return DONE

    world = world_of(job)
    world.deliver()
    assert kept(world) == AttemptLog(world.message.key, 1, world.clock.now(), tuple(LINES), True, place)


def test_an_attempt_that_says_nothing_costs_no_write():
    quiet = world_of(lambda _world, pulse: pulse.log([], is_whole=True) or DONE)
    assert calls_of(quiet) == calls_of(Workshop())
    assert "put_log" not in calls_of(Workshop())
    assert kept(quiet) is None


def test_a_log_is_kept_while_the_attempt_goes_on_and_only_where_it_has_grown():
    def job(world, pulse):
        pulse.log(LINES, is_whole=True)
        world.clock.advance(LOG_SECONDS * SECOND)
        pulse.look()
        first = kept(world)
        assert first.lines == tuple(LINES)
        world.clock.advance(LOG_SECONDS * SECOND)
        pulse.log(LINES, is_whole=True)
        pulse.look()
        assert kept(world) == first
        return DONE

    world = world_of(job)
    world.deliver()
    assert kept(world).kept_at < world.clock.now()


def test_each_attempt_keeps_its_own_log():
    def job(world, pulse):
        pulse.log([LogLine(1, "INFO", f"attempt {len(world.targets.made)}")], is_whole=True)
        return Result(Outcome.FAILED, "no") if len(world.targets.made) == 1 else DONE

    world = world_of(job)
    world.deliver()
    world.settle()
    assert [kept(world, number).lines[0].text for number in (1, 2)] == ["attempt 1", "attempt 2"]


def test_of_a_run_whose_tenant_was_deleted_meanwhile_no_log_is_left():
    def job(world, pulse):
        pulse.log(LINES, is_whole=True)
        world.clock.advance(LOG_SECONDS * SECOND)
        pulse.look()
        assert kept(world) is not None
        world.store.forget_run(world.stored)
        return DONE

    world = world_of(job)
    world.deliver()
    assert kept(world) is None


def test_a_store_that_does_not_take_the_log_costs_the_run_nothing(monkeypatch):
    def job(world, pulse):
        pulse.log(LINES, is_whole=True)
        monkeypatch.setattr(world.store, "put_log", lambda _log: _silence())
        return DONE

    world = world_of(job)
    assert world.deliver() is None
    assert (world.stored.status, world.notes.counts["logs_left"]) == (RunStatus.SUCCEEDED, 1)


def test_a_pulse_without_a_word_leaves_the_row_as_it_was():
    world = Workshop()
    world.deliver()
    row = world.stored
    pulse = RunPulse(store=world.store, clock=world.clock, telemetry=world.notes, run=row)
    assert pulse.row is row
