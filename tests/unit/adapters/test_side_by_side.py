"""What `SideBySide` promises, on each of its adapters."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from cronfleet.adapters.memory.side_by_side import OneByOne
from cronfleet.adapters.system import side_by_side as side_by_side_threads
from cronfleet.adapters.system.side_by_side import Threads
from cronfleet.ports.side_by_side import MAX_IN_FLIGHT, SideBySide

PATIENCE_SECONDS = 20


class Boom(Exception):
    """What a call raises here."""


@pytest.fixture(params=[OneByOne, Threads], ids=["one by one", "threads"])
def side_by_side(request: pytest.FixtureRequest) -> SideBySide:
    made: SideBySide = request.param()
    return made


def raises(number: int) -> Any:
    raise Boom(number)


@pytest.mark.parametrize("count", [0, 1, 2, MAX_IN_FLIGHT, 3 * MAX_IN_FLIGHT + 1])
def test_the_answers_come_in_the_order_of_the_calls(side_by_side: SideBySide, count: int) -> None:
    assert side_by_side.run([partial(str, number) for number in range(count)]) == [str(n) for n in range(count)]


def test_of_several_that_raise_the_first_in_order_is_heard_and_all_others_are_made(side_by_side: SideBySide) -> None:
    made: list[int] = []
    calls: list[Callable[[], Any]] = [partial(made.append, number) for number in range(20)]
    calls[4], calls[11] = partial(raises, 4), partial(raises, 11)
    with pytest.raises(Boom, match=r"^4$"):
        side_by_side.run(calls)
    assert sorted(made) == [number for number in range(20) if number not in (4, 11)]


def test_a_single_call_that_raises_is_heard(side_by_side: SideBySide) -> None:
    with pytest.raises(Boom):
        side_by_side.run([partial(raises, 1)])


def test_after_an_error_it_goes_on_as_before(side_by_side: SideBySide) -> None:
    with pytest.raises(Boom):
        side_by_side.run([partial(raises, number) for number in range(20)])
    assert side_by_side.run([partial(str, number) for number in range(20)]) == [str(n) for n in range(20)]


def test_one_by_one_each_call_ends_before_the_next_begins() -> None:
    begun: list[int] = []
    OneByOne().run([partial(begun.append, number) for number in range(50)])
    assert begun == list(range(50))


# --- threads alone ---------------------------------------------------------------------------------------------


class Gate:
    """Calls that are under way until the test lets them go on, and how many there were at once."""

    def __init__(self) -> None:
        self.is_open = threading.Event()
        self.full = threading.Semaphore(0)
        self.most = self.ended = self._now = 0
        self._lock = threading.Lock()

    def call(self) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        self.full.release()
        assert self.is_open.wait(PATIENCE_SECONDS)
        with self._lock:
            self._now -= 1
            self.ended += 1


@contextmanager
def running(calls: list[Callable[[], Any]]) -> Iterator[list[BaseException | None]]:
    """`calls` in another thread: what is yielded has an entry once `run` has come back, with what it raised."""
    came_back: list[BaseException | None] = []

    def run() -> None:
        try:
            Threads().run(calls)
        except BaseException as error:
            came_back.append(error)
        else:
            came_back.append(None)

    thread = threading.Thread(target=run)
    thread.start()
    yield came_back
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


def test_as_many_threads_as_may_be_in_flight_really_are_and_never_more() -> None:
    gate = Gate()
    with running([gate.call] * (3 * MAX_IN_FLIGHT)):
        for _ in range(MAX_IN_FLIGHT):
            assert gate.full.acquire(timeout=PATIENCE_SECONDS)
        gate.is_open.set()
    assert (gate.most, gate.ended) == (MAX_IN_FLIGHT, 3 * MAX_IN_FLIGHT)


def test_threads_begin_calls_in_their_order() -> None:
    gate, begun = Gate(), list[int]()

    def call(number: int) -> None:
        begun.append(number)
        gate.call()

    with running([partial(call, number) for number in range(2 * MAX_IN_FLIGHT)]):
        for _ in range(MAX_IN_FLIGHT):
            assert gate.full.acquire(timeout=PATIENCE_SECONDS)
        assert sorted(begun) == list(range(MAX_IN_FLIGHT))
        gate.is_open.set()


def test_one_that_raises_early_is_not_heard_before_the_last_has_ended() -> None:
    gate = Gate()
    with running([partial(raises, 0), *[gate.call] * 3]) as came_back:
        for _ in range(3):
            assert gate.full.acquire(timeout=PATIENCE_SECONDS)
        assert came_back == []
        gate.is_open.set()
    assert isinstance(came_back[0], Boom)
    assert gate.ended == 3


def test_where_there_is_no_thread_for_one_more_all_that_began_have_ended_before_that_is_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate, pool = Gate(), side_by_side_threads._pool()
    submit = pool.submit

    def begin(call: Callable[[], Any]) -> Any:
        if call is raises:
            raise RuntimeError("can't start new thread")
        return submit(call)

    monkeypatch.setattr(pool, "submit", begin)
    with running([gate.call, gate.call, raises]) as came_back:
        for _ in range(2):
            assert gate.full.acquire(timeout=PATIENCE_SECONDS)
        assert came_back == []
        gate.is_open.set()
    assert isinstance(came_back[0], RuntimeError)
    assert gate.ended == 2


def test_two_services_of_a_process_share_its_threads() -> None:
    gate = Gate()
    with running([gate.call] * MAX_IN_FLIGHT), running([gate.call] * MAX_IN_FLIGHT):
        for _ in range(MAX_IN_FLIGHT):
            assert gate.full.acquire(timeout=PATIENCE_SECONDS)
        gate.is_open.set()
    assert (gate.most, gate.ended) == (MAX_IN_FLIGHT, 2 * MAX_IN_FLIGHT)


def test_a_single_call_is_made_by_whoever_asked_for_it() -> None:
    assert Threads().run([threading.current_thread]) == [threading.current_thread()]
