"""The workers: when each message that was sent is started, in queues with so many servers.

What a worker does feeds nothing back to the dispatcher here (no overlap gate, no limit of runs at once, no retry), so
it is worked out after dispatch, from what was sent; other settings of workers need no other dispatch. A message is
started as soon as a run of its tier is free, in the order of their arrival: fair queues change who waits, not how long
all do. How many may run at once grows as Lambda's event source mapping does:
https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
"""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale.sent import Sent
from benchmarks.scale.settings import Settings, Workers

GROWTH_A_MINUTE: Final = 300
"""How many more invocations at once a mapping allows each minute while messages wait …"""
GROWTH_PROVISIONED: Final = 1_000
"""… and one with provisioned pollers."""

INVOKE_MS: Final = 8
"""From a message's receipt to the first line of the worker, in a warm environment …"""
COLD_MS: Final = 900
"""… and what a new environment takes besides."""

REQUESTS_MS: Final = 18
"""The row's start (5), the timer (4), the definition (4), the row's end (5)."""
CHILD_MS: Final = 17
"""A forked child for the attempt (`benchmarks.worker_overhead`)."""

FEWEST: Final = 5
"""With which a mapping begins."""

WARMED: Final = 1.3
"""How much more than the even load needs is there at the beginning: the installation has been running for long."""

EVEN_JOBS: Final = 0.5
"""Jobs last between this and the rest to two times the mean, evenly."""


@dataclass(frozen=True, slots=True)
class Started:
    """Of each message, in the order of `Sent`: when it was started, in ms after the beginning."""

    at_ms: NDArray[np.int64]
    most_at_once: tuple[int, int]
    """Runs at once that each tier came to."""


def worked(sent: Sent, settings: Settings, minutes: int, seed: int) -> Started:
    """When each message is started under these settings."""
    arrives, tiers = np.asarray(sent.arrives_ms), np.asarray(sent.tier)
    at_ms = np.zeros(len(sent), dtype=np.int64)
    most = [0, 0]
    rng = np.random.default_rng([seed, 2])
    for tier, workers in enumerate(settings.workers):
        own = np.flatnonzero(tiers == tier)
        order = own[np.argsort(arrives[own], kind="stable")]
        jobs = rng.uniform(EVEN_JOBS, 2 - EVEN_JOBS, len(order)) * settings.job_ms
        held = (jobs + REQUESTS_MS + CHILD_MS).astype(int)
        even = len(own) / (minutes * 60_000) * (settings.job_ms + REQUESTS_MS + CHILD_MS + INVOKE_MS) * WARMED
        growth = (GROWTH_PROVISIONED if workers.ready_at_once else GROWTH_A_MINUTE) / settings.part
        at_ms[order], most[tier] = _queue(arrives[order].tolist(), held.tolist(), workers, int(even), growth)
    return Started(at_ms, (most[0], most[1]))


def _queue(arrives: list[int], held: list[int], workers: Workers, even: int, growth: float) -> tuple[list[int], int]:
    """When what arrives is started, first come first served; and how many servers there were in the end.

    There are as many as an `even` load needs, or are held ready; while anything waits, `growth` come a minute.
    """
    servers = min(workers.most, max(FEWEST, even, workers.ready_at_once))
    gap = 60_000 / growth
    free = [arrives[0] if arrives else 0] * servers
    heapify(free)
    started, grown_at = [], float(free[0])
    for arrival, busy in zip(arrives, held, strict=True):
        ready = free[0]
        if ready <= arrival:
            heappop(free)
            start = arrival + INVOKE_MS
        else:
            grows_at = max(grown_at + gap, arrival)
            if servers < workers.most and grows_at + COLD_MS < ready:
                servers, grown_at = servers + 1, grows_at
                start = int(grows_at) + COLD_MS + INVOKE_MS
            else:
                heappop(free)
                start = ready + INVOKE_MS
        started.append(start)
        heappush(free, start + busy)
    return started, servers
