"""How much CPU and memory each function takes to be ready in a fresh process, with byte code and without.

    python -m benchmarks.imports
    python -m benchmarks.imports --rounds 9 api     some of them, more carefully

"Imported" is what Lambda does before the first event; "and built" adds what the first event does: the adapters and
clients that `bootstrap` joins. Byte code is kept in a folder of its own, so that nothing of earlier runs helps or
hinders. CPU and not the clock's time, the least of some rounds, so that a busy machine says the same. Memory is what is
resident, Python's own included. The budget is 0.6 s with byte code.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, report
from cronfleet.settings import RUN_QUEUES

ROOT: Final = Path(__file__).parent.parent
BUDGET_SECONDS: Final = 0.6
ROUNDS: Final = 3
WITHOUT_ROUNDS: Final = 2
KILOBYTES: Final = 1_024

_HANDLER: Final = "functions.{}.handler"
_SERVICE: Final = "entry._service()"
FUNCTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "api": (_HANDLER.format("api"), "sys.modules['functions.api.routes.schedules']._service()"),
    **{
        name: (_HANDLER.format(name), _SERVICE)
        for name in ("authorizer", "ticker", "dispatcher", "worker", "sweeper", "clerk", "dead_letters")
    },
    "long_worker": ("functions.long_worker.place", "entry.Place(0, entry.options_of())"),
}
"""Each function with the module that it begins with (`entry`), and what builds its service at the first event."""

TRACING: Final[Mapping[str, tuple[str, str]]] = {
    "api": (_HANDLER.format("api"), f"sys.modules['functions.api.tracing']._tracing(); {FUNCTIONS['api'][1]}"),
    "worker": FUNCTIONS["worker"],
    "clerk": FUNCTIONS["clerk"],
}
"""The functions that deliver spans, with what builds it where tracing is on."""

_CHILD: Final = """
import importlib, json, sys, time

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

module, build = sys.argv[1:]
begin = time.process_time()
entry = importlib.import_module(module)
imported, memory = time.process_time(), resident()
exec(build)
print(json.dumps([imported - begin, time.process_time() - begin, len(sys.modules), memory, resident()]))
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


@dataclass(frozen=True, slots=True)
class Ready:
    """What a fresh process took: CPU seconds, modules, and bytes resident."""

    imported: float
    built: float
    modules: int
    memory_imported: int
    memory_built: int


def ready(name: str, cache: Path, *, write: bool, is_traced: bool = False) -> Ready:
    """One fresh process of the function `name`, whose byte code is kept at `cache`."""
    environment = {**os.environ, **_ENVIRONMENT, "PYTHONPYCACHEPREFIX": str(cache)}
    environment["CRONFLEET_LONG_FOLDER"] = str(cache / "long-worker")
    environment["CRONFLEET_TRACES"] = "http://127.0.0.1/v1/traces" if is_traced else ""
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if not write:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    path = os.pathsep.join((str(ROOT), str(ROOT / "layers" / "core" / "python")))
    said = subprocess.run(
        [sys.executable, "-c", _CHILD, *(TRACING if is_traced else FUNCTIONS)[name]],
        env={**environment, "PYTHONPATH": path},
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return Ready(*json.loads(said.stdout.splitlines()[-1]))


def measured(name: str, rounds: int, *, with_byte_code: bool, is_traced: bool = False) -> Ready:
    """The quickest of `rounds` processes."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        if with_byte_code:
            ready(name, cache, write=True, is_traced=is_traced)
        return min(
            (ready(name, cache, write=False, is_traced=is_traced) for _ in range(rounds)), key=lambda one: one.built
        )


def figures(names: Sequence[str], rounds: int) -> Iterator[Figure]:
    """A figure of each function, and of those that deliver spans."""
    for name in names:
        found = measured(name, rounds, with_byte_code=True)
        without = measured(name, min(rounds, WITHOUT_ROUNDS), with_byte_code=False)
        yield _figure(
            f"{name}, ready for its first event", found, f"{without.built / found.built:.1f} times that without"
        )
    for name in [name for name in names if name in TRACING]:
        found = measured(name, rounds, with_byte_code=True, is_traced=True)
        yield _figure(f"{name}, the same where spans are delivered", found)


def _figure(what: str, found: Ready, ratio: str = "") -> Figure:
    memory = f"{_megabytes(found.memory_imported)} and {_megabytes(found.memory_built)} MB"
    return Figure(
        "Functions",
        what,
        f"{found.imported:.2f} s imported, {found.built:.2f} s built; {memory}; {found.modules} modules",
        ratio,
        f"≤ {BUDGET_SECONDS} s, with byte code",
        found.built <= BUDGET_SECONDS,
    )


def _megabytes(resident: int) -> str:
    return f"{resident / KILOBYTES / KILOBYTES:.0f}"


def main() -> None:
    """One line for each function."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.imports", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", metavar="name", help=f"some of: {', '.join(FUNCTIONS)}")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args()
    for figure in figures(asked.names or list(FUNCTIONS), asked.rounds):
        report(figure)


if __name__ == "__main__":
    main()
