"""What a child process per attempt costs, and what several messages per invocation would change.

    python -m benchmarks.worker_overhead

Prints one line per figure. The process loads what the worker function loads on Lambda, since a fork copies the page
tables of what is there.
"""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import boto3

from benchmarks.figures import Figure, report
from cronfleet.adapters.system.clock import SystemClock
from cronfleet.adapters.targets.targets import AllTargets
from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_log import LogLine, LogPlace
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import Outcome, RunKey
from cronfleet.domain.target import HandlerTarget
from cronfleet.ports.target import Call, Receipt
from cronfleet.sdk import Context, handler

ROUNDS = 300
BATCH = 10
WORK_SECONDS = 0.2


class NoReceipts:
    """Says that everything is first, at once."""

    def record(
        self,
        _key: RunKey,
        _fence: int,
        _name: str,
        value: Any,
        _now: Instant,
        *,
        knows_of_cancel: bool = False,  # noqa: ARG002 - nobody asks here
    ) -> Receipt:
        return Receipt(first=True, value=value)


@handler("benchmark.nothing")
def nothing(_context: Context | None, _payload: Any) -> None:
    """Returns."""


@handler("benchmark.receipt")
def one_receipt(context: Context, _payload: Any) -> None:
    """One round to the parent and back."""
    context.receipt("done")


@handler("benchmark.sleep")
def sleep(_context: Context, payload: Any) -> None:
    """Waits, as a job that calls another system does."""
    time.sleep(payload)


class Unheard:
    """A pulse that nobody feels."""

    cancel: None = None
    is_stopping = False

    def beat(self, fraction: float | None = None, text: str | None = None) -> None:
        """Nothing is written."""

    def look(self) -> None:
        """Nothing is read."""

    def log(self, lines: Sequence[LogLine], *, is_whole: bool, place: LogPlace | None = None) -> None:
        """Nothing is kept."""


TARGETS = AllTargets(receipts=NoReceipts(), clock=SystemClock(), handlers_package="functions.worker.handlers")


def attempt(name: str, payload: Any = None, seconds: float = 30) -> Result:
    """One attempt of the handler `name`, as the worker calls it."""
    now = SystemClock().now()
    key = RunKey("acme", "benchmark", 1, now - now % 1000)
    return TARGETS.call(Call(key, 1, 1, now, now + int(seconds * 1000), HandlerTarget(name), payload), Unheard())


def milliseconds(work: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """How long each round of `work` took, shortest first."""
    taken = []
    for _ in range(rounds):
        before = time.perf_counter()
        work()
        taken.append((time.perf_counter() - before) * 1000)
    return sorted(taken)


def show(what: str, taken: list[float]) -> None:
    """One line of the report."""
    at = f"p50 {statistics.median(taken):.2f} ms, p99 {taken[int(len(taken) * 0.99)]:.2f} ms"
    report(Figure("Worker", what, at))


def fresh_interpreter() -> None:
    """What a child would cost that is started anew instead of forked: Python and the package, nothing else."""
    subprocess.run([sys.executable, "-c", "import cronfleet.sdk"], check=True)


def stopped() -> float:
    """How long after its limit an attempt that hangs is gone."""
    before = time.perf_counter()
    result = attempt("benchmark.sleep", 60, seconds=0.5)
    assert result.outcome is Outcome.TIMED_OUT
    return (time.perf_counter() - before - 0.5) * 1000


def one_after_the_other() -> float:
    """When the last of a batch starts, if one invocation works through it."""
    before = time.perf_counter()
    for _ in range(BATCH - 1):
        attempt("benchmark.sleep", WORK_SECONDS)
    return time.perf_counter() - before


def main() -> None:
    """All figures."""
    for service in ("dynamodb", "sqs", "secretsmanager", "lambda"):
        boto3.client(service, region_name="us-east-1")
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, {resident:.0f} MB resident with four AWS clients")
    show("the job called in the worker's own process", milliseconds(lambda: nothing(None, None)))
    show("an attempt in a forked child", milliseconds(lambda: attempt("benchmark.nothing")))
    show("an attempt in a forked child, with one receipt", milliseconds(lambda: attempt("benchmark.receipt")))
    show("a fresh interpreter instead of a fork", milliseconds(fresh_interpreter, 20))
    show("an attempt that hangs: gone after its limit", sorted(stopped() for _ in range(10)))
    what = f"{BATCH} messages of {WORK_SECONDS} s in one invocation, one after the other: the last starts after"
    report(Figure("Worker", what, f"{one_after_the_other():.2f} s"))


if __name__ == "__main__":
    main()
