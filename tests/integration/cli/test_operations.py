"""Backfills and re-runs from the command line: counted, made once, watched, steered."""

from dataclasses import replace

import pytest

from cronfleet.domain.instant import HOUR
from cronfleet.domain.run import RunStatus
from cronfleet.domain.signature import signature_of
from tests.integration.functions.test_api_operations import FROM, HOURLY, carry_on, row
from tests.support.command_line import CommandLine

DAY = ("--from", "2026-11-29T00:00:00Z", "--to", "2026-11-30T00:00:00Z")


@pytest.fixture
def hourly(cronfleet: CommandLine) -> CommandLine:
    cronfleet.api.register(trigger=HOURLY, labels={"team": "billing"})
    return cronfleet


def test_a_backfill_is_counted_first_and_nothing_is_made(hourly):
    row(hourly.api, FROM + 3 * HOUR, RunStatus.SUCCEEDED)
    tried = hourly.json("backfill", "nightly", *DAY, "--dry-run")
    assert (tried["count"], tried["runs"]) == (24, 23)
    said = hourly("backfill", "nightly", *DAY, "--dry-run")
    assert "write_units" in said.out
    assert hourly.json("backfills", "list")["operations"] == []


def test_the_same_backfill_again_creates_nothing(hourly):
    first = hourly.json("backfill", "nightly", *DAY, "--order", "newest", "--max-concurrent", "4", "-r", "tariff")
    assert hourly.json("backfill", "nightly", *DAY, "--order", "newest", "-r", "again") == first
    assert len(hourly.json("operations", "list", "--kind", "backfill")["operations"]) == 1


def test_it_is_watched_to_its_end_and_each_change_is_a_line(hourly):
    hourly.during_waits = [lambda: None, lambda: carry_on(hourly.api, operation(hourly))]
    said = hourly("backfill", "nightly", *DAY, "--watch", "-o", "json")
    assert (said.code, [line["status"] for line in said.lines]) == (0, ["running", "finished"])
    assert said.lines[-1]["counts"]["succeeded"] == 24
    dates = hourly.json("backfills", "dates", operation(hourly))["dates"]
    assert [date["state"] for date in dates] == ["succeeded"] * 24


def operation(line: CommandLine) -> str:
    return str(line.api.call("GET", "/v1/operations").json["operations"][0]["id"])


def test_people_see_a_bar_and_then_the_end(hourly):
    hourly.during_waits = [lambda: carry_on(hourly.api, operation(hourly))]
    said = hourly("backfill", "nightly", *DAY, "--watch")
    assert said.code == 0
    assert "24/24" in said.err
    assert "succeeded=24" in said.out


def test_a_backfill_of_labels_is_paused_resumed_and_cancelled(hourly):
    made = hourly.json("backfill", "-l", "team=billing", *DAY)
    assert hourly.json("backfills", "pause", made["id"], "-r", "wait")["status"] == "paused"
    assert hourly("backfills", "watch", made["id"]).code == 1  # It stands still.
    assert hourly.json("backfills", "resume", made["id"])["status"] == "running"
    assert hourly.json("operations", "cancel", made["id"])["status"] == "cancelled"
    assert hourly.json("operations", "get", made["id"])["status"] == "cancelled"
    assert hourly("backfills", "resume", made["id"]).code == 1


def test_a_backfill_of_nothing_or_of_two_things_is_wrong_use(hourly):
    assert hourly("backfill", *DAY).code == 2
    assert hourly("backfill", "nightly", "-l", "team=billing", *DAY).code == 2
    assert hourly("backfill", "nightly", "--from", "2026-11-29T00:00:00Z").code == 2


def test_one_run_is_run_again(hourly):
    dead = row(hourly.api, FROM + HOUR)
    again = hourly.json("rerun", dead, "--version", "same", "--payload", '{"n": 1}', "-r", "mended")
    assert (again["ancestor"], again["status"]) == (dead, "queued")


def test_many_are_run_again_after_a_count_that_must_hold(hourly):
    for hour in range(3):
        row(hourly.api, FROM + hour * HOUR)
    tried = hourly("reruns", "--schedule", "nightly", "--dry-run")
    assert "3 runs, " in tried.out
    assert hourly("reruns", "--schedule", "nightly", "--expected", "7").code == 1
    made = hourly.json("reruns", "--schedule", "nightly", "--expected", "3", "--rate", "60", "--status", "dead")
    assert (made["kind"], made["total"], made["rate_per_minute"]) == ("rerun", 3, 60)
    results = hourly.json("operations", "results", made["id"])["results"]
    assert [result["state"] for result in results] == ["pending"] * 3


def test_all_that_failed_in_one_way_is_run_again(hourly):
    mirror = signature_of("failed", "HTTP 503", "handler")
    row(hourly.api, FROM, signature=mirror)
    row(hourly.api, FROM + HOUR, signature=signature_of("failed", "no such row", "handler"))
    assert hourly.json("reruns", "--signature", mirror.digest)["total"] == 1


def test_a_watched_operation_whose_runs_die_is_exit_1(hourly):
    made = hourly.json("backfill", "nightly", *DAY)
    carry_on(hourly.api, made["id"])
    store = hourly.api.store.state.operations
    (key,) = store
    store[key] = replace(store[key], counts={"succeeded": 23, "dead": 1})
    assert hourly("operations", "watch", made["id"]).code == 1
