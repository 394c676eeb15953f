"""What every queue promises: all that was accepted arrives, not before its delay, at least once."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
import time_machine

from cronfleet.adapters.memory.queues import MemoryRunQueue, MemoryTickQueue
from cronfleet.adapters.sqs.messages import decode_run, decode_tick
from cronfleet.adapters.sqs.queues import TICKS
from cronfleet.adapters.sqs.run_queue import SqsRunQueue
from cronfleet.adapters.sqs.tick_queue import SqsTickQueue
from cronfleet.domain.instant import SECOND
from cronfleet.domain.run import RunMessage
from cronfleet.ports.queues import DelayedMessage, Tick
from tests.support.builders import message
from tests.support.emulator import client
from tests.support.moto import mocked_aws
from tests.support.settable_clock import NOON, SettableClock
from tests.support.tables import create_queues


@dataclass
class Queues:
    """Queues under test, and how to poll them and to let time go by."""

    runs: Any
    ticks: Any
    poll_runs: Callable[[str], list[RunMessage]]
    poll_ticks: Callable[[], list[Tick]]
    advance: Callable[[int], object]


def memory_queues() -> Queues:
    clock = SettableClock()
    runs, ticks = MemoryRunQueue(clock), MemoryTickQueue(clock)

    def poll_runs(tier: str) -> list[RunMessage]:
        return [received.body for received in runs.tier(tier).receive(1_000)]

    return Queues(runs, ticks, poll_runs, lambda: [one.body for one in ticks.queue.receive(1_000)], clock.advance)


def sqs_queues(sqs: Any, prefix: str, advance: Callable[[int], object]) -> Queues:
    urls = create_queues(sqs, prefix)
    tiers = {tier: urls[f"runs-{tier}"] for tier in ("standard", "priority")}

    def poll(url: str) -> list[str]:
        bodies: list[str] = []
        while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
            bodies += [one["Body"] for one in found]
        return bodies

    return Queues(
        SqsRunQueue(sqs, tiers),
        SqsTickQueue(sqs, urls[TICKS.name]),
        lambda tier: [decode_run(body) for body in poll(tiers[tier])],
        lambda: [decode_tick(body) for body in poll(urls[TICKS.name])],
        advance,
    )


@pytest.fixture(params=["memory", "moto"])
def queues(request: pytest.FixtureRequest) -> Iterator[Queues]:
    """Queues whose time a test can move."""
    with ExitStack() as stack:
        if request.param == "memory":
            yield memory_queues()
            return
        stack.enter_context(mocked_aws())
        traveller = stack.enter_context(time_machine.travel(NOON / SECOND, tick=False))
        yield sqs_queues(boto3.client("sqs"), "moto", lambda ms: traveller.shift(ms / SECOND))


@pytest.fixture(params=["memory", "moto", pytest.param("emulator", marks=pytest.mark.emulator)])
def standing_queues(request: pytest.FixtureRequest) -> Iterator[Queues]:
    """Queues on every engine, for what needs no time to go by."""
    if request.param == "emulator":
        sqs = client("sqs", request.getfixturevalue("emulator_endpoint"))
        yield sqs_queues(sqs, f"contract-{request.node.originalname[-40:].replace('_', '-')}", lambda _: None)
    elif request.param == "memory":
        yield memory_queues()
    else:
        with mocked_aws():
            yield sqs_queues(boto3.client("sqs"), "moto", lambda _: None)


def run_message(number: int, **changes: Any) -> RunMessage:
    return message(NOON + number * SECOND, **changes)


def test_all_that_was_sent_arrives_once_in_its_tiers_queue(standing_queues: Queues) -> None:
    sent = [run_message(number, tier="priority" if number % 3 else "standard") for number in range(25)]
    assert not standing_queues.runs.send([DelayedMessage(one, 0) for one in sent])
    standard, priority = standing_queues.poll_runs("standard"), standing_queues.poll_runs("priority")
    assert sorted(standard, key=lambda one: one.due_at) == [one for one in sent if one.tier == "standard"]
    assert sorted(priority, key=lambda one: one.due_at) == [one for one in sent if one.tier == "priority"]


def test_ticks_arrive_as_they_were_sent(standing_queues: Queues) -> None:
    sent = [Tick(shard, NOON + slot * 5 * SECOND) for shard in range(4) for slot in range(6)]
    assert not standing_queues.ticks.send([(tick, 0) for tick in sent])
    assert sorted(standing_queues.poll_ticks(), key=lambda tick: (tick.shard, tick.slot_at)) == sent


def test_sending_nothing_is_no_error(standing_queues: Queues) -> None:
    assert not standing_queues.runs.send([])
    assert not standing_queues.ticks.send([])
    assert standing_queues.poll_ticks() == []


def test_a_delayed_message_is_not_received_before_its_time(queues: Queues) -> None:
    now, soon, late = run_message(0), run_message(1), run_message(900)
    assert not queues.runs.send([DelayedMessage(late, 900), DelayedMessage(now, 0), DelayedMessage(soon, 1)])
    assert queues.poll_runs("standard") == [now]
    queues.advance(SECOND)
    assert queues.poll_runs("standard") == [soon]
    queues.advance(898 * SECOND)
    assert queues.poll_runs("standard") == []
    queues.advance(SECOND)
    assert queues.poll_runs("standard") == [late]


def test_a_delayed_tick_is_not_received_before_its_time(queues: Queues) -> None:
    ticks = [Tick(0, NOON + slot * 5 * SECOND) for slot in range(3)]
    assert not queues.ticks.send([(tick, 5 * number) for number, tick in enumerate(ticks)])
    for tick in ticks:
        assert queues.poll_ticks() == [tick]
        queues.advance(5 * SECOND)


def test_what_is_not_deleted_comes_again_when_its_visibility_ends(queues: Queues) -> None:
    queues.ticks.send([(Tick(0, NOON), 0)])
    assert queues.poll_ticks() == [Tick(0, NOON)]
    queues.advance((TICKS.visibility_seconds - 1) * SECOND)
    assert queues.poll_ticks() == []
    # moto hides it for the whole of the last millisecond, too.
    queues.advance(SECOND + 1)
    assert queues.poll_ticks() == [Tick(0, NOON)]
