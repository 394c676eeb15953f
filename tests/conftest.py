"""What every test shares."""

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

ROOMS_OF_ONE_PROCESS = ("tests/e2e", "tests/integration/infra")
"""Folders whose files share something dear, a deployed stack or a synthesised app: one process runs them all."""


class ByFileOrRoom(LoadScopeScheduling):
    """Where tests are spread over processes, each file stays together in one, and so does each room that is dear.

    The first room is the slowest, so files are handed out in the order in which they were collected.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((room for room in ROOMS_OF_ONE_PROCESS if file.startswith(f"{room}/")), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFileOrRoom:
    """How `make test` spreads the tests."""
    return ByFileOrRoom(config, log)
