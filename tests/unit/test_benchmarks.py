"""What surrounds the benchmarks: how figures are told, and the page of them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.figures import COLLECTED_IN, Figure, collected, report

FAST = Figure("API", "requests a second", "900", "1.2 of nothing", command="benchmarks.api")
KEPT = Figure("Functions", "ready", "0.3 s", "", "≤ 0.6 s", True, "benchmarks.imports")
PAGE = "\n".join(
    f"<!-- begin {name} -->\n| figure | measured |\n| --- | --- |\n<!-- end {name} -->\n" for name in ("budgets", "api")
)


def test_a_figure_is_printed_and_collected_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "figures"
    assert collected(file) == []
    monkeypatch.setenv(COLLECTED_IN, str(file))
    report(FAST, replace(KEPT, kept=False))
    assert capsys.readouterr().out.splitlines() == [
        "requests a second: 900 (1.2 of nothing)",
        "ready: 0.3 s; budget ≤ 0.6 s: OVER",
    ]
    assert collected(file) == [FAST, replace(KEPT, kept=False)]
    assert json.loads(file.read_text().splitlines()[0])["section"] == "API"


def test_what_a_run_has_not_measured_stays_on_the_page() -> None:
    first = results.written(PAGE, [FAST, KEPT])
    other = replace(KEPT, what="next fire", command="benchmarks.next_fire")
    then = results.written(first, [replace(FAST, measured="1,000"), other])
    assert "| ready | 0.3 s |  | ≤ 0.6 s | kept | `benchmarks.imports` |" in then
    assert "| next fire | 0.3 s |  | ≤ 0.6 s | kept | `benchmarks.next_fire` |" in then
    assert "| requests a second | 1,000 | 1.2 of nothing | `benchmarks.api` |" in then
    assert "900" not in then
    assert results.written(then, []) == results.written(first, [replace(FAST, measured="1,000"), other])


def test_a_page_without_a_place_for_a_section_is_refused() -> None:
    with pytest.raises(ValueError, match="begin worker"):
        results.written(PAGE, [replace(FAST, section="Worker")])


def test_the_page_of_figures_has_a_place_for_each_section() -> None:
    page = results.DOCUMENT.read_text(encoding="utf-8")
    headings = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert {f"<!-- begin {results.marker_of(heading)} -->" for heading in headings} <= set(page.splitlines())
