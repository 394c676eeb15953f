"""What is printed of a run, for people."""

import resource
from collections.abc import Iterator
from typing import Final

from benchmarks.scale.capacity import READ_UNITS, WRITE_UNITS
from benchmarks.scale.lags import by_minute, by_shard, histogram, table
from benchmarks.scale.ledger import named
from benchmarks.scale.played import Outcome
from benchmarks.scale.population import TIERS
from benchmarks.scale.settings import MOST_READY, Workers, held_ready
from cronfleet.domain.instant import SECOND, to_text

P50_SECONDS, P99_SECONDS, HERD_SECONDS = 1.0, 3.0, 60.0
"""The budgets of docs/architecture.md: of the even load, and of the last run of a herd."""

OTHER_WORKERS: Final = (
    (held_ready(500), held_ready(300)),
    (held_ready(1_000), held_ready(500)),
    (held_ready(2_000), held_ready(1_000)),
    (Workers(5_000, MOST_READY), held_ready(1_500)),
)
"""What else might be set; dispatch is the same, so it costs nothing to look."""

SHOWN: Final = 5
"""Fires that are named where some were lost."""


def lines(outcome: Outcome) -> Iterator[str]:
    """All of it."""
    yield ""
    yield "Lag: started − due; `sent by` is when the last message was sent, after it was due"
    yield from table(outcome.lags, outcome.herd_second)
    yield ""
    yield from by_minute(outcome.lags, outcome.cloud.population)
    yield ""
    yield from histogram(outcome.lags)
    yield ""
    yield from by_shard(outcome.lags, outcome.settings.shards)
    yield ""
    yield from _beside(outcome)
    yield ""
    yield from _used(outcome)
    yield ""
    yield from _work(outcome)
    yield ""
    yield from _books(outcome)


def _beside(outcome: Outcome) -> Iterator[str]:
    """The same messages before these workers and others."""
    yield f"{'Workers: runs at once (pollers)':<44}{'even load: p50':>16}{'p99':>9}{'herd: p50':>16}{'most':>9}"
    for workers in (outcome.settings.workers, *OTHER_WORKERS):
        other = outcome.with_workers(workers)
        words = ", ".join(
            f"{tier} {one.most:,}" + (f" ({one.pollers})" if one.pollers else "")
            for tier, one in zip(TIERS, workers, strict=True)
        )
        figures = f"{other.rest.percentile(50):>14.2f} s{other.rest.percentile(99):>7.2f} s"
        yield f"  {words:<42}{figures}{other.herd.percentile(50):>14.2f} s{other.herd.percentile(100):>7.2f} s"


def _used(outcome: Outcome) -> Iterator[str]:
    meter, settings = outcome.cloud.meter, outcome.settings
    rows = (
        ("index due, writes", "index", f"{WRITE_UNITS:,}", "shard"),
        ("the whole index", "whole index", f"{settings.index_quota:,}", ""),
        ("table schedules, writes", "table", f"{WRITE_UNITS:,}", "partition"),
        ("index due, reads", "index reads", f"{READ_UNITS:,}", "shard"),
    )
    yield "Units a second, the most that one partition gave"
    for words, what, allowed, kind in rows:
        units, partition, second = meter.most(what)
        where = f" in {kind} {partition}" if kind else ""
        yield f"  {words:<24}{units:>10,.0f} of {allowed}{where} at {to_text(second * SECOND)[11:19]}"
    throttled = ", ".join(f"{count:,} by the {why}" for why, count in meter.throttled.most_common()) or "nothing"
    yield f"  throttled: {throttled}"


def _work(outcome: Outcome) -> Iterator[str]:
    cloud, runs = outcome.cloud, max(1, len(outcome.lags.ms))
    asked = cloud.meter.requests
    yield f"Requests of the dispatcher: {asked.total():,}, {asked.total() / runs:.3f} a firing"
    yield "  " + ", ".join(f"{name} {count:,}" for name, count in asked.most_common(8))
    counts = cloud.telemetry.counts
    batches = max(1, asked["put_batch"])
    yield (
        f"  claims won {counts.get('claims_won', 0):,}, lost {counts.get('claims_lost', 0):,}; "
        f"{runs / batches:.0f} firings a batch; deferred {cloud.store.deferrals:,}; ticks that failed "
        f"{cloud.ticks_failed:,}; a tick waited {cloud.ticks_late_ms:,} ms at most"
    )
    at_once = ", ".join(
        f"{name} {most:,} of {workers.most:,}"
        for name, most, workers in zip(TIERS, outcome.started.most_at_once, outcome.settings.workers, strict=True)
    )
    yield f"  runs at once, at most: {at_once}"
    yield (
        f"Dispatcher in the simulator: {cloud.cpu_ns / 1e6 / runs:.3f} s of CPU for 1,000 firings, without "
        f"clients; charged in virtual time: {outcome.settings.dispatcher_cpu} s, on its part of a core"
    )


def _books(outcome: Outcome) -> Iterator[str]:
    ledger = outcome.ledger
    yield (
        f"Books: {ledger.expected:,} fires had to come, {ledger.succeeded:,} runs succeeded, {ledger.missed:,} were "
        f"missed and say so; lost {len(ledger.lost):,}, doubled {ledger.doubled:,}, invented "
        f"{len(ledger.invented):,}; copies of messages refused {ledger.copies:,}"
    )
    for words, keys in (("lost", ledger.lost), ("invented", ledger.invented)):
        for fire in named(outcome.cloud.population, keys[:SHOWN]):
            yield f"  {words}: {fire}"


def peak_megabytes() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
