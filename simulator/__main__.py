"""`python -m simulator`: run seeds, or a planted fault; see `--help`."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, Final

from cronfleet.domain.instant import HOUR
from simulator import planted
from simulator.faults import KINDS
from simulator.planted_dependencies import DEPENDENCY_FAULTS
from simulator.planting import plant

DEFAULT_HOURS: Final = 2.0
DEFAULT_SCHEDULES: Final = 20
PLANTED_HOURS: Final = 0.5
PLANTED_CALM: Final = 2 * HOUR
"""Sound worlds settle within half an hour; with a fault in them many never do."""

HELD, BROKEN, USAGE = 0, 1, 2


def main(arguments: Sequence[str]) -> int:
    """0 when every promise held (or the planted fault was caught), 1 otherwise, 2 for wrong use."""
    options = _parse(arguments)
    if options.list_planted:
        for fault in planted.FAULTS:
            print(f"{fault.name:28} {fault.what}")
        return HELD
    if options.planted is not None:
        return _run_planted(options)
    return _run_seeds(options)


def _run_seeds(options: Any) -> int:
    # Imported late: a planted fault must be there before the product is loaded.
    from simulator.report import lines
    from simulator.simulation import simulate

    broken = 0
    for seed in range(options.seed, options.seed + options.seeds):
        hours = options.hours or DEFAULT_HOURS
        report = simulate(
            seed,
            hours,
            options.schedules,
            options.faults,
            zone_release=options.zone_release,
            families=options.families,
            drains=options.drains,
        )
        for line in lines(report, verbose=options.seeds == 1 or options.verbose):
            print(line)
        broken += report.violation is not None
        if options.seeds > 1 and sys.stderr.isatty():
            print(f"\r{seed - options.seed + 1} of {options.seeds} seeds", end="", file=sys.stderr)
    if options.seeds > 1:
        print(f"{options.seeds} seeds from {options.seed} on: every promise held in {options.seeds - broken}")
    return BROKEN if broken else HELD


def _run_planted(options: Any) -> int:
    fault = plant(options.planted)
    from simulator.report import lines
    from simulator.simulation import simulate

    for seed in range(options.seed, options.seed + options.seeds):
        report = simulate(
            seed,
            options.hours or PLANTED_HOURS,
            options.schedules,
            options.faults,
            families=fault in DEPENDENCY_FAULTS,
            always=fault.always,
            longest_calm=PLANTED_CALM,
        )
        if report.violation is not None:
            print(f"{fault.name}: caught by seed {seed}, the {seed - options.seed + 1}. of {options.seeds}")
            for line in lines(report, verbose=options.verbose):
                print(line)
            return HELD
    print(f"{fault.name}: NOT caught within {options.seeds} seeds ({fault.what})")
    return BROKEN


def _parse(arguments: Sequence[str]) -> Any:
    parser = argparse.ArgumentParser(
        prog="python -m simulator",
        description="A deterministic world around the production services: the same seed gives the same history.",
    )
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--seeds", type=_positive, default=1, help="how many seeds (default 1)")
    parser.add_argument("--hours", type=float, default=None, help=f"hours of faults (default {DEFAULT_HOURS:g})")
    parser.add_argument("--schedules", type=_positive, default=DEFAULT_SCHEDULES, help="schedules in the world")
    parser.add_argument(
        "--faults", type=_kinds, default=KINDS, help=f"none, or a list with commas of: {', '.join(KINDS)}"
    )
    parser.add_argument("--planted", choices=sorted(planted.BY_NAME), help="plant this fault; 0 only if it is caught")
    parser.add_argument("--list-planted", action="store_true", help="the faults that can be planted")
    parser.add_argument(
        "--zone-release", action="store_true", help="deploy another release of the zone data in mid-run"
    )
    parser.add_argument("--families", action="store_true", help="a tenant more, whose schedules run after one another")
    parser.add_argument("--drains", action="store_true", help="drain the installation now and then, and release it")
    parser.add_argument("--verbose", action="store_true", help="the whole report of each seed")
    options = parser.parse_args(arguments)
    if options.hours is not None and not 0 < options.hours <= 1_000:
        parser.error("--hours takes more than 0 and at most 1000")
    return options


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def _kinds(text: str) -> tuple[str, ...]:
    if text == "none":
        return ()
    kinds = tuple(part.strip() for part in text.split(","))
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no kind of fault is called {unknown[0]!r}; there are: {', '.join(KINDS)}")
    return kinds


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
