"""What a thousand firings cost the dispatcher in CPU, and which part of it is whose.

    python -m benchmarks.dispatcher_cpu
    python -m benchmarks.dispatcher_cpu --sockets        the same over real sockets, to another process
    python -m benchmarks.dispatcher_cpu --profile        and where the time goes
    python -m benchmarks.dispatcher_cpu --client boto3   as it would be with boto3's clients
    python -m benchmarks.dispatcher_cpu --claims single  as it would be with claims one by one

The real dispatcher, with the adapters and clients of production, dispatches a herd (`benchmarks.herd`) in one tick;
only the network is replaced (`benchmarks.canned`), and what answering costs is not counted. The yardstick is the same
requests once more, made by clients that decide nothing: what is left above it is ours. CPU of the process, all threads
together, best of several rounds.
"""

import argparse
import cProfile
import os
import pstats
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from unittest.mock import patch

import boto3
from botocore.session import get_session

from benchmarks import herd_aws
from benchmarks.canned import Network, Server
from benchmarks.figures import Figure, report
from benchmarks.metering.chain import Silent
from cronfleet.adapters.aws import lean
from cronfleet.adapters.dynamodb.job_store import CONFIG as DYNAMODB_CONFIG
from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.adapters.memory.side_by_side import OneByOne
from cronfleet.adapters.sqs.errand_queue import SqsErrandQueue
from cronfleet.adapters.sqs.run_queue import CONFIG as SQS_CONFIG
from cronfleet.adapters.sqs.run_queue import SqsRunQueue
from cronfleet.adapters.system.clock import SystemClock, SystemIds
from cronfleet.adapters.system.side_by_side import Threads
from cronfleet.domain.claiming import Claiming
from cronfleet.domain.instant import DAY
from cronfleet.domain.lease import slot_of
from cronfleet.ports.queues import Tick
from cronfleet.ports.side_by_side import SideBySide
from cronfleet.services.dispatcher import Dispatcher
from tests.support.settable_clock import NOON, SettableClock

FIRINGS: Final = 10_000
ROUNDS: Final = 3
BUDGET_SECONDS: Final = 0.5
GOAL_SECONDS: Final = 0.2
BUDGET_REQUESTS: Final = 0.2
SHARDS: Final = 4
"""That an installation would have: each lets its share of a tenant's rate through without asking."""
SECTION: Final = "Dispatcher"
CLIENTS: Final = ("lean", "boto3")

ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "x" * 40,
    # As long as those of a role are: it is signed with every request.
    "AWS_SESSION_TOKEN": "x" * 900,
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_QUEUES: Final = {"standard": "http://127.0.0.1:9/000000000000/standard"}
_ERRANDS: Final = "http://127.0.0.1:9/000000000000/errands"
_PARTS: Final = (
    # The first that a file's path holds is the part that its time is counted to.
    ("client: signing", ("botocore/auth.py", "/hmac.py", "<_hashlib", "hashlib")),
    ("client: JSON", ("orjson", "json/", "adapters/aws/bodies.py", "botocore/serialize.py", "botocore/parsers.py")),
    ("client: HTTP", ("urllib3", "http/client.py", "email/", "socket", "ssl.py", "botocore/httpsession.py", "<select")),
    ("client: the rest", ("adapters/aws/", "botocore/", "boto3/", "urllib/parse.py", "_collections_abc")),
    ("ours: items and messages", ("adapters/", "pynamodb")),
    ("ours: times", ("domain/cron", "domain/zones", "domain/trigger", "croniter", "zoneinfo", "datetime")),
    ("ours: deciding", ("cronfleet/domain/", "cronfleet/services/", "cronfleet/ports/")),
)


@dataclass
class Asked:
    """A client that remembers its requests: method and keyword arguments."""

    client: Any
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.client, name)
        if not callable(found):
            return found

        def call(**request: Any) -> Any:
            self.requests.append((name, request))
            return found(**request)

        return call


@dataclass(frozen=True, slots=True)
class Clients:
    """One client for the store and one for the queues."""

    dynamodb: Any
    sqs: Any


def clients(kind: str) -> Clients:
    """Clients as the process's environment has them."""
    if kind == "boto3":
        return Clients(boto3.client("dynamodb", config=DYNAMODB_CONFIG), boto3.client("sqs", config=SQS_CONFIG))
    session = get_session()
    return Clients(lean.client("dynamodb", session, DYNAMODB_CONFIG), lean.client("sqs", session, SQS_CONFIG))


def dispatcher(on: Clients, claiming: Claiming, side_by_side: SideBySide) -> Dispatcher:
    """A dispatcher as a warm process has it."""
    store = DynamoJobStore(herd_aws.PREFIX, on.dynamodb, SystemClock(), claiming=claiming)
    store.skew_ms = lambda: 0  # type: ignore[method-assign]  # the answers' Date is that of nobody's clock
    return Dispatcher(
        store=store,
        run_queue=SqsRunQueue(on.sqs, _QUEUES),
        errand_queue=SqsErrandQueue(on.sqs, _ERRANDS),
        side_by_side=side_by_side,
        clock=SettableClock(NOON),
        ids=SystemIds(),
        telemetry=Silent(),
        shards=SHARDS,
    )


def dispatch(by: Dispatcher) -> None:
    """One tick that dispatches the herd."""
    told = by.tick(Tick(0, slot_of(NOON)), NOON + DAY)
    assert told.fires == FIRINGS, told


def repeat(on: Clients, asked: tuple[Asked, Asked]) -> None:
    """The same requests, by clients that decide nothing."""
    for client, one in zip((on.dynamodb, on.sqs), asked, strict=True):
        for method, request in one.requests:
            getattr(client, method)(**request)


class Meter:
    """CPU seconds of a piece of work, without those of the network that stands in."""

    def __init__(self, network: Network | None) -> None:
        self._network = network

    def seconds(self, work: Callable[[], None]) -> float:
        """Of one round."""
        answering = self._network.cpu if self._network else 0.0
        begin = time.process_time()
        work()
        taken = time.process_time() - begin
        return taken - (self._network.cpu - answering if self._network else 0.0)

    def best(self, work: Callable[[], None]) -> float:
        """Of the best of several rounds, after one that does not count."""
        work()
        return min(self.seconds(work) for _ in range(ROUNDS))


@contextmanager
def endpoint(*, sockets: bool) -> Iterator[Network | None]:
    """An AWS for this process; `None` where it is another process."""
    answers = herd_aws.aws(FIRINGS)
    with patch.dict(os.environ, ENVIRONMENT):
        if sockets:
            with Server(answers).running() as url, patch.dict(os.environ, {"AWS_ENDPOINT_URL": url}):
                yield None
        else:
            network = Network(answers)
            with network.instead_of_sockets(), patch.dict(os.environ, {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}):
                yield network


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dispatcher_cpu")
    parser.add_argument("--client", choices=CLIENTS, default=CLIENTS[0], help="whose clients the dispatcher has")
    parser.add_argument("--claims", choices=list(Claiming), default=Claiming.BATCHED, help="how claims are written")
    parser.add_argument("--sockets", action="store_true", help="answers come from another process")
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    chosen = parser.parse_args()
    with endpoint(sockets=chosen.sockets) as network:
        on = clients(chosen.client)
        asked = Asked(on.dynamodb), Asked(on.sqs)
        claiming = Claiming(chosen.claims)
        dispatch(dispatcher(Clients(*asked), claiming, Threads()))
        meter = Meter(network)
        ours = meter.best(partial(dispatch, dispatcher(on, claiming, Threads())))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        bare = {kind: meter.best(partial(repeat, clients(kind), asked)) for kind in CLIENTS}
        _tell(ours, bare, chosen.client, asked, peak, place=" over sockets" if chosen.sockets else "")
        if chosen.profile:
            _profile(on, claiming)


def _tell(
    ours: float, bare: dict[str, float], client: str, asked: tuple[Asked, Asked], peak: float, *, place: str
) -> None:
    thousands = FIRINGS / 1_000
    requests = sum(len(one.requests) for one in asked) / FIRINGS
    share = bare[client] / thousands
    report(
        Figure(
            SECTION,
            f"CPU for 1,000 firings in a herd, {client} client{place}",
            f"{ours / thousands:.3f} s",
            f"{ours / bare[client]:.2f} of its bare requests",
            f"≤ {BUDGET_SECONDS} s, goal {GOAL_SECONDS} s",
            ours / thousands <= BUDGET_SECONDS,
        ),
        Figure(
            SECTION,
            f"requests per firing in a herd{place}",
            f"{requests:.3f}",
            "",
            f"≤ {BUDGET_REQUESTS}",
            requests <= BUDGET_REQUESTS,
        ),
        Figure(SECTION, f"firings a second of one core, {client} client{place}", f"{FIRINGS / ours:,.0f}"),
        Figure(SECTION, f"of it the client's, {client}{place}", f"{share:.3f} s", f"{bare[client] / ours:.0%}"),
        Figure(
            SECTION,
            f"the same requests by boto3's client{place}",
            f"{bare['boto3'] / thousands:.3f} s",
            f"{bare['boto3'] / bare['lean']:.1f} times the lean client's",
        ),
        Figure(SECTION, f"peak memory of the process, a herd of {FIRINGS:,} in it{place}", f"{peak:.0f} MB"),
    )
    counted = Counter(method for one in asked for method, _ in one.requests)
    print("requests:", ", ".join(f"{count:,} {method}" for method, count in counted.most_common()))


def _profile(on: Clients, claiming: Claiming) -> None:
    """Shares of a profiled round; the profiler weighs small functions heavily, so these are hints."""
    by = dispatcher(on, claiming, OneByOne())  # It sees one thread.
    dispatch(by)
    profile = cProfile.Profile(time.thread_time)
    profile.runcall(dispatch, by)
    found: Any = pstats.Stats(profile)
    shares: Counter[str] = Counter()
    for (file, _, name), (_, _, own, _, _) in found.stats.items():
        if "benchmarks/canned" not in file:
            shares[_part(f"{file}:{name}")] += own
    whole = sum(shares.values())
    for part, own in shares.most_common():
        print(f"  {own / whole:5.1%}  {part}")
    found.sort_stats("tottime").print_stats(40)


def _part(place: str) -> str:
    return next((part for part, marks in _PARTS if any(mark in place for mark in marks)), "ours: the rest")


if __name__ == "__main__":
    main()
