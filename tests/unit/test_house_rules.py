"""Rules of the house that no tool has."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
ROOMS = (
    "benchmarks",
    "cli",
    "functions",
    "infra",
    "layers/core",
    "local",
    "permissions",
    "requirements",
    "simulator",
    "supply",
    "tests",
    "zone_report",
)
SILENCED = re.compile(r"# (noqa|type: ignore)\b(?P<codes>(: [A-Z0-9, ]+|\[[a-z, -]+\])?)(?P<reason>.*)")


def silenced(source: str) -> Iterator[tuple[int, str]]:
    """Line and reason of each comment that silences a check; the reason may be empty."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        found = SILENCED.match(token.string) if token.type == tokenize.COMMENT else None
        if found:
            yield token.start[0], found["reason"].strip(" -#")


@pytest.mark.parametrize("room", ROOMS)
def test_whoever_silences_a_check_says_why_beside_it(room: str) -> None:
    files = sorted(path for path in (ROOT / room).rglob("*.py") if "node_modules" not in path.parts)
    assert files
    bare = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in files
        for line, reason in silenced(path.read_text(encoding="utf-8"))
        if not reason
    ]
    assert bare == []


def test_a_silenced_check_without_a_reason_is_seen() -> None:
    source = "import one  # noqa: F401\nimport two  # noqa: F401 - for its effects\nthree = 3  # type: ignore[misc]\n"
    assert list(silenced(source)) == [(1, ""), (2, "for its effects"), (3, "")]
