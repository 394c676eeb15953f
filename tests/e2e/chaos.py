"""Chaos: a stack under load, whose every process but the emulator is killed, frozen and misled, and the exact sum.

    python -m tests.e2e.chaos --minutes 5 --seed 7

kills (SIGKILL) and freezes (SIGSTOP, for longer than leases last) whatever it finds, and shifts the functions' clocks
(libfaketime), while schedules fire tens of times a second and callers pause, resume, edit, delete and run. Then it
waits until all has come to rest, and adds up from outside: each nominal time of each schedule has exactly one entry,
and no promise was broken. It prints what it did, every complaint, and lag and processor time in calm. The exit status
is 1 if there is a complaint.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from local.testing import StackProcess
from tests.e2e.callers import Callers, now
from tests.e2e.clocks import TOLERANCE, Clocks
from tests.e2e.ledger import SECOND
from tests.e2e.storm import Storm
from tests.e2e.verdict import calm, settle
from tests.support import faketime

SETTLE_SECONDS = 25 * 60
"""A lost message is sent again after five minutes, and a mass of them ten a minute."""


def main() -> int:
    """One storm on a stack of its own."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.chaos", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5, help="how long the storm lasts (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="what it strikes, and what callers do (default 1)")
    parser.add_argument("--scale", type=int, default=3, help="plain schedules: 1.7 firings a second each (default 3)")
    parser.add_argument("--right-clocks", action="store_true", help="shift no clock")
    parser.add_argument("--state-dir", type=Path, help="where the stack is kept (default: a new temporary folder)")
    chosen = parser.parse_args()
    state = chosen.state_dir or Path(tempfile.mkdtemp(prefix="cronfleet-chaos-"))
    stack = StackProcess(state, ("--port", "0", "--no-demo", "--quiet", "--fresh")).start().wait_until_ready()
    stack.arguments = stack.arguments[:-1]
    try:
        return _chaos(stack, chosen)
    finally:
        stack.stop()


def _chaos(stack: StackProcess, chosen: argparse.Namespace) -> int:
    library = None if chosen.right_clocks else faketime.library()
    if library is None and not chosen.right_clocks:
        _tell(f"CLOCKS STAY RIGHT: {faketime.MISSING}")
    clocks = Clocks(stack, library) if library else None
    if clocks:
        clocks.fit()
    callers = Callers(stack, chosen.seed, TOLERANCE if clocks else 0)
    callers.register(chosen.scale, chosen.minutes)
    _tell(f"{len(callers.orders)} schedules, state in {stack.state}; {calm(stack, callers, 30)}")
    callers.start()
    storm = Storm(stack, chosen.seed, clocks)
    try:
        storm.rage(chosen.minutes * 60)
    finally:
        callers.stop()
    _tell(f"struck {storm.done.total()} times: {dict(sorted(storm.done.items()))}")
    verdict = settle(stack, callers, clocks, now() - SECOND, SETTLE_SECONDS, _tell)
    _tell(str(verdict))
    _tell(calm(stack, callers, 60))
    for complaint in verdict.complaints:
        _tell(f"COMPLAINT {complaint}")
    return 1 if verdict.complaints else 0


def _tell(line: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
