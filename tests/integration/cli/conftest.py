"""The command line in front of the real API on the memory store."""

from collections.abc import Iterator

import pytest

from tests.support.api import api_on_memory
from tests.support.command_line import CommandLine, command_line


@pytest.fixture
def cronfleet(monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandLine]:
    with command_line(api_on_memory(monkeypatch), monkeypatch) as line:
        yield line
