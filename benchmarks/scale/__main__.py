"""Ten million schedules in virtual time: `python -m benchmarks.scale`.

    python -m benchmarks.scale                                 100,000 firings a minute, a herd of 100,000: minutes
    python -m benchmarks.scale --schedules 20000 --firings 1000 --herd 500 --shards 8 --minutes 2
    python -m benchmarks.scale --natural --minutes 4           as people write crontabs: a million in one second
    python -m benchmarks.scale --workers 5000,1500 --ready

The real dispatcher and ticker serve a population in arrays, between partitions, quotas and latencies as AWS publishes
them (`capacity.py`), and workers that decide as the real ones do and take the time that is stated (`working.py`). It
exits 1 when a fire was lost, doubled or invented; budgets that are not kept are said.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from benchmarks import results
from benchmarks.figures import Figure, report
from benchmarks.scale.mix import HERD_AT, lines_of, measured, natural
from benchmarks.scale.played import Outcome, Told, played
from benchmarks.scale.population import Population, made
from benchmarks.scale.report import HERD_SECONDS, OTHER_WORKERS, P50_SECONDS, P99_SECONDS, lines, peak_megabytes
from benchmarks.scale.settings import Settings, Workers, held_ready, settings_for
from cronfleet.domain.instant import MINUTE, to_text

HELD, BROKEN, USAGE = 0, 1, 2
SECTION: Final = "Ten million schedules"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the books are exact, 1 when not, 2 for options that do not go together."""
    options = _parse(arguments)
    begin, cpu = time.monotonic(), time.process_time()
    try:
        population = _population(options)
    except ValueError as error:
        print(error, file=sys.stderr)
        return USAGE
    outcome = played(population, _settings(options), options.seed, _progress(begin) if sys.stderr.isatty() else _quiet)
    for line in lines(outcome):
        print(line)
    print()
    figures = _figures(outcome, options)
    report(*figures)
    if options.write:
        results.write([replace(figure, command="benchmarks.scale") for figure in figures])
    took, computed = time.monotonic() - begin, time.process_time() - cpu
    print(f"{took:.0f} s, {computed:.0f} s of CPU, {peak_megabytes():,.0f} MB at most")
    return HELD if outcome.ledger.is_exact else BROKEN


def _population(options: argparse.Namespace) -> Population:
    begins_at = HERD_AT - options.minutes // 2 * MINUTE
    cron = lines_of(begins_at, options.minutes)
    if options.natural:
        shares = natural(cron, options.schedules)
    else:
        shares = measured(cron, options.schedules, options.firings * options.minutes, options.herd, options.minutes)
    population = made(cron, shares, begins_at, options.minutes, options.shards, options.seed)
    print(
        f"{len(population):,} schedules of {len(population.tenants):,} tenants on {options.shards} shards, seed "
        f"{options.seed}: {shares.cron.sum():,} follow {len(cron.triggers)} cron lines with their zones, "
        f"{shares.intervals.sum():,} intervals, {shares.one_shots:,} fire once; {population.nbytes / 1e6:,.0f} MB"
    )
    print(f"{options.minutes} minutes from {to_text(begins_at)}, the herd in the second of {to_text(HERD_AT)}")
    return population


def _settings(options: argparse.Namespace) -> Settings:
    make = held_ready if options.ready else Workers
    others = {} if options.index_quota is None else {"index_quota": options.index_quota}
    return settings_for(
        options.shards,
        dispatcher_cpu=options.cpu,
        workers=(make(options.workers[0]), make(options.workers[1])),
        job_ms=options.job_ms,
        killed=options.killed,
        **others,
    )


def _figures(outcome: Outcome, options: argparse.Namespace) -> list[Figure]:
    herd, even, runs = outcome.herd, outcome.rest, max(1, len(outcome.lags.ms))
    load = f"{options.firings:,} firings a minute of {len(outcome.cloud.population):,} schedules"
    if options.natural:
        load = f"{len(outcome.cloud.population):,} schedules as crontabs are written"
    timed = [
        (f"lag, p50, {load}, simulated", outcome.lags.percentile(50), P50_SECONDS),
        (f"lag, p99, {load}, in minutes without the herd, simulated", even.percentile(99), P99_SECONDS),
        ("the same of all, the herd and its minute included", outcome.lags.percentile(99), P99_SECONDS),
        (f"lag, the last run of {len(herd.ms):,} due in one second, simulated", herd.percentile(100), HERD_SECONDS),
    ]
    ready = outcome.with_workers(OTHER_WORKERS[-1])
    words = " and ".join(f"{one.most:,}" for one in OTHER_WORKERS[-1])
    rest = [
        (f"lag, p99 of all with pollers for {words} runs at once", f"{ready.lags.percentile(99):.2f} s"),
        ("requests of the dispatcher for a firing", f"{outcome.cloud.meter.requests.total() / runs:.3f}"),
        ("memory of the simulation", f"{peak_megabytes():,.0f} MB"),
    ]
    return [
        Figure(SECTION, words, f"{seconds:.2f} s", budget=f"≤ {budget:g} s", kept=seconds <= budget)
        for words, seconds, budget in timed
    ] + [Figure(SECTION, words, measured) for words, measured in rest]


def _progress(begin: float) -> Told:
    def told(second: int, sent: int, due: int) -> None:
        passed = time.monotonic() - begin
        print(f"\r{second:>5} s of virtual time, {sent:,} of {due:,} sent, {passed:.0f} s ", end="", file=sys.stderr)
        if sent >= due:
            print("\r" + " " * 70, end="\r", file=sys.stderr)

    return told


def _quiet(*_: int) -> None:
    """Nobody looks."""


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--schedules", type=_positive, default=10_000_000)
    parser.add_argument(
        "--firings", type=_positive, default=100_000, help="a minute, besides the herd (default 100,000)"
    )
    parser.add_argument("--herd", type=_whole, default=100_000, help="due in the second in which the hour begins")
    parser.add_argument("--minutes", type=_positive, default=10, help="that are watched, the hour in their middle")
    parser.add_argument("--natural", action="store_true", help="the lines as they were found, and nothing else")
    parser.add_argument("--write", action="store_true", help="put the figures into benchmarks/RESULTS.md")
    parser.add_argument("--shards", type=_positive, default=64)
    parser.add_argument("--seed", type=_whole, default=0)
    parser.add_argument("--workers", type=_pair, default=(500, 300), help="runs at once of standard,priority")
    parser.add_argument("--ready", action="store_true", help="with provisioned pollers for all of them")
    parser.add_argument("--job-ms", type=_whole, default=100, help="how long a job lasts")
    parser.add_argument("--index-quota", type=_positive, default=None, help="its write units a second")
    parser.add_argument("--cpu", type=float, default=0.2, help="seconds of CPU that 1,000 firings take the dispatcher")
    parser.add_argument("--killed", type=float, default=0.0, help="of all ticks, the part that dies in the middle")
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 up")
    return int(text)


def _pair(text: str) -> tuple[int, int]:
    first, comma, second = text.partition(",")
    if not comma:
        raise argparse.ArgumentTypeError(f"{text!r} is not two numbers with a comma, such as 500,300")
    return _positive(first), _positive(second)


if __name__ == "__main__":
    sys.exit(main())
