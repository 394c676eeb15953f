"""Driver of Cronfleet itself: its dispatcher and its worker, as `bootstrap` builds them, on the emulator of AWS.

The scheduler is one process that serves every slot of every shard, as the tick queue would have it do. The worker is
two processes around the real worker; the handler is called in the process and not in a child of it, which would cost
each peer the same. Runs in the project's own environment.
"""

import contextlib
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unittest import mock

import urllib3

from benchmarks.peers.drivers import herd
from benchmarks.peers.drivers.cronfleet_queue import PREFIX, REQUESTS, client, queue, sent
from benchmarks.peers.drivers.herd import Order
from cronfleet import bootstrap, settings
from cronfleet.adapters.dynamodb.items.definitions import definition_item
from cronfleet.adapters.dynamodb.items.timers import timer_item
from cronfleet.adapters.dynamodb.schema import SCHEDULES
from cronfleet.domain.attempt import Result
from cronfleet.domain.instant import SECOND
from cronfleet.domain.lease import SLOT, slot_of
from cronfleet.domain.run import Outcome
from cronfleet.domain.shard import shard_of
from cronfleet.ports.queues import Tick
from cronfleet.ports.target import Call, Pulse
from cronfleet.services.worker import Worker
from cronfleet.settings import Settings
from local import surroundings
from tests.support.builders import cron, definition, timer
from tests.support.tables import create_queues, create_tables

TENANTS: Final = 20
SHARDS: Final = 2
WORKERS: Final = 2
RECEIVED_AT_ONCE: Final = 10
ITEMS_AT_ONCE: Final = 25
TICK_SECONDS: Final = 60
"""How long a tick may take: a function's time limit, less its margin."""


def _settings(order: Order) -> Settings:
    told = {
        settings.TABLE_PREFIX: PREFIX,
        settings.SHARDS: str(SHARDS),
        settings.RUN_QUEUE_URLS: json.dumps({name: queue(order, f"runs-{name}") for name in settings.RUN_QUEUES}),
        settings.ERRAND_QUEUE_URL: queue(order, "errands"),
        "AWS_REGION": surroundings.REGION,
    }
    return settings.from_environment(environment=told)


def set_up(order: Order) -> None:
    """Tables, queues, and the herd of 20 tenants, written as the API would have stored it."""
    dynamodb = client("dynamodb", order)
    create_tables(dynamodb, PREFIX)
    create_queues(client("sqs", order), PREFIX)
    puts = [{"PutRequest": {"Item": item}} for item in _items(order)]
    for first in range(0, len(puts), ITEMS_AT_ONCE):
        chunk = puts[first : first + ITEMS_AT_ONCE]
        dynamodb.batch_write_item(RequestItems={f"{PREFIX}-{SCHEDULES.name}": chunk})


def _items(order: Order) -> Iterator[Any]:
    for number, name in enumerate(order.names):
        tenant = f"customer-{number % TENANTS:03}"
        trigger = cron(order.expression(number))
        shard = shard_of(tenant, name, SHARDS)
        yield timer_item(timer(trigger, order.due * SECOND, tenant=tenant, schedule_id=name, shard=shard))
        yield definition_item(replace(definition(trigger, name), tenant=tenant))


@contextlib.contextmanager
def _counting(order: Order) -> Iterator[Callable[[], None]]:
    """Counts every request, whichever client makes it: all of them go through urllib3's pools."""
    urlopen: Any = urllib3.HTTPConnectionPool.urlopen
    made = itertools.count(1)
    last = [0]

    def counted(*arguments: Any, **named: Any) -> Any:
        last[0] = next(made)
        return urlopen(*arguments, **named)

    file = Path(order.record).with_name(f"{REQUESTS}{order.role}-{os.getpid()}")

    def tell() -> None:
        # Whoever reads it sees the old number or the new one.
        fresh = file.with_name(f"new-{file.name}")
        fresh.write_text(str(last[0]))
        fresh.replace(file)

    with mock.patch.object(urllib3.HTTPConnectionPool, "urlopen", counted):
        yield tell


def schedule(order: Order) -> None:
    """Serve every shard in every slot, for ever."""
    dispatcher = bootstrap.dispatcher(_settings(order))
    herd.ready()
    with _counting(order) as tell:
        while True:
            slot_at = slot_of(bootstrap.now())
            for shard in range(SHARDS):
                dispatcher.tick(Tick(shard, slot_at), bootstrap.now() + TICK_SECONDS * SECOND)
            tell()
            time.sleep(max(0, slot_at + SLOT - bootstrap.now()) / SECOND)


class _InProcess:
    """The target that records a call and succeeds."""

    def call(self, call: Call, pulse: Pulse) -> Result:  # noqa: ARG002 - a handler that does nothing tells nothing
        herd.handle(call.key.schedule_id)
        return Result(Outcome.SUCCEEDED)


def work(order: Order) -> None:
    """Run what was sent, for ever, in several processes."""
    for _ in range(WORKERS - 1):
        if os.fork() == 0:
            break
    else:
        herd.ready()
    built = bootstrap.worker(_settings(order), "functions.worker.handlers")
    with mock.patch.object(built, "_targets", _InProcess()), _counting(order) as tell:
        _poll(built, client("sqs", order), queue(order, "runs-standard"), tell)


def _poll(worker: Worker, sqs: Any, url: str, tell: Callable[[], None]) -> None:
    while True:
        tell()
        answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=RECEIVED_AT_ONCE, WaitTimeSeconds=1)
        messages = answer.get("Messages", [])
        for message in messages:
            worker.handle(bootstrap.run_message_of(message["Body"]))
        if messages:
            entries = [{"Id": str(at), "ReceiptHandle": one["ReceiptHandle"]} for at, one in enumerate(messages)]
            sqs.delete_message_batch(QueueUrl=url, Entries=entries)


def left(order: Order) -> None:
    """Timers that are still due, messages of the queue, and rows that are not finished."""
    pages = client("dynamodb", order).get_paginator("scan").paginate(TableName=f"{PREFIX}-{SCHEDULES.name}")
    timers = [item for page in pages for item in page["Items"] if item["sk"]["S"] == "TIMER"]
    due = [one["pk"]["S"].partition("#")[2] for one in timers if int(one["due_at"]["N"]) <= order.due * SECOND]
    waiting = sent(order)
    # A queue tells no names: as many as wait stand for those that did not run.
    ran = {line.partition(" ")[0] for line in Path(order.record).read_text().splitlines()}
    unheard = [name for name in order.names if name not in ran and name not in due]
    herd.say_open([*due, *unheard[:waiting]])


if __name__ == "__main__":
    herd.play({"setup": set_up, "scheduler": schedule, "worker": work, "left": left})
