"""What a herd costs the real dispatcher on a real server: the local stack's emulator, which this starts by itself.

    python -m benchmarks.dispatcher_emulator
    python -m benchmarks.dispatcher_emulator --firings 10000 --shards 8

Recurring schedules as people write them, all due in one second. A dispatcher for each shard, in a process of its own as
on Lambda, serves one tick, with the adapters and clients of an installation: once all in one shard and once over
several, and for comparison with claims one by one. CPU and memory are of the dispatchers alone. Firings a second are
mostly the emulator's, which is one process on the same cores; afterwards the queue must hold each firing once.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks import cron_mix
from benchmarks.figures import Figure, report
from benchmarks.one_tick import Served
from cronfleet import settings
from cronfleet.adapters.dynamodb.items.timers import timer_item
from cronfleet.domain.claiming import Claiming
from local import surroundings
from tests.support.builders import cron, timer
from tests.support.emulator import client, emulator
from tests.support.settable_clock import NOON
from tests.support.tables import create_queues, create_tables

FIRINGS: Final = 2_000
SHARDS: Final = 4
OF_A_TENANT: Final = 50
"""Schedules of each tenant in a shard: a herd comes from many."""

ITEMS_AT_ONCE: Final = 25
TIER: Final = "standard"


@dataclass(frozen=True, slots=True)
class Pass:
    """A herd that went through."""

    shards: int
    served: Sequence[Served]

    @property
    def fires(self) -> int:
        """All of them."""
        return sum(one.fires for one in self.served)

    @property
    def cpu(self) -> float:
        """CPU seconds of the dispatchers for a thousand firings."""
        return sum(one.cpu for one in self.served) / self.fires * 1_000

    @property
    def requests(self) -> float:
        """Requests for a firing."""
        return sum(one.requests for one in self.served) / self.fires

    @property
    def rate(self) -> float:
        """Firings a second, by the clock."""
        return self.fires / max(one.seconds for one in self.served)

    @property
    def memory(self) -> float:
        """MB that the largest had at its highest."""
        return max(one.memory for one in self.served)


def passed(endpoint: str, prefix: str, firings: int, shards: int, claiming: Claiming) -> Pass:
    """A herd of `firings` over `shards`, on tables and queues of its own. Raises `AssertionError` for a lost firing."""
    tables, queues = client("dynamodb", endpoint), client("sqs", endpoint)
    create_tables(tables, prefix)
    urls = create_queues(queues, prefix)
    _load(tables, prefix, firings, shards)
    served = _served(_environment(endpoint, prefix, urls, claiming), shards)
    sent = _waiting(queues, urls[f"runs-{TIER}"])
    assert (sum(one.fires for one in served), sent) == (firings, firings), f"{firings} were due, {sent} were sent"
    return Pass(shards, served)


def _load(tables: Any, prefix: str, firings: int, shards: int) -> None:
    items = list(_timers(firings, shards))
    for start in range(0, firings, ITEMS_AT_ONCE):
        puts = [{"PutRequest": {"Item": item}} for item in items[start : start + ITEMS_AT_ONCE]]
        answer = tables.batch_write_item(RequestItems={f"{prefix}-schedules": puts})
        assert not answer["UnprocessedItems"], "the emulator has not taken them all"


def _timers(firings: int, shards: int) -> Iterator[Mapping[str, Any]]:
    for number, written in enumerate(cron_mix.drawn(random.Random(1), firings)):
        tenant, name = f"customer-{number // shards // OF_A_TENANT:03}", f"nightly-billing-{number:06}"
        yield timer_item(timer(cron(*written), NOON, schedule_id=name, tenant=tenant, shard=number % shards))


def _environment(endpoint: str, prefix: str, urls: Mapping[str, str], claiming: Claiming) -> dict[str, str]:
    root = Path(__file__).parent.parent
    return {
        **surroundings.aws(endpoint),
        "PYTHONPATH": os.pathsep.join((str(root), str(root / "layers" / "core" / "python"))),
        "PYTHONTZPATH": "",
        settings.TABLE_PREFIX: prefix,
        settings.CLAIMS: claiming.value,
        settings.ERRAND_QUEUE_URL: urls["errands"],
        settings.RUN_QUEUE_URLS: json.dumps({tier: urls[f"runs-{tier}"] for tier in settings.RUN_QUEUES}),
    }


def _served(environment: Mapping[str, str], shards: int) -> list[Served]:
    """What the dispatchers of all shards report, which begin together once all are ready."""
    command = [sys.executable, "-m", "benchmarks.one_tick"]
    with ExitStack() as running:
        children = [
            running.enter_context(
                subprocess.Popen(
                    [*command, str(shard)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            )
            for shard in range(shards)
        ]
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n", "a dispatcher did not start"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        return [Served(*json.loads(_last_line(child))) for child in children]


def _last_line(child: subprocess.Popen[str]) -> str:
    """What else the dispatcher says are its metrics."""
    assert child.stdout is not None
    return child.stdout.read().splitlines()[-1]


def _waiting(queues: Any, url: str) -> int:
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed")
    said = queues.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(said[name]) for name in names)


def _figure(what: str, found: Pass, ratio: str = "") -> Figure:
    measured = (
        f"{found.cpu:.2f} s of CPU for 1,000 firings, {found.requests:.2f} requests each, {found.rate:,.0f} a second, "
        f"{found.memory:.0f} MB"
    )
    return Figure("Dispatcher", f"{found.fires:,} due in one second, on the emulator, {what}", measured, ratio)


def figures(firings: int, shards: int) -> Iterator[Figure]:
    """The herd in one shard, over several, and with claims one by one."""
    with tempfile.TemporaryDirectory() as folder, emulator(Path(folder)) as endpoint:
        single = passed(endpoint, "single", firings, 1, Claiming.SINGLE)
        one = passed(endpoint, "one", firings, 1, Claiming.BATCHED)
        several = passed(endpoint, "several", firings, shards, Claiming.BATCHED)
    requests = one.requests / single.requests
    compared = f"{one.cpu / single.cpu:.2f} of the CPU, {requests:.2f} of the requests of single claims"
    yield _figure("in one shard", one, compared)
    yield _figure(
        f"over {shards} shards, a process each", several, f"{several.cpu / single.cpu:.2f} of the CPU of single claims"
    )
    yield _figure("in one shard, with single claims", single)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dispatcher_emulator", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--firings", type=int, default=FIRINGS)
    parser.add_argument("--shards", type=int, default=SHARDS)
    asked = parser.parse_args()
    report(*figures(asked.firings, asked.shards))


if __name__ == "__main__":
    main()
