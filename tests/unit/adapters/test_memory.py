"""What only the adapters in memory can do: the misfortunes that a test or a simulator asks for."""

import pytest

from cronfleet.adapters.memory.due_index import DueIndex
from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.adapters.memory.queues import MemoryQueue
from cronfleet.domain.claim import BatchId, ClaimOutcome
from cronfleet.domain.instant import SECOND
from cronfleet.ports.job_store import CreateTimer, NoAnswer
from tests.support.examples import claim_of, waiting
from tests.support.faults import Crash, FaultAt, FaultyQueue, FaultyStore
from tests.support.settable_clock import NOON, SettableClock

BATCH = BatchId(0, 1, 1)


def queue(clock: SettableClock) -> MemoryQueue[str]:
    return MemoryQueue(clock, visibility_seconds=30, max_receive_count=2)


def test_a_message_comes_again_until_it_is_deleted_and_then_never() -> None:
    clock = SettableClock()
    one = queue(clock)
    one.put("a", 0)
    (received,) = one.receive()
    clock.advance(30 * SECOND)
    (again,) = one.receive()
    assert (received.receive_count, again.receive_count) == (1, 2)
    one.delete(again.receipt)
    one.delete(again.receipt)
    clock.advance(30 * SECOND)
    assert one.receive() == []
    assert one.dead == []


def test_a_message_that_is_received_too_often_is_dead() -> None:
    clock = SettableClock()
    one = queue(clock)
    one.put("poison", 0)
    for _ in range(3):
        one.receive()
        clock.advance(30 * SECOND)
    assert one.dead == ["poison"]
    assert len(one) == 0


def test_a_message_that_is_given_back_comes_at_once() -> None:
    one = queue(SettableClock())
    one.put("a", 0)
    (received,) = one.receive()
    assert one.receive() == []
    one.give_back(received.receipt)
    assert [again.body for again in one.receive()] == ["a"]


def test_a_queue_may_deliver_twice_refuse_and_lose() -> None:
    clock = SettableClock()
    one = MemoryQueue[str](clock, 30, accepts=lambda body: body != "refused", copies=lambda body: 2)
    assert one.put("twice", 5)
    assert not one.put("refused", 0)
    assert one.next_visible_at() == NOON + 5_000
    clock.advance(5 * SECOND)
    assert [received.body for received in one.receive()] == ["twice", "twice"]
    assert one.lose(lambda body: body == "twice") == 2
    assert one.next_visible_at() is None


@pytest.mark.parametrize("delay", [-1, 901])
def test_a_delay_that_sqs_would_not_take_is_a_mistake(delay: int) -> None:
    with pytest.raises(ValueError, match=str(delay)):
        queue(SettableClock()).put("a", delay)


class Lagging(DueIndex):
    """Never hears that anything left it."""

    def remove(self, key: tuple[str, str]) -> None:
        return


def test_an_index_that_lags_shows_what_is_gone_and_the_claim_is_lost() -> None:
    store = MemoryJobStore(SettableClock(), Lagging())
    store.commit([CreateTimer(waiting())])
    claim = claim_of(waiting(), following=None)
    assert store.claim(BATCH, [claim]) == [ClaimOutcome.WON]
    (stale,) = store.due(0, NOON, None, 10).items
    assert stale.due_at == NOON
    assert store.claim(BatchId(0, 1, 2), [claim]) == [ClaimOutcome.LOST]


def test_a_fault_hits_before_or_after_any_single_call() -> None:
    store = MemoryJobStore(SettableClock())
    timers = [waiting("a"), waiting("b")]
    counting = FaultAt(None)
    FaultyStore(store, counting).commit([CreateTimer(timer) for timer in timers])
    FaultyStore(store, counting).claim(BATCH, [])
    assert counting.moments == [("before", "commit"), ("after", "commit")]
    lost_reply = FaultyStore(store, FaultAt(1, NoAnswer))
    outcomes = lost_reply.claim(BATCH, [claim_of(timer) for timer in timers])
    assert outcomes == [ClaimOutcome.UNANSWERED, ClaimOutcome.WON]
    assert store.claim(BATCH, [claim_of(timers[0])]) == [ClaimOutcome.WON], "it was done, only its reply was lost"
    with pytest.raises(Crash):
        FaultyStore(store, FaultAt(0)).get_timer("acme", "a")


def test_a_send_without_a_reply_counts_as_unsent() -> None:
    class Sent:
        def send(self, messages: list[str]) -> list[str]:
            return []

    assert FaultyQueue(Sent(), FaultAt(1, NoAnswer)).send(["a"]) == ["a"]
    assert FaultyQueue(Sent(), FaultAt(None)).send(["a"]) == []
