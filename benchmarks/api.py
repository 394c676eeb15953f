"""Requests a second and the slowest of a hundred that one core answers in the API function.

    python -m benchmarks.api                    the real handler in this process, on memory and on the emulator
    python -m benchmarks.api --profile list     where the CPU of a route goes, function by function

An event of the HTTP API goes in, its answer comes out, as on Lambda. On the store in memory what is left is ours, with
Powertools, pydantic and JSON; the emulator, a process of its own, adds the real adapters and AWS clients, whose CPU is
counted here and the emulator's is not. CPU and not the clock's time, so that a busy machine says the same.
"""

import argparse
import contextlib
import cProfile
import itertools
import os
import pstats
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.figures import Figure, report
from benchmarks.one_tick import Counted
from cronfleet import bootstrap, settings
from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.instant import MINUTE, SECOND, to_text
from cronfleet.domain.run import Attempt, Outcome, Run, RunKey, RunStatus
from local import surroundings
from tests.support.api import Api, api_on, event_of
from tests.support.emulator import client, emulator
from tests.support.settable_clock import NOON, SettableClock
from tests.support.tables import create_tables

TENANT: Final = "customer-001"
SCHEDULES: Final = 100
WITH_HISTORY: Final = 5
RUNS: Final = 20
REQUESTS: Final = 100
ROUNDS: Final = 2
SLOWEST: Final = 0.99
PREFIX: Final = "benchmark"
RATE: Final = 10_000
"""Requests a second that the tenant's quota allows: the most that one can."""

BODY: Final = {
    "trigger": {"cron": "* * * * *", "timezone": "Asia/Kolkata"},
    "target": {"handler": "billing.nightly"},
    "payload": {"accounts": ["mumbai", "pune"]},
    "policies": {"misfire": {"policy": "fire_once", "grace_seconds": 300}, "overlap": "skip", "jitter_seconds": 0},
    "labels": {"team": "billing"},
    "owner": "billing-team",
}
_FIRED: Final = to_text(NOON + RUNS * MINUTE)

Make = Callable[[int], dict[str, Any]]


def _event(method: str, path: str, body: Any = None) -> dict[str, Any]:
    return event_of(method, path, body, tenant=TENANT)


ROUTES: Final[Mapping[str, tuple[str, Make]]] = {
    "put": ("PUT a new schedule", lambda n: _event("PUT", f"/v1/schedules/new-{n:06}", BODY)),
    "get": ("GET a schedule", lambda n: _event("GET", f"/v1/schedules/{_name(n % SCHEDULES)}")),
    "list": (
        f"GET {SCHEDULES // 2} of the schedules",
        lambda _: _event("GET", f"/v1/schedules?limit={SCHEDULES // 2}"),
    ),
    "runs": (f"GET {RUNS} runs", lambda n: _event("GET", f"/v1/schedules/{_name(n % WITH_HISTORY)}/runs")),
    "explain": (
        "explain a fire",
        lambda n: _event("GET", f"/v1/schedules/{_name(n % WITH_HISTORY)}/explain?at={_FIRED}"),
    ),
}
"""What each route's requests are called, and the nth of them."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What requests took, each in seconds: CPU of this process, and by the clock."""

    cpu: Sequence[float]
    clock: Sequence[float]
    requests: float
    """Requests to the store for each."""

    @property
    def each(self) -> float:
        """CPU seconds of a request, on average."""
        return statistics.fmean(self.cpu)


@dataclass(frozen=True, slots=True)
class Opened:
    """An installation that is ready to be asked, and the client of its store, if it has one."""

    api: Api
    client: Counted | None

    @property
    def calls(self) -> int:
        """Requests to the store so far."""
        return 0 if self.client is None else self.client.calls


def _name(number: int) -> str:
    return f"nightly-billing-{number:04}"


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Each request tells a metric: it is written, as on Lambda, and nobody reads it."""
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


@unheard()
def prepared(api: Api) -> Api:
    """`api` with a tenant that may ask as often as it likes, its schedules, and what some of them have run."""
    quotas = {"requests_per_second": RATE, "schedules": 1_000_000}
    made = api.call("POST", "/v1/tenants", {"id": TENANT, "quotas": quotas}, role="platform_admin")
    assert made.status == 201, made.text
    for number in range(SCHEDULES):
        answer = api.send(_event("PUT", f"/v1/schedules/{_name(number)}", BODY))
        assert answer.status == 201, answer.text
    api.clock.advance((RUNS + 5) * MINUTE)
    for number in range(WITH_HISTORY):
        epoch = api.store.get_timer(TENANT, _name(number)).epoch
        for minute in range(1, RUNS + 1):
            assert api.store.insert_run(_run(_name(number), epoch, NOON + minute * MINUTE)) is None
    return api


def _run(schedule_id: str, epoch: int, at: int) -> Run:
    started_at = at + SECOND // 2
    attempt = Attempt(1, 1, "worker", started_at, started_at + SECOND, Outcome.SUCCEEDED)
    return Run(
        RunKey(TENANT, schedule_id, epoch, at),
        RunStatus.SUCCEEDED,
        at,
        "standard",
        version=1,
        batch="0.1.1",
        claimed_at=at - SECOND,
        fence=1,
        attempts=(attempt,),
        started_at=started_at,
        finished_at=started_at + SECOND,
        lag_ms=started_at - at,
    )


@contextlib.contextmanager
def on_memory() -> Iterator[Opened]:
    """The function on the store in memory."""
    clock = SettableClock()
    with pytest.MonkeyPatch.context() as patch:
        yield Opened(prepared(api_on(patch, MemoryJobStore(clock), clock)), None)


@contextlib.contextmanager
def on_emulator() -> Iterator[Opened]:
    """The function with its real adapters and clients, on an emulator that ends with the context."""
    with (
        tempfile.TemporaryDirectory() as folder,
        emulator(Path(folder)) as endpoint,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in {**surroundings.aws(endpoint), settings.TABLE_PREFIX: PREFIX}.items():
            patch.setenv(name, value)
        create_tables(client("dynamodb", endpoint), PREFIX)
        asked = Counted(bootstrap.dynamodb_client())
        patch.setattr(bootstrap, "dynamodb_client", lambda: asked)
        # The services live by a clock of their own; the store compares the machine's with the emulator's.
        store = bootstrap._store(settings.from_environment())  # noqa: SLF001 - with the clients of an installation
        yield Opened(prepared(api_on(patch, store, SettableClock())), asked)


def measured(opened: Opened, make: Make, numbers: Iterator[int]) -> Taken:
    """The quickest round of requests that `make` makes of `numbers`."""
    _asked(opened, [make(next(numbers)) for _ in range(REQUESTS // 10)])
    rounds = [_asked(opened, [make(next(numbers)) for _ in range(REQUESTS)]) for _ in range(ROUNDS)]
    return min(rounds, key=lambda taken: taken.each)


def _asked(opened: Opened, events: Sequence[dict[str, Any]]) -> Taken:
    api, cpu, clock, before = opened.api, [], [], opened.calls
    with unheard():
        for event in events:
            api.clock.advance(1)
            begin, began = time.perf_counter(), time.process_time()
            answer = api.send(event)
            cpu.append(time.process_time() - began)
            clock.append(time.perf_counter() - begin)
            assert answer.status in (200, 201), answer.text
    return Taken(sorted(cpu), sorted(clock), (opened.calls - before) / len(events))


def figures(where: str, opening: Callable[[], contextlib.AbstractContextManager[Opened]]) -> Iterator[Figure]:
    """A figure for each route, on the store that `opening` opens."""
    numbers = itertools.count()
    with opening() as opened:
        for what, make in ROUTES.values():
            taken = measured(opened, make, numbers)
            slowest = f"p99 {_at(taken.cpu)} ms of CPU, {_at(taken.clock)} by the clock"
            asked = f"; {taken.requests:.1f} requests to the store" if taken.requests else ""
            at = f"{1 / taken.each:,.0f} a second of CPU; {slowest}{asked}"
            yield Figure("API", f"{what}, {where}", at, spent(opened, make, numbers))


def _at(taken: Sequence[float]) -> str:
    return f"{taken[int(len(taken) * SLOWEST)] * 1e3:.1f}"


LEAST_SHOWN: Final = 20
"""Who spends less than this part is not named."""

SPENDERS: Final = (
    ("Powertools", "aws_lambda_powertools"),
    ("pydantic", "pydantic"),
    ("AWS client", "adapters/aws", "botocore", "boto3", "urllib3", "http/", "socket", "ssl", "email"),
    ("store in memory", "adapters/memory"),
    ("ours", "cronfleet", "functions/"),
    ("JSON", "json"),
)
"""Whose CPU it is, by what the path of a file holds; the first that fits. What fits none is Python's."""


def spent(opened: Opened, make: Make, numbers: Iterator[int]) -> str:
    """Who spends the CPU of such a request, largest first; a profile, in which many small calls weigh too much."""
    stats = profiled(opened, make, numbers)
    shares: defaultdict[str, float] = defaultdict(float)
    data: Mapping[Any, Any] = stats.stats  # type: ignore[attr-defined]  # what it is made of, and all there is to read
    for (path, _, function), (_, _, own, _, callers) in data.items():
        for one, share in _by_spender(path, function, own, callers):
            shares[one] += share
    total = sum(shares.values())
    largest = sorted(shares.items(), key=lambda one: one[1], reverse=True)
    return ", ".join(f"{name} {share / total:.0%}" for name, share in largest if share >= total / LEAST_SHOWN)


def _by_spender(path: str, function: str, own: float, callers: Mapping[Any, Any]) -> Iterator[tuple[str, float]]:
    """A file has its spender; what is built in counts for the files that call it."""
    if path != "~" or "pydantic" in function:
        yield _spender(path if path != "~" else "pydantic"), own
        return
    for (calling, _, _), (_, _, share, _) in callers.items():
        yield _spender(calling), share


def _spender(path: str) -> str:
    return next((name for name, *parts in SPENDERS if any(part in path for part in parts)), "Python")


def profiled(opened: Opened, make: Make, numbers: Iterator[int]) -> pstats.Stats:
    """The profile of a round of requests."""
    events = [make(next(numbers)) for _ in range(REQUESTS)]
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    _asked(opened, events)
    profile.disable()
    return pstats.Stats(profile)


def main() -> None:
    """Print the figures, or a profile."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.api", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--profile", choices=ROUTES, help="print where the CPU of this route goes instead")
    asked = parser.parse_args()
    if asked.profile:
        with on_memory() as opened:
            stats = profiled(opened, ROUTES[asked.profile][1], itertools.count(REQUESTS))
            stats.sort_stats("cumulative").print_stats(60)
        return
    report(*figures("store in memory", on_memory))
    report(*figures("AWS clients", on_emulator))


if __name__ == "__main__":
    main()
