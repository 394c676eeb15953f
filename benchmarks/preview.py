"""`python -m benchmarks.preview`: lines a second of `python -m cronfleet.preview`, and how soon it answers the first.

Every line has an expression of its own, so that no cache helps, and asks for five fires in one of some zones, in some
year. CPU time of the child process, which leaves out what else the machine does.
"""

import json
import os
import random
import resource
import subprocess
import sys
from typing import Final

from benchmarks.figures import Figure, report

LINES: Final = 20_000
STARTS: Final = 10
ZONES: Final = (
    "America/New_York", "Europe/Paris", "Asia/Kolkata", "UTC", "Australia/Lord_Howe", "America/Sao_Paulo",
    "Asia/Tokyo", "Africa/Casablanca",
)  # fmt: skip


def _field(rng: random.Random, low: int, high: int) -> str:
    forms = ("*", f"*/{rng.randint(1, high)}", str(rng.randint(low, high)))
    return rng.choice([*forms, f"{rng.randint(low, high)}-{rng.randint(low, high)}"])


def _line(rng: random.Random, lint: bool) -> str:
    fields = [str(rng.randint(0, 59)), *(_field(rng, *bounds) for bounds in ((0, 23), (1, 28), (1, 12), (0, 6)))]
    after = f"20{rng.randint(18, 37)}-0{rng.randint(1, 9)}-{rng.randint(10, 28)}T12:00:00Z"
    return json.dumps({"cron": " ".join(fields), "tz": rng.choice(ZONES), "after": after, "count": 5, "lint": lint})


def _seconds(lines: list[str]) -> float:
    """CPU of a preview that answers `lines`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command, environment = [sys.executable, "-m", "cronfleet.preview"], {**os.environ, "PYTHONTZPATH": ""}
    text = "".join(f"{line}\n" for line in lines).encode()
    done = subprocess.run(command, input=text, capture_output=True, check=True, env=environment)
    assert done.stdout.count(b'"fires"') == len(lines), "a line was refused"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Prints the figures."""
    rng = random.Random(1)
    plain, looked_over = ([_line(rng, lint) for _ in range(count)] for lint, count in ((False, LINES), (True, 2_000)))
    start = min(_seconds(plain[:1]) for _ in range(STARTS))
    spent, linted = _seconds(plain) - start, _seconds(looked_over) - start
    report(
        Figure("Fires", "`cronfleet.preview`, lines a second, each new", f"{len(plain) / spent:,.0f} a second of CPU"),
        Figure("Fires", "the same with words and warnings", f"{len(looked_over) / linted:,.0f} a second of CPU"),
        Figure("Fires", "the same, from start to first answer", f"{start * 1e3:.0f} ms of CPU"),
    )


if __name__ == "__main__":
    main()
