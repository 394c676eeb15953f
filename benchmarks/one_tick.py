"""One tick of one shard by the real dispatcher, with the clients of an installation; `dispatcher_emulator` starts it.

    python -m benchmarks.one_tick 0

The environment is a dispatcher's. It says "ready" when it is, waits for a line, and says as JSON what the tick took.
"""

import json
import resource
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final
from unittest.mock import patch

from cronfleet import bootstrap, settings
from cronfleet.adapters.dynamodb import job_store
from cronfleet.domain.instant import DAY, MINUTE
from cronfleet.domain.lease import slot_of
from cronfleet.ports.queues import Tick
from tests.support.settable_clock import NOON, SettableClock

KILOBYTES: Final = 1_024


@dataclass(frozen=True, slots=True)
class Served:
    """What the dispatcher of one shard reports of its tick; times in seconds, memory in MB."""

    fires: int
    seconds: float
    cpu: float
    requests: int
    memory: float
    """At its highest."""


class Counted:
    """A client whose calls are counted."""

    def __init__(self, asked: Any) -> None:
        self._asked = asked
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._asked, name)
        if not callable(found):
            return found

        def call(**request: Any) -> Any:
            self.calls += 1
            return found(**request)

        return call


def serve(shard: int) -> None:
    """One tick of `shard`, once somebody says so; what it took goes to the output, as JSON.

    The clock of the services stands still: no tick ends for want of time, and the whole herd is one tick's.
    """
    clock = SettableClock(NOON - MINUTE)
    clients = [Counted(bootstrap.dynamodb_client()), Counted(bootstrap.sqs_client())]
    with ExitStack() as patched:
        for place, name, made in (
            (bootstrap, "SystemClock", clock),
            (bootstrap, "dynamodb_client", clients[0]),
            (bootstrap, "sqs_client", clients[1]),
        ):
            patched.enter_context(patch.object(place, name, lambda made=made: made))
        # By that clock the emulator's is wrong.
        patched.enter_context(patch.object(job_store.DynamoJobStore, "skew_ms", lambda _: 0))
        dispatcher = bootstrap.dispatcher(settings.from_environment(settings.RUN_QUEUE_URLS, settings.ERRAND_QUEUE_URL))
        # Nothing is due yet: a process that is warm has looked before.
        dispatcher.tick(Tick(shard, slot_of(clock.now())), clock.now() + DAY)
        clock.set(NOON)
        for one in clients:
            one.calls = 0
        print("ready", flush=True)
        sys.stdin.readline()
        begin, began = time.perf_counter(), time.process_time()
        fires = dispatcher.tick(Tick(shard, slot_of(NOON)), NOON + DAY).fires
        seconds, cpu, memory = time.perf_counter() - begin, time.process_time() - began, _peak_memory()
    calls = sum(one.calls for one in clients)
    print(json.dumps([fires, seconds, cpu, calls, memory]), flush=True)


def _peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILOBYTES


if __name__ == "__main__":
    serve(int(sys.argv[1]))
