"""Long runs: a short lease that is renewed, a worker that stops, and what becomes of the run in between."""

import contextlib
from dataclasses import replace

import pytest

from cronfleet.domain.attempt import Drop, Start, decide_start
from cronfleet.domain.books import LONG_PATIENCE, MAX_OPEN_BATCHES
from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.change import edited
from cronfleet.domain.errors import ClockSkewed
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.long_run import RENEW_SECONDS, SHORT_LEASE_SECONDS, STOP_SECONDS
from cronfleet.domain.progress import LISTEN_SECONDS
from cronfleet.domain.reason import Code
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import LONG_QUEUE, MAX_INTERRUPTIONS, Outcome, RunStatus
from cronfleet.domain.slot import Slot, held_until, holder_of
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import InsertDefinition, NoAnswer, UpdateTimer
from cronfleet.services.long_worker import HAND_ON_SECONDS
from tests.support.builders import TENANT, cron, timer
from tests.support.long_workshop import TWO_HOURS, LongWorkshop
from tests.support.workshop import BACKOFF, TWO, Workshop
from tests.support.world import World


class Silent:
    """A store that does not answer what is written of runs, while `is_silent`."""

    def __init__(self, store):
        self._store = store
        self.is_silent = False

    def __getattr__(self, name):
        if self.is_silent and name in ("replace_run", "commit", "take_slot"):
            return self._no_answer
        return getattr(self._store, name)

    def _no_answer(self, *_):
        raise NoAnswer("silent")


def begun(world: LongWorkshop) -> None:
    world.send()
    world.long_worker()[0].work()


# --- the lease -------------------------------------------------------------------------------------------------


def test_an_attempt_of_an_hour_never_has_more_than_a_short_lease_nor_less_than_stopping_takes() -> None:
    world = LongWorkshop(3_600)
    begun(world)
    assert world.stored.status is RunStatus.SUCCEEDED
    assert max(world.job.leases) <= SHORT_LEASE_SECONDS * SECOND
    assert min(world.job.leases) > STOP_SECONDS * SECOND
    assert world.stored.rev <= 3 + 3_600 // RENEW_SECONDS, "and it is renewed no more often than it must be"


def test_its_deadline_is_its_own_limit_and_not_the_end_of_its_lease() -> None:
    world = LongWorkshop(1)
    begun(world)
    assert world.job.calls[0].deadline_at == TWO + TWO_HOURS * SECOND


def test_what_cannot_be_renewed_is_stopped_long_before_another_may_begin() -> None:
    world = LongWorkshop(600)
    store = Silent(world.store)
    lapses_at = []

    def fall_silent():
        store.is_silent = not lapses_at and world.clock.now() >= TWO + MINUTE

    world.job.each_second = fall_silent
    world.send()
    worker, _ = world.long_worker(store=store)
    with pytest.raises(NoAnswer):
        worker.work()
    row = world.stored
    assert row.status is RunStatus.RUNNING, "nothing could be written"
    assert row.lease_until - world.clock.now() >= (STOP_SECONDS - 1) * SECOND


def test_a_worker_that_stood_still_past_its_lease_writes_nothing_over_what_another_has_begun() -> None:
    world = LongWorkshop(600)
    taken = []

    def freeze():
        if taken:
            return
        world.clock.advance((SHORT_LEASE_SECONDS + 60) * SECOND)
        again = decide_start(world.stored, world.message, "another", world.clock.now())
        assert isinstance(again, Start)
        taken.append(again.run)
        assert world.store.replace_run(again.run) is None

    world.job.each_second = freeze
    begun(world)
    assert world.stored == taken[0], "the late finish is refused by its fence"
    assert [attempt.outcome for attempt in world.stored.attempts] == [Outcome.LOST, None]
    assert "late_finishes" in world.notes.counts


def test_a_worker_whose_clock_is_set_back_stops_since_its_lease_would_last_for_ever_by_it() -> None:
    world = LongWorkshop(600)

    class SetBack:
        """A store that has found out that the worker's clock is an hour off."""

        def __getattr__(self, name):
            return getattr(world.store, name)

        def skew_ms(self):
            return -HOUR if world.clock.now() > TWO + MINUTE else 0

    world.send()
    worker, _ = world.long_worker(store=SetBack())
    with pytest.raises(ClockSkewed):
        worker.work()
    assert world.clock.now() <= TWO + MINUTE + 2 * SECOND, "at once; its run goes on elsewhere when the lease has ended"
    assert world.stored.status is RunStatus.RUNNING


def test_while_it_goes_on_a_copy_of_its_message_starts_nothing() -> None:
    world = LongWorkshop(600)
    seen = []
    world.job.each_second = lambda: seen.append(decide_start(world.stored, world.message, "b", world.clock.now()))
    begun(world)
    assert all(isinstance(one, Drop) and one.reason.code is Code.LIVE_LEASE for one in seen)


def test_a_request_to_cancel_is_heard_within_seconds_although_the_job_is_silent() -> None:
    world = LongWorkshop(600)
    heard = []

    def ask():
        now = world.clock.now()
        if now == TWO + 100 * SECOND:
            world.store.replace_run(world.stored.asked_to_cancel(CancelRequest(now, "ada")))
        if not heard and world.stored.cancel is not None and world.pulse.cancel is not None:
            heard.append(now)

    real = world.job.call

    def call(call, pulse):
        world.pulse = pulse
        return real(call, pulse)

    world.job.call = call
    world.job.each_second = ask
    world.job.result = replace(world.job.result, outcome=Outcome.CANCELLED)
    begun(world)
    assert heard[0] - (TWO + 100 * SECOND) <= (LISTEN_SECONDS + 1) * SECOND
    assert world.stored.status is RunStatus.CANCELLED


# --- the message -----------------------------------------------------------------------------------------------


def test_the_message_is_deleted_as_soon_as_the_ledger_knows_of_the_run() -> None:
    world = LongWorkshop(600)
    left = []
    world.job.each_second = lambda: left.append(len(world.queue))
    begun(world)
    assert set(left) == {0}
    assert world.protected.asked == ["begin", "end"]
    assert world.protected.looks == 600


def test_what_comes_while_it_stops_is_given_back_to_the_others_at_once() -> None:
    world = LongWorkshop()
    world.send()
    worker, shift = world.long_worker()
    shift.stop_within(120)
    assert worker.work() is False
    assert world.queue.next_visible_at() == world.clock.now()
    assert world.store.get_run(world.message.key) is None


def test_a_message_that_nobody_can_begin_stays_in_the_queue() -> None:
    world = LongWorkshop()
    world.send()
    store = Silent(world.store)
    worker, _ = world.long_worker(store=store)
    store.is_silent = True
    world.store.state.runs[world.message.key] = replace(
        decide_start(None, world.message, "a", TWO).run, lease_until=TWO - SECOND
    )
    with pytest.raises(NoAnswer):
        worker.work()
    assert len(world.queue) == 1
    assert world.protected.asked == ["end"], "there was no job"


def test_an_hour_in_which_nobody_can_begin_makes_no_dead_letter_of_what_waits() -> None:
    world = LongWorkshop(60)
    world.send()
    store = Silent(world.store)
    store.insert_run = store._no_answer
    worker, _ = world.long_worker(store=store)
    for _ in range(60):
        with contextlib.suppress(NoAnswer):
            worker.work()
        world.clock.advance(MINUTE)
    assert not world.queue.dead
    world.clock.advance(SHORT_LEASE_SECONDS * SECOND)
    world.long_worker()[0].work()
    assert world.stored.status is RunStatus.SUCCEEDED


# --- being stopped ---------------------------------------------------------------------------------------------


def stop_at(world: LongWorkshop, instant: int, seconds: int = 120) -> None:
    """The worker is told to stop at `instant`, and has so many seconds."""
    world.send()
    worker, shift = world.long_worker()

    def look():
        if world.clock.now() >= instant:
            shift.stop_within(seconds)

    world.job.each_second = look
    worker.work()


def test_a_job_that_ends_within_the_grace_has_ended() -> None:
    world = LongWorkshop(160)
    stop_at(world, TWO + 60 * SECOND)
    assert world.stored.status is RunStatus.SUCCEEDED


def test_one_that_does_not_is_handed_on_in_time_and_goes_on_at_once() -> None:
    world = LongWorkshop(600)
    stop_at(world, TWO + 60 * SECOND)
    row = world.stored
    assert (row.status, row.attempts[0].outcome) == (RunStatus.WAITING, Outcome.INTERRUPTED)
    assert row.attempts[0].finished_at == TWO + 60 * SECOND + (120 - HAND_ON_SECONDS) * SECOND
    assert row.retry_at == row.attempts[0].finished_at
    assert row.reason.code is Code.INTERRUPTED
    (waiting,) = world.store.state.run_timers.values()
    assert (waiting.attempt, waiting.due_at, waiting.timeout_seconds) == (2, row.retry_at, TWO_HOURS)


def test_interruptions_do_not_count_until_there_are_too_many() -> None:
    world = LongWorkshop(600, retry=Retry(max_attempts=1, backoff=BACKOFF))
    for _ in range(MAX_INTERRUPTIONS):
        stop_at(world, world.clock.now(), seconds=30)
        assert world.stored.status is RunStatus.WAITING
        assert world.stored.tries == 0
        world.store.state.run_timers.clear()
        world.again()
        world.queue.lose(lambda _: True)
    stop_at(world, world.clock.now(), seconds=30)
    row = world.stored
    assert (row.status, row.attempt, row.tries) == (RunStatus.DEAD, MAX_INTERRUPTIONS + 1, 1)


def test_after_an_interruption_all_its_retries_are_left() -> None:
    world = LongWorkshop(600)
    stop_at(world, TWO, seconds=30)
    world.store.state.run_timers.clear()
    world.again()
    world.job.each_second = lambda: None
    world.job.result = replace(world.job.result, outcome=Outcome.FAILED, error="it broke")
    world.long_worker()[0].work()
    row = world.stored
    assert (row.status, row.attempt, row.tries) == (RunStatus.WAITING, 2, 1)
    assert world.store.state.run_timers, "one of its two attempts failed; the other is to come"


# --- slots -----------------------------------------------------------------------------------------------------


def slotted(world: LongWorkshop) -> None:
    world.store.state.tenants[TENANT] = Tenant(TENANT, quotas=(("concurrent_runs", 1),), rev=1)
    free = Slot(TENANT, 1)
    holder = holder_of(world.message.key.run_id, 1, world.message.due_at)
    slot = free.taken(holder, TWO, held_until(TWO, TWO, TWO_HOURS))
    world.store.take_slot(slot, free)
    world.message = replace(world.message, slot=slot.lease)


def test_a_long_run_holds_its_slot_a_little_longer_than_its_lease_and_no_longer() -> None:
    world = LongWorkshop(600)
    slotted(world)
    held = []

    def look():
        (slot,) = world.store.get_slots(TENANT)
        held.append(slot.until - world.stored.lease_until)

    world.job.each_second = look
    begun(world)
    assert {0 < one <= 60 * SECOND for one in held} == {True}, "so a dead worker costs its tenant minutes, not hours"
    (slot,) = world.store.get_slots(TENANT)
    assert slot.is_free(world.clock.now())


def test_who_loses_its_slot_stops_and_comes_again() -> None:
    world = LongWorkshop(600)
    slotted(world)

    def steal():
        if world.clock.now() == TWO + 30 * SECOND:
            (slot,) = world.store.get_slots(TENANT)
            world.store.state.slots[TENANT, 1] = slot.taken("another", world.clock.now(), TWO + HOUR)

    world.job.each_second = steal
    begun(world)
    row = world.stored
    assert (row.status, row.attempts[0].outcome) == (RunStatus.WAITING, Outcome.INTERRUPTED)
    (slot,) = world.store.get_slots(TENANT)
    assert slot.holder == "another", "it lets go of nothing that is not its own"


# --- which workers ---------------------------------------------------------------------------------------------


def test_a_limit_that_is_raised_on_the_way_takes_the_run_to_the_long_workers() -> None:
    world = Workshop()
    world.edit(policies=replace(world.policies, timeout_seconds=TWO_HOURS))
    world.deliver()
    row = world.stored
    assert (row.status, row.attempt, row.reason.code) == (RunStatus.WAITING, 0, Code.OTHER_WORKERS)
    (waiting,) = world.store.state.run_timers.values()
    assert (waiting.attempt, waiting.timeout_seconds) == (1, TWO_HOURS)


def test_one_that_is_lowered_takes_it_away_from_them() -> None:
    world = LongWorkshop()
    held = world.timer()
    described = world.store.get_definition(held.tenant, held.schedule_id, held.version)
    spec = replace(described.spec, policies=replace(world.policies, timeout_seconds=60))
    now, about = world.clock.now(), {"change_id": "edit", "author": "ada", "reason": ""}
    after, lowered, _, _ = edited(held, described, spec, now=now, **about)
    world.store.commit([UpdateTimer(after, held), InsertDefinition(lowered)])
    begun(world)
    (waiting,) = world.store.state.run_timers.values()
    assert (waiting.attempt, waiting.timeout_seconds) == (1, 60)
    assert world.job.calls == []


def test_whoever_asks_for_a_long_run_it_goes_to_the_long_workers() -> None:
    world = LongWorkshop()
    assert world.message.queue == LONG_QUEUE
    key = replace(world.message.key, cause="backfill-o1")
    assert replace(world.message, key=key).queue == LONG_QUEUE


# --- the books -------------------------------------------------------------------------------------------------


def claimed(schedules: int = 1) -> World:
    world = World(TWO)
    for number in range(schedules):
        one = timer(cron("0 2 * * *"), TWO, schedule_id=f"job-{number:04}", timeout_seconds=TWO_HOURS)
        world.add(one)
    world.tick()
    return world


def start(world, message, owner="worker"):
    row = world.store.get_run(message.key)
    decision = decide_start(row, message, owner, world.clock.now())
    assert isinstance(decision, Start)
    store = world.store
    assert (store.insert_run(decision.run) if row is None else store.replace_run(decision.run)) is None
    return decision.run


def keep_ticking(world, milliseconds):
    world.clock.advance(milliseconds)
    world.tick()


def renew(world, message):
    row = world.store.get_run(message.key)
    until = world.clock.now() + SHORT_LEASE_SECONDS * SECOND
    assert world.store.replace_run(row.moved(RunStatus.RUNNING, lease_until=until)) is None


def test_the_books_carry_a_run_of_hours_and_a_dead_worker_is_found_within_its_lease_and_a_minute() -> None:
    world = claimed()
    (sent,) = world.run_queue.tier(LONG_QUEUE).bodies()
    world.run_queue.tier(LONG_QUEUE).lose(lambda _: True)
    start(world, sent)
    for _ in range(90):
        keep_ticking(world, MINUTE)
        renew(world, sent)
        report = world.sweep()
        assert (report.open, report.revived, report.resent) == (1, 0, 0)
    died_at = world.clock.now()
    while not world.run_queue.tier(LONG_QUEUE).bodies():
        keep_ticking(world, MINUTE)
        world.sweep()
    assert world.clock.now() - died_at <= (SHORT_LEASE_SECONDS + 60) * SECOND
    (copy,) = world.run_queue.tier(LONG_QUEUE).bodies()
    again = start(world, copy, "another")
    assert [attempt.outcome for attempt in again.attempts] == [Outcome.LOST, None]


def test_a_long_run_whose_worker_died_does_not_fill_the_queue_while_all_others_are_busy() -> None:
    world = claimed()
    queue = world.run_queue.tier(LONG_QUEUE)
    (sent,) = queue.bodies()
    queue.lose(lambda _: True)
    start(world, sent)
    for _ in range(4 * 60):
        keep_ticking(world, MINUTE)
        world.sweep()
    assert len(queue.bodies()) <= 3 + 4 * 60 // 20 + 1
    queue.lose(lambda _: True)
    for _ in range(25):
        keep_ticking(world, MINUTE)
        world.sweep()
    assert queue.bodies(), "but what the queue lost comes again"


def test_a_long_run_that_waits_while_others_go_on_is_slow_and_not_lost() -> None:
    world = claimed(2)
    queue = world.run_queue.tier(LONG_QUEUE)
    one, _ = queue.bodies()
    start(world, one)
    queue.lose(lambda message: message == one)
    minutes = 0
    while len(queue.bodies()) == 1 and minutes < 120:
        keep_ticking(world, MINUTE)
        renew(world, one)
        world.sweep()
        minutes += 1
    assert minutes * MINUTE >= LONG_PATIENCE, "its worker may be busy for hours"
    assert minutes < 75, "but what the queue lost comes again"


def test_long_runs_that_go_on_keep_the_books_from_no_other() -> None:
    world = World(TWO)
    many = MAX_OPEN_BATCHES + 20
    for number in range(many):
        at = TWO + number * 5 * SECOND
        world.add(timer(cron("0 2 * * *"), at, schedule_id=f"long-{number:04}", timeout_seconds=TWO_HOURS))
    world.tick()
    for _ in range(many):
        keep_ticking(world, 5 * SECOND)
    world.add(timer(cron("0 2 * * *"), world.clock.now() + 5 * SECOND, schedule_id="short"))
    keep_ticking(world, 5 * SECOND)
    (short,) = world.run_queue.tier("standard").bodies()
    start(world, short)
    world.run_queue.tier("standard").lose(lambda _: True)
    keep_ticking(world, 80 * SECOND)
    report = world.sweep()
    assert report.open > MAX_OPEN_BATCHES
    assert report.revived == 1, "an ordinary run whose worker died is found all the same"
