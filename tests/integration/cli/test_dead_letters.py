"""Dead letters from the command line: looked at, grouped, let go of."""

import pytest

from tests.integration.functions.test_api_dead_letters import dead, stored
from tests.support.command_line import CommandLine
from tests.support.settable_clock import NOON


@pytest.fixture
def letters(cronfleet: CommandLine) -> CommandLine:
    cronfleet.api.register()
    stored(cronfleet.api, *(dead(number) for number in range(3)), dead(3, "no such table"))
    return cronfleet


def ids(line: CommandLine, *more: str) -> list[str]:
    return [letter["run_id"] for letter in line.json("dead-letters", "list", *more)["dead_letters"]]


def test_they_are_listed_and_grouped_by_what_went_wrong(letters):
    assert len(ids(letters)) == 4
    groups = letters.json("dead-letters", "groups")["groups"]
    assert [group["count"] for group in groups] == [3, 1]
    assert len(ids(letters, "--signature", groups[1]["signature"])) == 1
    said = letters("dead-letters", "groups")
    assert "handler failed: no such table" in said.out
    assert "nightly" in said.out


def test_one_is_shown_with_its_attempts(letters):
    shown = letters("dead-letters", "show", ids(letters)[0])
    assert shown.code == 0
    assert "HTTP 503: no answer" in shown.out


def test_they_are_discarded_by_id_or_by_filter_after_a_count(letters):
    first, *_ = ids(letters)
    assert letters.json("dead-letters", "discard", first, "-r", "paid by hand") == {"discarded": 1, "more": False}
    counted = letters.json("dead-letters", "discard", "--schedule", "nightly", "-r", "gone", "--dry-run")
    assert counted["discarded"] == 3
    many = ("dead-letters", "discard", "--schedule", "nightly", "-r", "gone", "--expected")
    assert letters(*many, "7").code == 1
    assert "3 dead letters are discarded." in letters(*many, "3").out
    assert ids(letters) == []


def test_all_of_them_must_be_written_out(letters):
    assert letters("dead-letters", "discard", "-r", "gone").code == 2
    assert letters("dead-letters", "discard", "x", "--all", "-r", "gone").code == 2
    assert letters.json("dead-letters", "discard", "--all", "-r", "gone")["discarded"] == 4


def test_more_than_one_request_may_discard_are_discarded_all_the_same(letters):
    stored(letters.api, *(dead(number) for number in range(10, 610)))
    assert letters.json("dead-letters", "discard", "--all", "-r", "gone") == {"discarded": 604, "more": False}


def test_messages_that_nobody_can_read_are_for_platform_admins(letters):
    assert letters("dead-letters", "list", "--kind", "unreadable").code == 1
    message = f"{NOON:015}.m-1"
    assert letters("dead-letters", "discard-message", message, "-r", "not ours").code == 1
    assert letters("dead-letters", "discard-message", message).code == 2


def test_they_are_redriven_after_a_count_that_must_hold(letters):
    signature = letters.json("dead-letters", "groups")["groups"][0]["signature"]
    meant = ("dead-letters", "redrive", "--signature", signature)
    assert "3 runs, " in letters(*meant, "--dry-run").out
    assert letters(*meant, "--expected", "7").code == 1
    made = letters.json(*meant, "--expected", "3", "--rate", "60", "-r", "the mirror is up again")
    assert (made["kind"], made["total"], made["rate_per_minute"]) == ("redrive", 3, 60)
    assert letters.json("operations", "list", "--kind", "redrive")["operations"][0]["id"] == made["id"]


def test_one_is_redriven_with_another_payload(letters):
    made = letters.json("dead-letters", "redrive", ids(letters)[0], "--payload", '{"month": "2026-11"}')
    assert (made["kind"], made["asked"]["payload"]) == ("redrive", {"month": "2026-11"})


def test_a_redrive_that_stopped_goes_on_without_what_fails(letters):
    made = letters.json("dead-letters", "redrive", "--all")
    assert letters.json("operations", "pause", made["id"])["status"] == "paused"
    signature = letters.json("dead-letters", "groups")["groups"][0]["signature"]
    assert letters.json("operations", "resume", made["id"], "--exclude-signature", signature)["status"] == "running"
    assert letters("operations", "resume", made["id"], "--exclude-signature", "nonsense").code == 1
