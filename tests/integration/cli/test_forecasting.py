"""The forecast on the command line: a chart for people, numbers for programs, parts added up."""

import pytest

from cronfleet.domain.instant import HOUR
from cronfleet.domain.role import Role
from cronfleet.services import forecasts
from cronfleet.services.forecaster import Forecaster
from tests.support.command_line import CommandLine, put_key
from tests.support.settable_clock import NOON


@pytest.fixture
def busy(cronfleet: CommandLine) -> CommandLine:
    for number in range(6):
        trigger = {"cron": "0 14 * * *", "timezone": "UTC"}
        cronfleet.api.register(id=f"two-{number}", trigger=trigger)
    cronfleet.api.register(id="often", trigger={"cron": "*/10 * * * *", "timezone": "UTC"})
    return cronfleet


def test_a_day_is_a_chart_that_shows_the_peak(busy: CommandLine) -> None:
    said = busy("forecast")
    assert said.code == 0
    assert "149 fires of 7 schedules of this tenant" in said.out
    assert "peak 7 in the minute of 2026-11-30T14:00:00Z, 67.65 times the mean" in said.out
    (row,) = [line for line in said.out.splitlines() if line.startswith("2026-11-30 14:00")]
    assert row.split()[-2:] == ["9", "7"]
    assert "│" in row
    (head,) = [line for line in said.out.splitlines() if line.startswith("from ")]
    assert len(head.rstrip()) == len(row.rstrip()), "each heading ends above its column"


def test_programs_get_every_minute_and_the_parts_of_a_large_tenant_added_up(
    busy: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = busy.json("forecast", "--to", "2026-11-30T15:00:00Z")
    monkeypatch.setattr(forecasts, "MOST_SCHEDULES", 2)
    monkeypatch.setattr(forecasts, "LIST_PAGE", 2)
    added = busy.json("forecast", "--to", "2026-11-30T15:00:00Z")
    assert len([asked for asked in busy.asked if "cursor=" in asked.target]) == 3
    assert {**added, "mean": whole["mean"]} == whole
    assert busy.json("forecast", "--by", "tenant")["tenants"] == [{"tenant": "acme", "fires": 149}]


def test_a_platform_admin_sees_all_tenants_and_nobody_else_does(busy: CommandLine) -> None:
    Forecaster(store=busy.api.store, clock=busy.api.clock).advance(NOON + HOUR, 64)
    refused = busy("forecast", "--platform")
    assert (refused.code, "403" in refused.err) == (1, True)
    busy.environment["CRONFLEET_KEY"] = put_key(busy.api, "root", Role.PLATFORM_ADMIN)
    assert busy.json("forecast", "--platform", "--by", "tenant")["tenants"] == [{"tenant": "acme", "fires": 149}]
    assert "149 fires of 7 schedules of all tenants" in busy("forecast", "--platform").out
