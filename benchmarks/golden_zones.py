"""`python -m benchmarks.golden_zones`: the product against the oracle, over every canonical zone and 2018 to 2037.

Around each change of each zone every representative expression under every policy, against the golden table
`tests/cases/golden_zones.txt`; then some expressions through every day of the twenty years, against the oracle. Ten
minutes of CPU. `--write` makes the table anew, from the oracle alone; `--zones Europe/Paris,Asia/Gaza` looks at these
only.
"""

import argparse
import sys
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

from cronfleet.domain.instant import from_datetime, to_datetime
from cronfleet.domain.trigger import fires, parse_trigger
from simulator import golden
from simulator.golden import DAILY, END, FIRST, POLICIES

TABLE: Final = Path(__file__).parent.parent / "tests" / "cases" / "golden_zones.txt"


def ours(expression: str, zone: str, gap: str, overlap: str, after: datetime, until: datetime) -> Iterable[datetime]:
    """`Fires` as the product names them."""
    form = {"cron": expression, "timezone": zone, "gap": gap, "overlap": overlap}
    return map(to_datetime, fires(parse_trigger(form, 0), from_datetime(after), from_datetime(until)))


def _differs(name: str, expression: str, gap: str, overlap: str) -> str | None:
    case = expression, name, gap, overlap, FIRST, END
    found, expected = list(ours(*case)), list(golden.oracle(*case))
    if found == expected:
        return None
    wrong = min(set(found) ^ set(expected))
    return f"{expression} {gap} {overlap}: {wrong} is {'not named' if wrong in expected else 'named'}"


def _wrong(name: str, expected: str | None, *, around_only: bool) -> list[str]:
    """What the product does otherwise in one zone."""
    found = golden.line(name, ours)
    wrong = [] if found == expected else [f"around its changes: {found}, and the table has {expected}"]
    if around_only:
        return wrong
    daily = (_differs(name, expression, *policy) for expression in DAILY for policy in POLICIES)
    return wrong + [each for each in daily if each]


def _check(names: list[str], *, around_only: bool) -> int:
    table = {line.split()[0]: line for line in TABLE.read_text(encoding="ascii").splitlines()}
    bad, begin = 0, time.process_time()
    for name in names:
        wrong = _wrong(name, table.get(name), around_only=around_only)
        bad += bool(wrong)
        print(name, *(wrong or ["as it should be"]), sep="\n  ", flush=True)
    print(f"{len(names)} zones, {bad} of them wrong, {time.process_time() - begin:.0f} s of CPU")
    return min(bad, 1)


def _write(names: list[str]) -> int:
    lines = []
    for name in names:
        lines.append(golden.line(name, golden.oracle))
        print(lines[-1], flush=True)
    TABLE.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    return 0


def main() -> int:
    """Prints a line for each zone, and what is wrong with it."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--write", action="store_true")
    asked.add_argument("--around", action="store_true", help="around the changes of the clock only")
    asked.add_argument("--zones", default=",".join(golden.canonical_zones()))
    options = asked.parse_args()
    names = options.zones.split(",")
    return _write(names) if options.write else _check(names, around_only=options.around)


if __name__ == "__main__":
    sys.exit(main())
