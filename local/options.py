"""What the user may choose: the arguments of `python -m local`."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
DEFAULT_PORT: Final = 8787
PORT_VARIABLE: Final = "CRONFLEET_PORT"


@dataclass(frozen=True, slots=True)
class Options:
    """`port` 0 means any free one. `state` is the folder that holds all that must survive a stop."""

    port: int
    state: Path
    demo: bool
    quiet: bool
    fresh: bool


def parse(arguments: Sequence[str]) -> Options:
    """The options in `arguments`; a wrong one ends the process with a line that says so (argparse)."""
    parser = argparse.ArgumentParser(
        prog="python -m local", description="Run the whole of Cronfleet on this machine until Ctrl-C."
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=os.environ.get(PORT_VARIABLE, str(DEFAULT_PORT)),
        help=f"the one port in front of everything; 0 takes a free one ({PORT_VARIABLE}, default {DEFAULT_PORT})",
    )
    parser.add_argument(
        "--state-dir",
        type=Path,
        default=ROOT / ".local" / "state",
        help="where tables, queues and functions are kept between runs (default .local/state)",
    )
    parser.add_argument("--no-demo", action="store_true", help="register no demo schedules")
    parser.add_argument("--quiet", action="store_true", help="print no line for each run")
    parser.add_argument("--fresh", action="store_true", help="forget what the last run left, and start empty")
    chosen = parser.parse_args(arguments)
    return Options(
        port=chosen.port,
        state=chosen.state_dir.resolve(),
        demo=not chosen.no_demo,
        quiet=chosen.quiet,
        fresh=chosen.fresh,
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: write a number from 0 to 65535")
    return int(text)
