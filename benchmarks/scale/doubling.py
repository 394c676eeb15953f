"""What breaks first as things double: `python -m benchmarks.scale.doubling`, a line for each.

    python -m benchmarks.scale.doubling                    all of them
    python -m benchmarks.scale.doubling --only herd        those whose name says so
    python -m benchmarks.scale.doubling --list

Each plays a sixteenth of an installation through the two minutes around the herd, and says what the whole comes to:
`sent` is how late the last message of the herd was sent, after it was due; `enough` how late the last run of the herd
started, were there always a worker; then the same with the product's workers, and with 5,000 runs at once of the tier
standard and 1,500 of priority, as many of them ready as pollers allow. `even p99` is that of the other minute, with the
latter. It exits 1 where a fire was lost, doubled or invented.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from benchmarks.scale.capacity import NEW_INDEX, QUOTA
from benchmarks.scale.mix import HERD_AT, lines_of, measured, natural
from benchmarks.scale.played import ENOUGH, Outcome, played
from benchmarks.scale.population import Population, made
from benchmarks.scale.report import peak_megabytes
from benchmarks.scale.settings import MOST_READY, Settings, Workers, held_ready, parted, settings_for
from cronfleet.domain.instant import MINUTE

MINUTES: Final = 2
BEGINS_AT: Final = HERD_AT - MINUTES // 2 * MINUTE
PART: Final = 16
"""One of so many equal parts of each installation is played: of its shards, what they are put to, workers and quotas.
Shards share nothing but quotas and workers, so the parts are alike, and each figure is the whole's."""

READY: Final = (parted(Workers(5_000, MOST_READY), PART), parted(held_ready(1_500), PART))


@dataclass(frozen=True, slots=True)
class Case:
    """One installation and what it has to do; `herd` is `None` for lines as they were found."""

    name: str
    schedules: int = 10_000_000
    firings: int = 100_000
    herd: int | None = 100_000
    shards: int = 64
    others: Mapping[str, float] = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        """Of the part."""
        return settings_for(self.shards, PART, **self.others)

    def population(self, seed: int) -> Population:
        """The schedules of the part."""
        lines, schedules = lines_of(BEGINS_AT, MINUTES), self.schedules // PART
        if self.herd is None:
            shares = natural(lines, schedules)
        else:
            shares = measured(lines, schedules, self.firings * MINUTES // PART, self.herd // PART, MINUTES)
        return made(lines, shares, BEGINS_AT, MINUTES, self.settings.shards, seed)


CASES: Final = (
    Case("as the budget says"),
    Case("schedules x 2", schedules=20_000_000),
    Case("firings x 2", firings=200_000),
    Case("firings x 4", firings=400_000),
    Case("firings x 8", firings=800_000),
    Case("herd x 2", herd=200_000),
    Case("herd x 4", herd=400_000),
    Case("herd x 8", herd=800_000),
    Case("32 shards", shards=32),
    Case("16 shards", shards=16),
    Case("128 shards, herd x 4", herd=400_000, shards=128),
    Case("256 shards, herd x 8", herd=800_000, shards=256),
    Case("quota of the index not raised", others={"index_quota": QUOTA}),
    Case("quota not raised, herd x 4", herd=400_000, others={"index_quota": QUOTA}),
    Case("index not warmed", others={"index_quota": NEW_INDEX}),
    Case("dispatcher with 3 times the CPU", others={"dispatcher_cpu": 0.6}),
    Case("one tick in 50 dies", others={"killed": 0.02}),
    Case("lines as they were found", herd=None),
    Case("256 shards, lines as found", herd=None, shards=256),
)


def main() -> int:
    """Play them, and print a line for each as soon as it is known."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale.doubling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--list", action="store_true", help="their names")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chosen = [case for case in CASES if options.only in case.name]
    if options.list or not chosen:
        print("\n".join(case.name for case in CASES))
        return 0 if options.list else 2
    print(HEADING)
    exact = True
    for case in chosen:
        begin = time.process_time()
        outcome = played(case.population(options.seed), case.settings, options.seed, lambda *_: None)
        for line in _lines(case, outcome):
            print(line, flush=True)
        spent = time.process_time() - begin
        print(f"{'':<44}{spent:.0f} s of CPU, {peak_megabytes():,.0f} MB at most so far", file=sys.stderr)
        exact = exact and outcome.ledger.is_exact
    return 0 if exact else 1


HEADING: Final = (
    f"{'':<34}{'in the second':>14}{'sent':>9}{'enough':>9}{'default':>10}{'ready':>9}{'even p99':>10}"
    f"{'index units':>12}  throttled"
)


def _lines(case: Case, outcome: Outcome) -> Iterator[str]:
    enough, ready = outcome.with_workers(ENOUGH), outcome.with_workers(READY)
    sent = max(0.0, float(outcome.herd.claimed_ms.max(initial=0)) / 1_000)
    meter = outcome.cloud.meter
    throttled = ", ".join(f"{PART * count:,} {why}" for why, count in meter.throttled.most_common(2)) or "-"
    yield (
        f"{case.name:<34}{PART * len(outcome.herd.ms):>14,}{sent:>7.1f} s{enough.herd.percentile(100):>7.1f} s"
        f"{outcome.herd.percentile(100):>8.1f} s{ready.herd.percentile(100):>7.1f} s{ready.rest.percentile(99):>8.1f} s"
        f"{PART * meter.most('whole index')[0]:>12,.0f}  {throttled}"
    )
    if not outcome.ledger.is_exact:
        yield f"  NOT EXACT: lost {len(outcome.ledger.lost):,}, doubled {outcome.ledger.doubled:,}"
    if outcome.cloud.ticks_failed or outcome.cloud.store.deferrals:
        yield f"  ticks that failed {outcome.cloud.ticks_failed:,}, deferred {outcome.cloud.store.deferrals:,}"


if __name__ == "__main__":
    sys.exit(main())
