"""docs/security.md names threats, their controls and the tests that prove them: each is there, and is collected."""

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/security.md").read_text(encoding="utf-8")
THREATS = (
    "SSRF",
    "Confused deputy",
    "Header injection",
    "Payload bombs",
    "Regex bombs",
    "Cron bombs",
    "Log injection",
    "Replay of webhooks",
    "Stolen key",
    "Tenant crossing",
    "Poisoned import files",
    "Audit tampering",
    "Denial of wallet",
    "Supply chain",
    "Secrets in logs",
    "More rights than a part needs",
)
SECTIONS = {part.partition("\n")[0]: part for part in re.split(r"^### ", DOCUMENT, flags=re.MULTILINE)[1:]}
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", DOCUMENT)


@functools.cache
def collected(path: str) -> frozenset[str]:
    """The tests of a file as pytest finds them: functions of the module itself that are not skipped for good."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not any("skip" in ast.unparse(one) or "xfail" in ast.unparse(one) for one in node.decorator_list)
    )


@pytest.mark.parametrize("threat", THREATS)
def test_each_threat_has_its_control_and_a_test(threat: str) -> None:
    [section] = [text for title, text in SECTIONS.items() if title.startswith(threat)]
    assert "**Control:**" in section
    assert re.search(r"^- `tests/", section, re.MULTILINE)


def test_no_threat_is_told_that_nobody_thought_of() -> None:
    assert len(SECTIONS) == len(THREATS)


@pytest.mark.parametrize(("path", "name"), sorted(set(NAMED)))
def test_each_test_that_is_named_is_there_and_is_collected(path: str, name: str) -> None:
    file = ROOT / path
    assert file.is_file(), f"{path} is not there"
    assert file.name.startswith("test_")
    assert name in collected(path), f"{path} has no test {name}"


def test_everything_that_a_section_says_of_a_test_names_one() -> None:
    lines = [line for line in DOCUMENT.splitlines() if line.startswith("- `tests/")]
    assert len(lines) == len(re.findall(r"^- `tests/[\w/]+\.py::\w+`$", DOCUMENT, re.MULTILINE))
