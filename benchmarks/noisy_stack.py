"""How late quiet tenants start beside a noisy one, on the deployed local stack: lags alone, beside it, and the ratio.

    python -m benchmarks.noisy_stack

The same in virtual time, with 100,000 fires and 64 shards, is `python -m simulator.noisy`.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from local.demo import Api
from local.testing import StackProcess, running_stack

QUIET = 15
NOISY_FIRES = 300
RATE = 10
"""Fires a second, and as many at once after a rest, that the noisy tenant may have."""

REGISTERING = timedelta(seconds=90)
"""From the first request of a round to the second in which everything is due."""

PATIENCE_SECONDS = 240
LOOK_SECONDS = 5


class Tenant:
    """A tenant of its own, with a key of its own."""

    def __init__(self, stack: StackProcess, name: str, quotas: dict[str, int] | None = None) -> None:
        platform = api(stack, stack.facts["key"])
        platform.call("POST", "/v1/tenants", {"id": name, "quotas": quotas or {}})
        key = platform.call("POST", f"/v1/tenants/{name}/keys", {"role": "editor"})["key"]
        self._api = api(stack, key)

    def fire_at(self, name: str, due: datetime) -> None:
        """A schedule that fires once."""
        at = due.isoformat().replace("+00:00", "Z")
        self._api.call("PUT", f"/v1/schedules/{name}", {"trigger": {"at": at}, "target": {"handler": "demo.heartbeat"}})

    def run(self, name: str) -> dict[str, Any] | None:
        """The one run of a schedule, once it is over."""
        runs = self._api.call("GET", f"/v1/schedules/{name}/runs")["runs"]
        return next((run for run in runs if run["finished_at"] is not None), None)

    def wait_for(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Their runs, as soon as all are over."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        found: dict[str, dict[str, Any]] = {}
        while len(found) < len(names):
            assert time.monotonic() < deadline, f"{len(names) - len(found)} of {len(names)} fires have not run"
            time.sleep(LOOK_SECONDS)
            for name in [name for name in names if name not in found]:
                run = self.run(name)
                if run is None:
                    break  # The others are hardly over either; each look is a request, and a key may have so many.
                found[name] = run
        return [found[name] for name in names]


def api(stack: StackProcess, key: str) -> Api:
    """The stack's API, for whoever has `key`."""
    where = urlsplit(stack.facts["url"])
    assert where.hostname is not None
    assert where.port is not None
    return Api(where.port, where.hostname, key)


def lags(quiet: Sequence[Tenant], name: str, noisy: Tenant | None = None) -> tuple[list[float], list[dict[str, Any]]]:
    """How late one fire of each quiet tenant starts, shortest first; and the runs of the noisy one, due with them."""
    due = (datetime.now(UTC) + REGISTERING).replace(microsecond=0)
    many = [f"{name}-{number:03}" for number in range(NOISY_FIRES if noisy else 0)]
    for tenant in quiet:
        tenant.fire_at(name, due)
    for one in many:
        assert noisy is not None
        noisy.fire_at(one, due)
    assert datetime.now(UTC) < due, "registering took too long; the round would say nothing"
    time.sleep((due - datetime.now(UTC)).total_seconds())
    found = sorted(run["lag_seconds"] for tenant in quiet for run in tenant.wait_for([name]))
    return found, noisy.wait_for(many) if noisy else []


def main() -> None:
    """All figures."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        running_stack(Path(folder), "--quiet") as stack,
    ):
        quiet = [Tenant(stack, f"quiet-{number}") for number in range(QUIET)]
        noisy = Tenant(stack, "noisy", {"fires_per_second": RATE, "burst": RATE})
        print("registering; each round takes some two minutes", file=sys.stderr)
        lags(quiet, "warm-up")
        alone, _ = lags(quiet, "alone")
        beside, runs = lags(quiet, "beside", noisy)
    deferred = sum(run["caught_up"] is not None for run in runs)
    show("quiet tenants alone", alone)
    show(f"beside {NOISY_FIRES} fires of one tenant with {RATE} a second", beside)
    print(f"longest beside / alone: {beside[-1] / alone[-1]:.2f}, of {QUIET} fires each")
    print(f"the noisy tenant's fires: {len(runs)} of {NOISY_FIRES} ran, {deferred} of them deferred")


def show(what: str, taken: Sequence[float]) -> None:
    """One line of the report."""
    print(f"{what:62} p50 {statistics.median(taken):6.2f} s   longest {taken[-1]:6.2f} s")


if __name__ == "__main__":
    main()
