"""`python -m benchmarks`: every figure of the budgets, one after the other (`make bench`)."""

import os
import subprocess
import sys
from typing import Final

FIGURES: Final = ("next_fire", "preview", "lint", "units", "dispatcher_cpu", "imports", "worker_overhead")


def main() -> None:
    """Each in a process of its own, so that none profits from what another has loaded."""
    environment = {**os.environ, "PYTHONTZPATH": ""}
    failed = []
    for name in FIGURES:
        print(f"== {name}", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        if subprocess.run(command, check=False, env=environment).returncode:
            failed.append(name)
        print(flush=True)
    if failed:
        sys.exit(f"no figure from {', '.join(failed)}")


if __name__ == "__main__":
    main()
