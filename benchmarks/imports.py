"""How much CPU each function takes to be ready in a fresh process, with byte code and without.

    python -m benchmarks.imports

"Imported" is what Lambda does before the first event; "and built" adds what the first event does: the adapters and
clients that `bootstrap` joins. Byte code is kept in a folder of its own, so that nothing of earlier runs helps or
hinders. CPU and not the clock's time, so that a busy machine says the same. The budget is 0.6 s with byte code.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from cronfleet.settings import RUN_QUEUES

ROOT: Final = Path(__file__).parent.parent
BUDGET_SECONDS: Final = 0.6
ROUNDS: Final = 5
WITHOUT_ROUNDS: Final = 2
FUNCTIONS: Final = {
    "api": "functions.api.routes.schedules",
    "authorizer": "functions.authorizer.handler",
    "ticker": "functions.ticker.handler",
    "dispatcher": "functions.dispatcher.handler",
    "worker": "functions.worker.handler",
    "sweeper": "functions.sweeper.handler",
    "clerk": "functions.clerk.handler",
}
"""Each function with the module that holds its `_service`."""

TRACING: Final = {
    "api": "functions.api.tracing:_tracing",
    "worker": "functions.worker.handler:_service",
    "clerk": "functions.clerk.handler:_service",
}
"""The functions that deliver spans, with what builds it where tracing is on; the second table is theirs."""

_CHILD: Final = """
import importlib, json, sys, time
name, builder = sys.argv[1:]
builder, _, build = builder.partition(":")
begin = time.process_time()
importlib.import_module(f"functions.{name}.handler")
imported = time.process_time()
getattr(importlib.import_module(builder), build or "_service")()
print(json.dumps([imported - begin, time.process_time() - begin, len(sys.modules)]))
"""
_ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "CRONFLEET_TABLE_PREFIX": "cronfleet",
    "CRONFLEET_SHARDS": "2",
    "CRONFLEET_TICK_QUEUE_URL": "http://127.0.0.1/ticks",
    "CRONFLEET_ERRAND_QUEUE_URL": "http://127.0.0.1/errands",
    "CRONFLEET_RUN_QUEUE_URLS": json.dumps({tier: f"http://127.0.0.1/{tier}" for tier in RUN_QUEUES}),
    "POWERTOOLS_SERVICE_NAME": "benchmark",
    "POWERTOOLS_METRICS_NAMESPACE": "Cronfleet",
    "PYTHONTZPATH": "",
}


def ready(name: str, cache: Path, *, write: bool, is_traced: bool = False) -> tuple[float, float, int]:
    """CPU seconds until imported and until built, and the modules loaded by then, in a fresh process."""
    environment = {**os.environ, **_ENVIRONMENT, "PYTHONPYCACHEPREFIX": str(cache)}
    environment["CRONFLEET_TRACES"] = "http://127.0.0.1/v1/traces" if is_traced else ""
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if not write:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    path = os.pathsep.join((str(ROOT), str(ROOT / "layers" / "core" / "python")))
    said = subprocess.run(
        [sys.executable, "-c", _CHILD, name, TRACING[name] if is_traced else FUNCTIONS[name]],
        env={**environment, "PYTHONPATH": path},
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    imported, built, modules = json.loads(said.stdout.splitlines()[-1])
    return imported, built, modules


def _measured(name: str, *, with_byte_code: bool, is_traced: bool = False) -> tuple[float, float, int]:
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        if with_byte_code:
            ready(name, cache, write=True, is_traced=is_traced)
        rounds = ROUNDS if with_byte_code else WITHOUT_ROUNDS
        found = [ready(name, cache, write=False, is_traced=is_traced) for _ in range(rounds)]
    return (
        statistics.median(one[0] for one in found),
        statistics.median(one[1] for one in found),
        found[0][2],
    )


def main() -> None:
    """One line for each function."""
    print("function     imported  and built   without byte code   modules")
    for name in FUNCTIONS:
        imported, built, modules = _measured(name, with_byte_code=True)
        _, cold, _ = _measured(name, with_byte_code=False)
        print(f"{name:12} {imported:6.2f} s   {built:6.2f} s            {cold:6.2f} s   {modules:7}")
    print("where spans are delivered:")
    for name in TRACING:
        imported, built, modules = _measured(name, with_byte_code=True, is_traced=True)
        print(f"{name:12} {imported:6.2f} s   {built:6.2f} s            {'':8}   {modules:7}")
    print(f"budget: {BUDGET_SECONDS} s with byte code")


if __name__ == "__main__":
    main()
