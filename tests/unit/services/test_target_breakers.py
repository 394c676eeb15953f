"""Breakers of targets: a dead one costs a bounded number of attempts, and what is beside it nothing."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from cronfleet.domain.attempt import Result
from cronfleet.domain.breaker import (
    FAILURES,
    FIRST_COOLDOWN,
    LONGEST_COOLDOWN,
    LONGEST_WAIT,
    SPREAD,
    SUSPECTED,
    Breaker,
    State,
    asked,
    guarded,
)
from cronfleet.domain.gate import gate_of
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.reason import Code
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.run import Outcome, RunMessage, RunStatus
from cronfleet.domain.target import HandlerTarget, LambdaTarget, WebhookTarget
from cronfleet.ports.target import Call
from cronfleet.services.worker import Worker
from tests.support.builders import TENANT, cron, definition, message, timer
from tests.support.workshop import TIMEOUT_SECONDS, TWO, Workshop

DEAD, ALIVE = WebhookTarget("https://dead.example/hook"), WebhookTarget("https://alive.example/hook")
OF_DEAD = guarded(TENANT, DEAD)
RETRY = Retry(max_attempts=3, backoff=Backoff(BackoffKind.FIXED, 10, 10))


class Street(Workshop):
    """Many schedules, some of which call a webhook that is dead until it is not, served by one warm worker."""

    def __init__(self) -> None:
        super().__init__(self._called)
        self.is_dead = True
        self.calls: Counter[str] = Counter()
        self.warm = self.worker()

    def _called(self, call: Call) -> Result:
        url = call.target.url if isinstance(call.target, WebhookTarget) else ""
        self.calls[url] += 1
        if url == DEAD.url and self.is_dead:
            return Result(Outcome.FAILED, "connection refused")
        return Result(Outcome.SUCCEEDED)

    def worker(self, *args: object, **kwargs: object) -> Worker:
        return self.__dict__.get("warm") or super().worker()

    def due(self, name: str, target: WebhookTarget, at: int = TWO, **policies: object) -> RunMessage:
        """The message of a new schedule that calls `target`."""
        trigger = cron("0 2 * * *")
        described = definition(trigger, name, policies=replace(self.policies, retry=RETRY, **policies))
        described = replace(described, spec=replace(described.spec, target=target))
        self.add(timer(trigger, TWO + 24 * HOUR, schedule_id=name, shard=0, timeout_seconds=TIMEOUT_SECONDS), described)
        return message(at, schedule_id=name, timeout_seconds=TIMEOUT_SECONDS)

    def pass_time(self, span: int, step: int = 5 * SECOND) -> None:
        """Let time pass and serve what comes due."""
        for _ in range(span // step):
            self.clock.advance(step)
            self.wake_timers()

    def statuses(self, messages: list[RunMessage]) -> Counter[RunStatus]:
        rows = [self.row(one.key) for one in messages]
        return Counter(row.status for row in rows if row is not None)

    @property
    def breaker(self) -> Breaker:
        found: Breaker = self.store.get_breaker(OF_DEAD)
        return found


def test_a_thousand_schedules_on_one_dead_webhook_cost_a_bounded_number_of_attempts_and_neighbours_nothing() -> None:
    street = Street()
    dead = [street.due(f"dead-{number}", DEAD) for number in range(1_000)]
    alive = [street.due(f"alive-{number}", ALIVE) for number in range(20)]
    for one in dead:
        street.deliver(one)
    assert street.calls[DEAD.url] == FAILURES
    for one in alive:
        street.deliver(one)
    assert street.statuses(alive) == {RunStatus.SUCCEEDED: 20}
    street.pass_time(10 * MINUTE)
    probes = street.calls[DEAD.url] - FAILURES
    assert 3 <= probes <= 6, "one now and then"
    assert street.statuses(dead)[RunStatus.WAITING] >= 990
    assert street.breaker.state is State.OPEN
    # It comes back: all of them run, and none has lost an attempt to waiting.
    street.is_dead = False
    street.pass_time(15 * MINUTE)
    assert street.statuses(dead) == {RunStatus.SUCCEEDED: 1_000}
    assert street.breaker.state is State.CLOSED
    assert street.calls[DEAD.url] == FAILURES + probes + 1_000
    assert not street.store.state.sheets[next(iter(street.store.state.sheets))].notices


def test_what_waits_for_a_broken_target_is_no_lag_of_ours_however_often_it_comes_back() -> None:
    street = Street()
    dead = [street.due(f"dead-{number}", DEAD) for number in range(FAILURES + 20)]
    for one in dead:
        street.deliver(one)
    street.pass_time(10 * MINUTE)
    lags = street.notes.measures["lag"]
    assert len(lags) == len(dead), "each once, when a worker first took it"
    assert max(lags) < 1


def test_slow_start_lets_two_go_then_four_and_closes_in_the_end() -> None:
    street = Street()
    dead = [street.due(f"dead-{number}", DEAD) for number in range(300)]
    for one in dead:
        street.deliver(one)
    street.is_dead = False
    before, seen = street.calls[DEAD.url], list[int]()
    for _ in range(60):
        street.clock.advance(5 * SECOND)
        street.wake_timers()
        seen.append(street.calls[DEAD.url] - before)
        before = street.calls[DEAD.url]
    rising = [number for number in seen if number]
    assert rising[0] == 3, "the probe, and the two that may go after it"
    assert all(later <= 2 * number + 2 for number, later in pairwise(rising)), rising
    assert street.statuses(dead) == {RunStatus.SUCCEEDED: 300}


def test_an_attempt_that_waits_is_not_used_up_and_says_why() -> None:
    street = Street()
    for number in range(FAILURES):
        street.deliver(street.due(f"dead-{number}", DEAD))
    late = street.due("late", DEAD)
    street.deliver(late)
    row = street.row(late.key)
    assert row is not None
    assert (row.status, row.attempt) == (RunStatus.WAITING, 0)
    assert row.reason is not None
    assert row.reason.code is Code.BREAKER
    assert row.reason.detail["breaker"] == OF_DEAD.breaker_id
    assert row.retry_at is not None
    wait = row.retry_at - street.clock.now()
    assert FIRST_COOLDOWN <= wait <= FIRST_COOLDOWN + SPREAD + SECOND


@pytest.mark.parametrize(("overlap", "key"), [(Overlap.ALLOW, "warehouse"), (Overlap.SKIP, "")])
def test_a_run_that_has_got_into_its_gate_and_finds_a_probe_under_way_does_not_keep_the_gate(
    overlap: Overlap, key: str
) -> None:
    street = Street()
    for number in range(FAILURES):
        street.deliver(street.due(f"dead-{number}", DEAD))
    street.clock.advance(FIRST_COOLDOWN + SECOND)
    probed = asked(street.breaker, "somebody#1", street.clock.now()).breaker
    street.store.put_breaker(replace(probed, rev=probed.rev + 1, change_id="probe"))
    late = street.due("late", DEAD, overlap=overlap, concurrency_key=key)
    at_gate = replace(street.timer("late"), overlap=overlap, concurrency_key=key)
    street.store.state.timers[(TENANT, "late")] = at_gate
    street.deliver(late)
    assert street.statuses([late]) == {RunStatus.WAITING: 1}
    name = gate_of(at_gate)
    assert name is not None
    assert not street.store.get_gate(name).is_held


def test_a_run_waits_an_hour_for_each_attempt_at_most_and_is_dead_then() -> None:
    street = Street()
    for number in range(FAILURES):
        street.deliver(street.due(f"dead-{number}", DEAD))
    waits = [street.due(f"late-{number}", DEAD) for number in range(20)]
    for one in waits:
        street.deliver(one)
    street.pass_time(LONGEST_WAIT + LONGEST_COOLDOWN + MINUTE, 20 * SECOND)
    assert street.statuses(waits)[RunStatus.DEAD] >= 10, "all but those that were probes"
    street.pass_time(3 * LONGEST_WAIT, MINUTE)
    assert street.statuses(waits) == {RunStatus.DEAD: 20}
    given_up = [row for one in waits if (row := street.row(one.key)) is not None and row.reason is not None]
    assert len([row for row in given_up if row.reason is not None and row.reason.code is Code.BREAKER]) >= 10
    assert street.calls[DEAD.url] <= FAILURES + 50, "the probes"


def test_a_success_is_told_of_only_where_the_target_is_suspected_and_one_is_enough() -> None:
    street = Street()
    for number in range(SUSPECTED - 1):
        street.deliver(street.due(f"dead-{number}", DEAD))
    street.is_dead = False
    street.deliver(street.due("well", DEAD))
    assert street.breaker.failures == SUSPECTED - 1, "nobody has asked for successes yet"
    street.is_dead = True
    street.deliver(street.due("another", DEAD))
    assert street.breaker.is_suspected
    street.is_dead = False
    street.deliver(street.due("better", DEAD))
    assert (street.breaker.failures, street.breaker.is_suspected) == (0, False)
    assert street.warm._breakers._board.breaker(OF_DEAD.notice) is None


def test_failures_far_apart_are_not_in_a_row() -> None:
    street = Street()
    for number in range(3 * FAILURES):
        street.deliver(street.due(f"dead-{number}", DEAD, at=street.clock.now()))
        street.clock.advance(11 * MINUTE)
    assert street.breaker.state is State.CLOSED
    assert street.breaker.failures == 1


def test_a_probe_whose_worker_died_is_followed_by_another_and_a_forgotten_breaker_is_closed() -> None:
    street = Street()
    for number in range(FAILURES):
        street.deliver(street.due(f"dead-{number}", DEAD))
    street.store.state.run_timers.clear()
    street.clock.advance(2 * MINUTE)
    lost = replace(street.breaker, state=State.PROBING, probe="gone#1", try_at=street.clock.now() + 15 * MINUTE)
    assert street.store.put_breaker(replace(lost, rev=lost.rev + 1))
    waits = street.due("waits", DEAD, at=street.clock.now())
    street.deliver(waits)
    assert street.statuses([waits]) == {RunStatus.WAITING: 1}
    street.is_dead = False
    street.pass_time(17 * MINUTE)
    assert street.statuses([waits]) == {RunStatus.SUCCEEDED: 1}


def test_a_schedule_that_wants_no_breaker_is_neither_counted_nor_held_back() -> None:
    street = Street()
    for number in range(FAILURES):
        street.deliver(street.due(f"own-{number}", DEAD, target_breaker=False))
    assert street.breaker.failures == 0
    for number in range(FAILURES):
        street.deliver(street.due(f"dead-{number}", DEAD))
    before = street.calls[DEAD.url]
    street.deliver(street.due("own", DEAD, target_breaker=False))
    assert street.calls[DEAD.url] == before + 1


def test_an_ordinary_run_and_its_success_read_and_write_nothing_for_breakers() -> None:
    street = Street()
    street.deliver(street.due("alive", ALIVE))
    assert street.store.state.breakers == {}
    assert street.store.state.sheets == {}


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (WebhookTarget("https://Example.com:8443/a/b?token=secret#x"), "https://example.com:8443/a/b"),
        (WebhookTarget("https://user:secret@example.com"), "https://example.com/"),
        (LambdaTarget("cronfleet-target-x:live"), "cronfleet-target-x:live"),
        (HandlerTarget("billing.nightly", (("KEY", "ref"),)), "billing.nightly"),
    ],
)
def test_a_breaker_is_known_by_what_it_guards_without_query_or_secret(target: object, name: str) -> None:
    one = guarded(TENANT, target)  # type: ignore[arg-type]  # each is a target
    assert one.name == name
    assert one.breaker_id != guarded(TENANT, DEAD).breaker_id
    assert one.notice.startswith(f"{TENANT}~")
