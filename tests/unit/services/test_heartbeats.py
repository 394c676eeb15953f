"""Heartbeats: a ping is kept once or not at all, whoever dies, races or makes a new URL meanwhile."""

from typing import Any

import pytest

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.adapters.system.clock import SystemSecrets
from cronfleet.domain.errors import ClockSkewed, Contended, NotFound, RateLimited
from cronfleet.domain.heartbeat import (
    MAX_PINGS_PER_MINUTE,
    NAME_LENGTH,
    PingState,
    heartbeat_name,
    token_of,
)
from cronfleet.domain.instant import MINUTE
from cronfleet.domain.schedule import Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import NoAnswer
from cronfleet.services.access import Caller
from cronfleet.services.changing import Once
from cronfleet.services.heartbeats import Heartbeats, Report
from cronfleet.services.schedules import Schedules
from tests.support.builders import every
from tests.support.faults import Crash, Faulty
from tests.support.settable_clock import CountingIds, SettableClock

ACME = Caller(Tenant("acme"), "demo", "request-1")
HOURLY = Spec(every(3_600), HandlerTarget("billing.nightly"))
ONCE = Once("run-7", "digest")


class Installation:
    """A store with both services in front, and faults that a test sets off."""

    def __init__(self) -> None:
        self.clock = SettableClock()
        self.store = MemoryJobStore(self.clock)
        self.fault: Any = lambda when, name: None
        ids = CountingIds()
        faulty: Any = Faulty(self.store, self.hook)
        self.schedules = Schedules(store=self.store, clock=self.clock, ids=ids, shards=1)
        self.heartbeats = Heartbeats(store=faulty, clock=self.clock, ids=ids, secrets=SystemSecrets())
        self.schedules.create(ACME, "hourly", lambda *_: HOURLY, held=True, shadow=True)
        self.token = self.make()

    def hook(self, when: str, name: str) -> None:
        if name != "skew_ms":  # It asks this process alone.
            self.fault(when, name)

    def make(self) -> str:
        return str(self.heartbeats.make(ACME, "hourly").form["token"])

    def ping(self, once: Once | None = None, token: str | None = None, **report: Any) -> Any:
        return self.heartbeats.ping(token or self.token, Report(**report), once)

    @property
    def pings(self) -> list[Any]:
        return self.store.state.pings.get(heartbeat_name("acme", "hourly"), [])


def calls_of_a_ping(once: Once | None) -> int:
    here, heard = Installation(), list[str]()
    here.fault = lambda when, name: heard.append(f"{when} {name}")
    here.ping(once)
    return len(heard)


def nth(number: int, error: type[BaseException]) -> Any:
    """A hook that raises at the call of that number, and never again."""
    left = [number]

    def hook(_when: str, _name: str) -> None:
        left[0] -= 1
        if left[0] == -1:
            raise error

    return hook


@pytest.mark.parametrize("number", range(calls_of_a_ping(ONCE)))
def test_a_ping_whose_api_dies_anywhere_is_one_ping_when_it_is_sent_again_under_its_key(number: int) -> None:
    here = Installation()
    here.fault = nth(number, Crash)
    with pytest.raises(Crash):
        here.ping(ONCE)
    assert len(here.pings) <= 1
    first = here.ping(ONCE)
    assert here.ping(ONCE) == first
    assert len(here.pings) == 1


@pytest.mark.parametrize("number", range(calls_of_a_ping(None)))
def test_a_reply_that_is_lost_anywhere_makes_no_second_ping(number: int) -> None:
    here = Installation()
    here.fault = nth(number, NoAnswer)
    here.ping()
    assert len(here.pings) == 1


def test_a_store_that_stays_silent_is_not_taken_for_an_unknown_token() -> None:
    here = Installation()

    def silent(when: str, _name: str) -> None:
        if when == "before":
            raise NoAnswer

    here.fault = silent
    with pytest.raises(Contended):
        here.ping()


def test_two_pings_at_a_time_are_both_kept_and_counted() -> None:
    here = Installation()
    others = [1]

    def another_comes_first(when: str, name: str) -> None:
        if (when, name) == ("before", "commit") and others:
            others.pop()
            here.ping(state=PingState.START)

    here.fault = another_comes_first
    here.ping()
    assert [ping.state for ping in here.pings] == [PingState.START, PingState.SUCCESS]
    assert here.store.get_heartbeat(heartbeat_name("acme", "hourly")).pings == 2


def test_a_ping_that_a_new_url_overtakes_is_not_kept() -> None:
    here = Installation()
    others = [1]

    def a_new_one_is_made(when: str, name: str) -> None:
        if (when, name) == ("before", "commit") and others:
            others.pop()
            here.make()

    here.fault = a_new_one_is_made
    with pytest.raises(NotFound):
        here.ping()
    assert not here.pings


def test_a_key_that_another_url_has_used_is_this_ones_own() -> None:
    here = Installation()
    here.schedules.create(ACME, "other", lambda *_: HOURLY, held=True)
    other = str(here.heartbeats.make(ACME, "other").form["token"])
    here.ping(ONCE)
    here.ping(ONCE, token=other)
    assert [len(kept) for kept in here.store.state.pings.values()] == [1, 1]


def test_the_limit_is_of_a_minute_and_a_refused_ping_leaves_nothing() -> None:
    here = Installation()
    for _ in range(MAX_PINGS_PER_MINUTE):
        here.ping()
    with pytest.raises(RateLimited, match="240 times this minute"):
        here.ping()
    assert len(here.pings) == MAX_PINGS_PER_MINUTE
    here.clock.advance(MINUTE)
    here.ping()


def test_a_process_whose_clock_is_off_notes_no_ping() -> None:
    here = Installation()
    here.store.state.skew_ms = 3_600_000
    with pytest.raises(ClockSkewed):
        here.ping()
    assert not here.pings


def test_tokens_are_drawn_from_a_hundred_and_sixty_bits_behind_a_name_that_tells_nothing() -> None:
    here = Installation()
    tokens = {here.make() for _ in range(50)}
    assert len({token[NAME_LENGTH:] for token in tokens}) == 50
    assert {token[:NAME_LENGTH] for token in tokens} == {heartbeat_name("acme", "hourly")}
    lowest, highest = token_of("n" * 26, bytes(20)), token_of("n" * 26, bytes([255]) * 20)
    assert (lowest, highest) == ("n" * 26 + "0" * 32, "n" * 26 + "z" * 32)
    with pytest.raises(ValueError, match="20 bytes"):
        token_of("n" * 26, b"too short")
