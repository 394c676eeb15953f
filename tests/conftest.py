"""What every test shares."""

import functools
import os
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# Zones come from the pinned package, never from the host (docs/decisions/0001-cron-and-zones.md).
os.environ["PYTHONTZPATH"] = ""

# A slow machine is no bug: speed is measured in benchmarks/, never asserted in tests.
settings.register_profile("cronfleet", deadline=None)
settings.load_profile("cronfleet")

STACK = "tests/e2e"
SLOWEST = "tests/e2e/test_local_stack.py"
"""Deployed stacks are mostly waited for: one process has this file, another one all the others of the room."""
ROOM_OF_ONE_PROCESS = "tests/integration/infra"
"""Whose files share something dear, the synthesised app: one process runs them all."""
WORLDS = "tests/simulation"
"""Where no test shares anything, and some take minutes."""


class ByFileOrRoom(LoadScopeScheduling):
    """Where tests are spread over processes, each file stays together in one, and so does the synthesised app.

    Worlds go one by one. What comes first, the deployed stack, is slowest, so the order is that of the collection.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if file.startswith(f"{WORLDS}/"):
            return nodeid
        if file.startswith(f"{STACK}/") and file != SLOWEST:
            return STACK
        return ROOM_OF_ONE_PROCESS if file.startswith(f"{ROOM_OF_ONE_PROCESS}/") else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFileOrRoom:
    """How `make test` spreads the tests."""
    return ByFileOrRoom(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Where tests run side by side, those that only compute let the deployed stack go first: it has a clock to keep."""
    if "PYTEST_XDIST_WORKER" in os.environ and not item.nodeid.startswith(f"{STACK}/"):
        _let_others_go_first()


@functools.cache
def _let_others_go_first() -> None:
    os.nice(10)
