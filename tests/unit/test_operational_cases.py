"""Every operational case is answered in docs/guarantees.md, by tests that exist."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CASES = dict(
    line.split(" ", 1) for line in (ROOT / "tests" / "cases" / "operational_cases.txt").read_text().splitlines()
)
ANSWERS = ("proven", "cannot happen", "owed")
ROW = re.compile(r"^\| (O\d+) \| (.+?) \| (.+?) \| (.*?) \| (.*?) \|$", re.MULTILINE)
NAMED = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
FEATURE = re.compile(r"Owed to (tenants|backfill|dependencies|operations|speed)\b")


@cache
def rows() -> dict[str, tuple[str, str, str, str]]:
    found = ROW.findall((ROOT / "docs" / "guarantees.md").read_text())
    assert len({case for case, *_ in found}) == len(found), "a case stands there twice"
    return {case: (title, answer, tests, remark) for case, title, answer, tests, remark in found}


@cache
def sources(name: str) -> str:
    return "\n".join(path.read_text() for path in (ROOT / "tests").rglob(name))


def test_every_case_has_its_row_under_its_title() -> None:
    assert {case: title for case, (title, *_) in rows().items()} == CASES


@pytest.mark.parametrize("case", CASES)
def test_a_case_is_proven_or_cannot_happen_or_is_owed_to_a_feature(case: str) -> None:
    _, answer, tests, remark = rows()[case]
    assert answer in ANSWERS
    if answer == "owed":
        assert FEATURE.search(remark), "to which feature?"
    else:
        assert NAMED.search(tests), "by which test?"
    if answer == "cannot happen":
        assert remark


@pytest.mark.parametrize("case", CASES)
def test_every_test_that_a_case_names_exists(case: str) -> None:
    _, _, tests, remark = rows()[case]
    for file, name in NAMED.findall(tests + remark):
        assert re.search(rf"^ *def {name}\(", sources(file), re.MULTILINE), f"{file} has no {name}"


def test_a_test_that_says_it_is_of_a_case_is_named_by_it() -> None:
    for path in (ROOT / "tests" / "unit" / "services" / "operational").glob("test_*.py"):
        for name, case in re.findall(r"^def (test_\w+)\([^\"]*?\"\"\"(O\d+)\b", path.read_text(), re.MULTILINE):
            assert f"`{path.name}::{name}`" in rows()[case][2], f"{case} does not name {name}"
