"""Requests a second and the slowest of a hundred over HTTP, on the local stack, which this deploys and ends.

    python -m benchmarks.api_stack

Some callers ask side by side, each as soon as it is answered; what is in between is the front, the emulator's gateway,
authorizer and Lambda, each on the same cores. It says what the whole local stack answers, and little of AWS: what the
function itself takes is `benchmarks.api`. It takes some minutes.
"""

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.figures import Figure, report
from benchmarks.noisy_stack import api
from local.demo import Api
from local.testing import StackProcess, running_stack

TENANT: Final = "asking"
CALLERS: Final = 4
SECONDS: Final = 10
SCHEDULES: Final = 20
RATE: Final = 10_000
SLOWEST: Final = 0.99
BODY: Final = {"trigger": {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"}, "target": {"handler": "demo.heartbeat"}}

Ask = Callable[[Api, int], Any]
ROUTES: Final[dict[str, Ask]] = {
    "PUT a schedule": lambda one, n: one.call("PUT", f"/v1/schedules/nightly-{n % SCHEDULES}", BODY),
    "GET a schedule": lambda one, n: one.call("GET", f"/v1/schedules/nightly-{n % SCHEDULES}"),
    f"GET {SCHEDULES} schedules": lambda one, _: one.call("GET", "/v1/schedules"),
}


def callers(stack: StackProcess) -> list[Api]:
    """As many as ask side by side, of a tenant that may ask as often as it likes."""
    platform = api(stack, stack.facts["key"])
    platform.call("POST", "/v1/tenants", {"id": TENANT, "quotas": {"requests_per_second": RATE}})
    key = platform.call("POST", f"/v1/tenants/{TENANT}/keys", {"role": "editor"})["key"]
    return [api(stack, key) for _ in range(CALLERS)]


def asked(asking: list[Api], ask: Ask) -> list[float]:
    """Seconds of each request that was answered within `SECONDS`, shortest first."""
    taken: list[list[float]] = [[] for _ in asking]
    until = time.monotonic() + SECONDS

    def go_on(caller: Api, mine: list[float]) -> None:
        while (begin := time.monotonic()) < until:
            ask(caller, len(mine))
            mine.append(time.monotonic() - begin)

    threads = [threading.Thread(target=go_on, args=one) for one in zip(asking, taken, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(seconds for mine in taken for seconds in mine)


def figures() -> Iterator[Figure]:
    """A figure for each route."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        running_stack(Path(folder), "--quiet") as stack,
    ):
        asking = callers(stack)
        for what, ask in ROUTES.items():
            print(f"{what}: {SECONDS} s", file=sys.stderr)
            for number in range(SCHEDULES):
                ask(asking[0], number)
            taken = asked(asking, ask)
            slowest = taken[int(len(taken) * SLOWEST)] * 1e3
            at = f"{len(taken) / SECONDS:,.0f} a second; p99 {slowest:.0f} ms by the clock"
            yield Figure("API", f"{what}, over HTTP on the local stack, {CALLERS} callers", at)


def main() -> None:
    """Print the figures."""
    for figure in figures():
        report(figure)


if __name__ == "__main__":
    main()
