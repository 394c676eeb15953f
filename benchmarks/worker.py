"""What a run costs the worker from its message to its end, on the emulator, which this starts by itself.

    python -m benchmarks.worker

The real worker function takes a message for each run, as Lambda hands it on, with the adapters and clients of an
installation: it starts the run, reads its definition, calls the job and finishes it. Once the job is a Python handler
that does nothing, in a child process as on Lambda, and once nothing is called at all, which leaves what is ours. CPU is
the worker's alone; the yardstick is as many bare requests by the same client. `benchmarks.worker_overhead` looks at the
child process by itself.
"""

import json
import os
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from benchmarks.figures import Figure, report
from benchmarks.metering.chain import Targets, succeeds
from benchmarks.one_tick import Counted
from cronfleet import bootstrap, settings
from cronfleet.adapters.dynamodb import job_store
from cronfleet.adapters.system.clock import SystemClock
from cronfleet.adapters.targets import targets
from cronfleet.domain.instant import SECOND, floor_second
from cronfleet.domain.run import RunMessage
from cronfleet.domain.target import HandlerTarget
from cronfleet.ports.job_store import CreateTimer, InsertDefinition
from cronfleet.sdk import Context, handler
from cronfleet.services.worker import Worker
from local import surroundings
from tests.support.builders import cron, definition, message, timer
from tests.support.emulator import client, emulator
from tests.support.tables import create_queues, create_tables

RUNS: Final = 150
REQUESTS: Final = 300
WARMING_UP: Final = 10
PREFIX: Final = "benchmark"
HANDLER: Final = "benchmark.nothing"
HANDLERS_PACKAGE: Final = "functions.worker.handlers"


@handler(HANDLER)
def nothing(_context: Context, _payload: Any) -> None:
    """Returns."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a run took on average: CPU seconds of the worker and of its child, requests, and seconds by the clock."""

    cpu: float
    child: float
    requests: float
    clock: float


@contextmanager
def installation() -> Iterator[None]:
    """Tables and queues on an emulator, and the environment of a worker function."""
    with tempfile.TemporaryDirectory() as folder, emulator(Path(folder)) as endpoint:
        create_tables(client("dynamodb", endpoint), PREFIX)
        urls = create_queues(client("sqs", endpoint), PREFIX)
        run_queues = {tier: urls[f"runs-{tier}"] for tier in settings.RUN_QUEUES}
        environment = {settings.TABLE_PREFIX: PREFIX, settings.RUN_QUEUE_URLS: json.dumps(run_queues)}
        # What a worker says of itself and of its runs is written, as on Lambda, and nobody reads it.
        with (
            patch.dict(os.environ, {**surroundings.aws(endpoint), **environment}),
            Path(os.devnull).open("w") as nowhere,
            redirect_stdout(nowhere),
        ):
            yield


@contextmanager
def counted_clients() -> Iterator[Sequence[Counted]]:
    """The clients that a worker will be built with."""
    clients = (Counted(bootstrap.dynamodb_client()), Counted(bootstrap.sqs_client()))
    with (
        patch.object(bootstrap, "dynamodb_client", lambda: clients[0]),
        patch.object(bootstrap, "sqs_client", lambda: clients[1]),
    ):
        yield clients


def run(name: str, target: Targets | None = None) -> Taken:
    """Runs of schedules called `name`…; with `target` that is called and no job."""
    with ExitStack() as stack:
        clients = stack.enter_context(counted_clients())
        if target is not None:
            stack.enter_context(patch.object(targets, "AllTargets", lambda **_: target))
        found = settings.from_environment(settings.RUN_QUEUE_URLS)
        worker = bootstrap.worker(found, HANDLERS_PACKAGE)
        messages = _registered(bootstrap._store(found), name)  # noqa: SLF001 - with the clients of an installation
        _handled(worker, messages[:WARMING_UP])
        for one in clients:
            one.calls = 0
        before, began, begin = _children(), time.process_time(), time.perf_counter()
        _handled(worker, messages[WARMING_UP:])
        clock, cpu, child = time.perf_counter() - begin, time.process_time() - began, _children() - before
        calls = sum(one.calls for one in clients)
        return Taken(cpu / RUNS, child / RUNS, calls / RUNS, clock / RUNS)


def _registered(store: job_store.DynamoJobStore, name: str) -> list[RunMessage]:
    """Schedules whose fire was claimed, and the messages of their runs."""
    due_at = floor_second(SystemClock().now()) - SECOND
    messages = []
    for number in range(RUNS + WARMING_UP):
        schedule_id, trigger = f"{name}-{number:05}", cron("* * * * *")
        described = definition(trigger, schedule_id)
        spec = replace(described.spec, target=HandlerTarget(HANDLER))
        waiting = timer(trigger, due_at, schedule_id=schedule_id)
        store.commit([CreateTimer(waiting), InsertDefinition(replace(described, spec=spec))])
        messages.append(message(due_at, schedule_id=schedule_id))
    return messages


def _handled(worker: Worker, messages: Sequence[RunMessage]) -> None:
    for one in messages:
        worker.handle(one)


def _children() -> float:
    """CPU seconds of the children that are over."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def bare() -> float:
    """CPU seconds of a request by such a client that decides nothing: the smallest, the read of an item."""
    asked = bootstrap.dynamodb_client()
    key = {"pk": {"S": "nobody#nothing"}, "sk": {"S": "TIMER"}}
    began = 0.0
    for number in range(REQUESTS + WARMING_UP):
        if number == WARMING_UP:
            began = time.process_time()
        asked.get_item(TableName=f"{PREFIX}-schedules", Key=key)
    return (time.process_time() - began) / REQUESTS


def figures() -> Iterator[Figure]:
    """With a job and without one."""
    with installation():
        request = bare()
        alone, whole = run("alone", Targets(succeeds)), run("whole")
    yield Figure(
        "Worker",
        "a run from its message to its end, nothing called",
        f"{_ms(alone.cpu)} of CPU, {alone.requests:.1f} requests, {_ms(alone.clock)} by the clock",
        f"{alone.cpu / (alone.requests * request):.2f} of as many bare reads",
    )
    yield Figure(
        "Worker",
        "the same with a Python job that does nothing, in a child process",
        f"{_ms(whole.cpu)} of CPU and {_ms(whole.child)} in the child, {whole.requests:.1f} requests, "
        f"{_ms(whole.clock)} by the clock",
        f"{(whole.cpu + whole.child) / alone.cpu:.1f} times that without",
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def main() -> None:
    """Print the figures."""
    report(*figures())


if __name__ == "__main__":
    main()
