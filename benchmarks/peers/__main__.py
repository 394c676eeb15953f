"""`python -m benchmarks.peers`: the same herd on others of the trade and on Cronfleet, and one table.

    python -m benchmarks.peers                         10,000 schedules, two passes each: an hour (`make bench-peers`)
    python -m benchmarks.peers --schedules 1000        about half of it
    python -m benchmarks.peers bullmq skip-locked      some of them, beside Cronfleet if that is named too
    python -m benchmarks.peers --json peers.json       also everything that was measured
    python -m benchmarks.peers --write                 also the table into benchmarks/RESULTS.md

Each peer runs on a server of its own, which this starts on loopback and stops: nothing has to be installed. At first
use the peers and their servers are installed into .cache/peers. Read docs/peers.md for what is compared, and what not.
"""

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from benchmarks.marked import replaced
from benchmarks.peers import canned, environment, passes, table
from benchmarks.peers.canned import Canned
from benchmarks.peers.catalogue import BY_NAME, Peer
from benchmarks.peers.failure import Failed
from benchmarks.peers.table import Row
from benchmarks.results import DOCUMENT
from local.errors import StackError

SCHEDULES: Final = 10_000
PATIENCE_SECONDS: Final = 90.0
PART: Final = "beside-the-peers"
COLUMNS: Final = 170
"""Where nobody says how wide the page is."""
PASSES: Final = ("clean", "killed")


def main() -> int:
    """Run the peers one after the other; the answer is the exit status."""
    asked = _parsed()
    # Whoever ends this ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    console = Console() if sys.stdout.isatty() else Console(width=COLUMNS)
    try:
        environment.install()
    except Failed as failed:
        console.print(f"[red]{failed}[/red]: what needs it fails below, the rest goes on")
    about = _about(asked.schedules)
    found = [] if asked.without_canned else _canned(console)
    names = asked.names or list(BY_NAME)
    rows = []
    for place, name in enumerate(names, start=1):
        console.rule(f"{BY_NAME[name].title} ({place} of {len(names)})", align="left")
        rows.append(_row(BY_NAME[name], asked, console))
    console.print(table.rich_table(rows, found))
    for line in table.notes(rows, found):
        console.print(f"- {line}", highlight=False)
    if asked.json:
        asked.json.write_text(json.dumps(table.as_json(rows, found, about), indent=1))
    if asked.write:
        _write(rows, found, about)
    return 1 if all(row.clean is None and row.killed is None for row in rows) else 0


def _parsed() -> Any:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", metavar="peer", help=f"some of: {', '.join(BY_NAME)}")
    parser.add_argument("--schedules", type=int, default=SCHEDULES, help=f"size of the herd ({SCHEDULES:,})")
    parser.add_argument("--passes", nargs="+", choices=PASSES, default=PASSES, help="both, unless one is named")
    parser.add_argument(
        "--patience",
        type=float,
        default=PATIENCE_SECONDS,
        help=f"seconds without another call after which what is open is stuck ({PATIENCE_SECONDS:.0f})",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/RESULTS.md")
    parser.add_argument("--without-canned", action="store_true", help="leave out benchmarks.dispatcher_cpu")
    asked = parser.parse_args()
    unknown = sorted(set(asked.names) - set(BY_NAME))
    if unknown:
        parser.error(f"no peer is called {unknown[0]!r}; there are {', '.join(BY_NAME)}")
    if not 1 <= asked.schedules <= 100_000:
        parser.error(f"{asked.schedules} schedules: write a number from 1 to 100,000")
    return asked


def _canned(console: Console) -> list[Canned]:
    found = []
    for way in canned.WAYS:
        console.rule(way.title, align="left")
        try:
            found.append(canned.measured(way))
        except Failed as failed:
            console.print(f"[red]{failed}[/red]")
        else:
            console.print(f"{found[-1].seconds:.3f} s of CPU for 1,000 firings")
    return found


def _row(peer: Peer, asked: Any, console: Console) -> Row:
    begin = time.monotonic()

    def say(text: str) -> None:
        console.print(f"[dim]{time.monotonic() - begin:4.0f} s[/dim] {text}", highlight=False)

    found: dict[str, Any] = {}
    try:
        for name in asked.passes:
            say(f"{name}: {asked.schedules:,} schedules")
            found[name] = passes.play(peer, asked.schedules, asked.patience, say, is_killed=name == "killed")
            say(f"{name}: {found[name].tally}, load {os.getloadavg()[0]:.1f}")
    # One that cannot be started or driven, for whatever reason, must not cost the others their figures.
    except (Failed, StackError, OSError, ValueError) as error:
        console.print(f"[red]{peer.title}: {error}[/red]")
        return Row(peer, reason=str(error), **found)
    return Row(peer, **found)


def _about(schedules: int) -> dict[str, Any]:
    return {
        "schedules": schedules,
        "begun_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "processor": _processor(),
        "python": platform.python_version(),
        "load_average_before": os.getloadavg()[0],
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _write(rows: Sequence[Row], found: Sequence[Canned], about: dict[str, Any]) -> None:
    first = (
        f"{about['schedules']:,} schedules; begun {about['begun_at']}; {about['cores']} cores, {about['processor']}, "
        f"Python {about['python']}; load average before {about['load_average_before']:.1f}."
    )
    content = f"{first}\n\n{table.markdown(rows, found)}"
    document = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(replaced(document, {PART: content}, DOCUMENT.name), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
