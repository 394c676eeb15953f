"""The report on new zone data, as an operator runs it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from cronfleet.domain import zones
from cronfleet.domain.instant import SECOND
from tests.support.builders import at
from tests.support.zone_sources import release
from zone_report import schedules
from zone_report.__main__ import CHANGED, KEY_VARIABLE, NOTHING, USAGE, main
from zone_report.releases import Unavailable, newest, source_of

PLACE = "Test/Place"
CHANGE = at("2027-03-01 00:00") // SECOND
AFTER = ["--after", "2026-11-30T12:00:00Z"]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    release(tmp_path, "2026e", {PLACE: [(0, 5 * 3600)]})
    release(tmp_path, "2026f", {PLACE: [(0, 5 * 3600), (CHANGE, 6 * 3600)]})
    return str(tmp_path / "2026e"), str(tmp_path / "2026f")


def lines(path: Path, *triggers: dict[str, Any]) -> str:
    path.write_text("\n".join(json.dumps(trigger) for trigger in triggers) + "\n\n")
    return str(path)


def test_each_schedule_that_changes_is_told_with_its_dates(
    folders: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    triggers = lines(
        tmp_path / "triggers",
        {"id": "billing", "cron": "0 9 1 * *", "tz": PLACE},
        {"cron": "0 9 1 1 *", "tz": PLACE},
        {"cron": "0 9 * * *", "tz": "UTC"},
        {"at": "2020-01-01T00:00:00Z"},
    )
    assert main([*folders, *AFTER, "--triggers", triggers, "--json"]) == CHANGED
    report = json.loads(capsys.readouterr().out)
    assert (report["before"], report["after"], report["looked_at"], report["zones"]) == ("2026e", "2026f", 4, [PLACE])
    [billing] = report["schedules"]
    assert billing["id"] == "billing"
    assert len(billing["changes"]) == 10
    assert billing["changes"][0] == {
        "local": "2027-03-01T09:00:00",
        "before": "2027-03-01T04:00:00Z",
        "after": "2027-03-01T03:00:00Z",
    }
    assert main([*folders, *AFTER, "--triggers", triggers]) == CHANGED
    said = capsys.readouterr().out
    assert "1 of 4 schedules change" in said
    for text in ("billing", "0 9 1 * *", "2027-03-01T04:00:00Z", "2027-03-01T03:00:00Z", "and 5 more"):
        assert text in said


def test_the_same_release_changes_nothing(folders: tuple[str, str], tmp_path: Path) -> None:
    triggers = lines(tmp_path / "triggers", {"cron": "0 9 * * *", "tz": PLACE})
    assert main([folders[0], folders[0], *AFTER, "--triggers", triggers]) == NOTHING


@pytest.mark.parametrize(
    ("releases", "said"),
    [(["/no/such/folder", "2026.6"], "neither a folder nor a version"), (["2026.6; rm", "2026.6"], "neither a folder")],
)
def test_what_is_no_release_is_said(releases: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(releases) == USAGE
    assert said in capsys.readouterr().err.replace("\n", " ")


def test_a_line_that_is_none_is_named(
    folders: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad").write_text('{"cron": "0 9 * * *", "tz": "UTC"}\nnonsense\n')
    assert main([*folders, *AFTER, "--triggers", str(tmp_path / "bad")]) == USAGE
    assert "line 2" in capsys.readouterr().err


def test_a_tenants_schedules_are_read_page_by_page_with_its_key(
    folders: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append((request.headers["authorization"], request.url.params.get("cursor")))
        first = {"id": "a", "status": "active", "trigger": {"cron": "0 9 * * *", "timezone": PLACE}}
        calendar = {"name": "holidays", "mode": "exclude", "version": 3}
        second = {"id": "b", "status": "paused", "trigger": {**first["trigger"], "calendar": calendar}}
        over = {"id": "c", "status": "completed", "trigger": {"at": "2026-11-01T09:00:00", "timezone": PLACE}}
        if request.url.params.get("cursor") is None:
            return httpx.Response(200, json={"schedules": [first], "cursor": "next"})
        return httpx.Response(200, json={"schedules": [second, over], "cursor": None})

    transport = httpx.MockTransport(answer)
    real = httpx.Client
    monkeypatch.setattr(schedules.httpx, "Client", lambda **options: real(**options, transport=transport))
    monkeypatch.setenv(KEY_VARIABLE, "cf_demo_secret")
    assert main([*folders, *AFTER, "--url", "https://cronfleet.example", "--json"]) == CHANGED
    report = json.loads(capsys.readouterr().out)
    assert asked == [("Bearer cf_demo_secret", None), ("Bearer cf_demo_secret", "next")]
    assert [(one["id"], one["calendar_left_out"]) for one in report["schedules"]] == [("a", False), ("b", True)]


def test_a_folder_as_zic_fills_it_will_do(tmp_path: Path) -> None:
    made = release(tmp_path, "2026e", {PLACE: [(0, 5 * 3600)]})
    folder = tmp_path / "2026e" / "zoneinfo"
    (folder / "+VERSION").write_text("2026e\n")
    (folder / "posix").mkdir()
    (folder / "posix" / "UTC").write_bytes((folder / "UTC").read_bytes())
    (folder / "zone.tab").write_text("no zone")
    plain = source_of(str(folder))
    assert (plain.release, plain.names) == ("2026e", made.names)
    assert plain.load(PLACE).segment_at(0) == made.load(PLACE).segment_at(0)


# --- the package index --------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def two_newest(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, Path]:
    """The two newest releases on the package index, older first, fetched."""
    cache = tmp_path_factory.mktemp("tzdata")
    try:
        after, before = newest(2)
        for version in (before, after):
            source_of(version, cache)
    except (Unavailable, ValueError) as error:
        pytest.skip(f"NOT TESTED: the two newest tzdata releases, because {error}")
    return before, after, cache


def test_the_two_newest_releases_are_compared_over_all_zones(two_newest: tuple[str, str, Path]) -> None:
    before, after, cache = two_newest
    old, new = source_of(before, cache), source_of(after, cache)
    assert old.release < new.release
    program = [sys.executable, "-m", "zone_report", before, after, "--cache", str(cache), "--json", "--triggers", "-"]
    asked = [{"id": name, "cron": "30 0 * * *", "tz": name} for name in sorted(old.names)]
    text = "\n".join(json.dumps(trigger) for trigger in asked)
    done = subprocess.run(program, input=text, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert (report["before"], report["after"], report["looked_at"]) == (old.release, new.release, len(old.names))
    assert [one["id"] for one in report["schedules"] if not one["problem"]] == report["zones"]
    assert done.returncode == (CHANGED if report["zones"] or report["schedules"] else NOTHING)


def test_the_package_that_is_pinned_is_as_the_index_has_it(two_newest: tuple[str, str, Path]) -> None:
    _, after, cache = two_newest
    fetched = source_of(after, cache)
    if fetched.release != zones.PACKAGE.release:
        pytest.skip(f"NOT TESTED: {fetched.release} is out, and {zones.PACKAGE.release} is pinned")
    assert fetched.names == zones.PACKAGE.names
