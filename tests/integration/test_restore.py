"""Restored to an earlier second: what was forgotten is caught up, what was done is done at most once more, and said so.

The emulators restore a table as it is when they are asked, so they are asked at the second to which is restored.
"""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from cronfleet import bootstrap, restore, settings
from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.restoring import FENCES, OF_NOW
from cronfleet.domain.instant import MINUTE, SECOND, to_text
from tests.support.builders import at
from tests.support.chain import PREFIX, Chain, chain
from tests.support.eventful import must

START = at("2026-12-01 02:00:00")
RESTORED_TO = START + 105 * SECOND
BROKEN_AT = START + 3 * MINUTE
GOES_ON_AT = START + 6 * MINUTE
INTO = "cronfleet-r1"
UNDER_WAY = RESTORED_TO - 5 * SECOND
"""When a fire is due that was claimed and sent, and not started, at the second to which is restored."""

HEARTBEAT = {"handler": "demo.heartbeat"}
CATCH_UP = {"misfire": {"policy": "catch_up", "max": 20, "per_minute": 60}}
ONCE = {"misfire": {"policy": "fire_once", "grace_seconds": 5}}
SKIP = {"misfire": {"policy": "skip", "grace_seconds": 5}}
EVERY_MINUTE = {"every": "1m", "anchor": to_text(START)}
SCHEDULES = ("caught-up", "once", "skipped", "billed")


class Rehearsal:
    """What was there before the restore, and what is there after it."""

    def __init__(self, made: Chain) -> None:
        self.made = made
        self.before: dict[str, list[dict[str, Any]]] = {}

    def ran_before(self, schedule_id: str) -> set[str]:
        return {row["run_id"] for row in self.before[schedule_id] if row["status"] == "succeeded"}

    def rows(self, schedule_id: str) -> list[dict[str, Any]]:
        return self.made.history(schedule_id)

    def ran_after(self, schedule_id: str) -> set[str]:
        """Runs that were started since the restore."""
        ran = [row for row in self.rows(schedule_id) if row["status"] == "succeeded"]
        return {row["run_id"] for row in ran if row["started_at"] >= to_text(GOES_ON_AT)}


@pytest.fixture(scope="module")
def rehearsed() -> Iterator[Rehearsal]:
    with chain(START) as made:
        found = Rehearsal(made)
        made.minute()
        _registered(made)
        made.until(RESTORED_TO - 20 * SECOND)
        # What is claimed now is not started when the tables are copied.
        made.claim_until(RESTORED_TO)
        restoring = bootstrap.restoring(PREFIX, INTO)
        for table in schema.TABLES:
            if table not in OF_NOW:
                restoring.begin(table, RESTORED_TO)
        _forgotten(made)
        made.until(BROKEN_AT)
        found.before = {schedule_id: made.history(schedule_id) for schedule_id in SCHEDULES}
        made.travel(GOES_ON_AT)
        for table in OF_NOW:
            restoring.begin(table, RESTORED_TO)
        assert len(list(restoring.wait_until_ready())) == len(schema.TABLES)
        restoring.protect(recovery_days=35)
        assert restoring.begin_anew() == 2
        for url in made.urls.values():
            boto3.client("sqs").purge_queue(QueueUrl=url)
        made.deploy(**{settings.TABLE_PREFIX: INTO})
        made.minute()
        made.until(GOES_ON_AT + 2 * MINUTE)
        yield found


def _registered(made: Chain) -> None:
    made.put("caught-up", trigger=EVERY_MINUTE, target=HEARTBEAT, policies=CATCH_UP)
    trigger = {"every": "1h", "anchor": to_text(UNDER_WAY)}
    made.put("under-way", trigger=trigger, target=HEARTBEAT, policies=SKIP)
    made.put("once", trigger=EVERY_MINUTE, target=HEARTBEAT, policies=ONCE)
    made.put("skipped", trigger=EVERY_MINUTE, target=HEARTBEAT, policies=SKIP)
    billing = {"handler": "billing.nightly"}
    made.put("billed", trigger=EVERY_MINUTE, target=billing, payload={"accounts": ["a"]}, policies=CATCH_UP)


def _forgotten(made: Chain) -> None:
    """Changes after the second to which is restored."""
    made.put("too-late", trigger=EVERY_MINUTE, target=HEARTBEAT)
    must(made, "PATCH", "/v1/schedules/once", {"description": "changed too late"})


def test_every_time_has_one_entry_before_in_and_after_the_stretch_that_was_forgotten(rehearsed: Rehearsal) -> None:
    for schedule_id in SCHEDULES:
        target = f"/v1/schedules/{schedule_id}/ledger?from={to_text(START)}&to={to_text(rehearsed.made.now)}"
        entries = [one for one in must(rehearsed.made, "GET", target)["entries"] if one["code"] != "not_due"]
        spans = [(one["at"], one["until_nominal_at"] or one["at"]) for one in entries]
        nominals = [to_text(START + minute * MINUTE) for minute in range(1, 9)]
        assert [sum(first <= one <= last for first, last in spans) for one in nominals] == [1] * 8, schedule_id


def test_what_ran_in_between_runs_again_under_the_same_run_id_where_a_policy_catches_it_up(
    rehearsed: Rehearsal,
) -> None:
    """At least once: the target is called a second time, with the id by which it knows the first."""
    again = rehearsed.ran_before("caught-up") & rehearsed.ran_after("caught-up")
    forgotten = {row["run_id"] for row in rehearsed.before["caught-up"] if row["nominal_at"] > to_text(RESTORED_TO)}
    assert again == forgotten
    assert len(again) == 2


def test_by_the_other_policies_as_after_any_outage(rehearsed: Rehearsal) -> None:
    assert len(rehearsed.ran_before("once") & rehearsed.ran_after("once")) <= 1
    assert rehearsed.ran_before("skipped") & rehearsed.ran_after("skipped") == set()


def test_what_was_claimed_and_not_started_is_sent_again_once_whatever_its_policy_for_missed_time(
    rehearsed: Rehearsal,
) -> None:
    (row,) = rehearsed.rows("under-way")
    assert (row["status"], row["nominal_at"]) == ("succeeded", to_text(UNDER_WAY))
    assert len(row["attempts"]) == 1
    assert row["started_at"] >= to_text(GOES_ON_AT)
    assert row["resent_at"] is not None


def test_what_was_done_once_by_a_receipt_is_not_done_again_because_receipts_are_not_taken_back(
    rehearsed: Rehearsal,
) -> None:
    again = rehearsed.ran_before("billed") & rehearsed.ran_after("billed")
    assert len(again) == 2
    for run_id in again:
        log = must(rehearsed.made, "GET", f"/v1/runs/{run_id}/log")
        assert "billed before" in str(log), log
    first = next(iter(rehearsed.ran_after("billed") - again))
    assert "billed before" not in str(must(rehearsed.made, "GET", f"/v1/runs/{first}/log"))


def test_what_was_changed_after_that_second_is_forgotten_and_the_audit_log_verifies(rehearsed: Rehearsal) -> None:
    assert rehearsed.made.call("GET", "/v1/schedules/too-late").status == 404
    assert must(rehearsed.made, "GET", "/v1/schedules/once")["description"] == ""
    verdict = must(rehearsed.made, "GET", "/v1/audit/verify")
    assert (verdict["ok"], verdict["first_bad"]) == (True, None)


def test_the_tables_that_were_there_are_left_as_they_were(rehearsed: Rehearsal) -> None:
    key = {"pk": {"S": keys.schedule("acme", "too-late")}, "sk": {"S": keys.TIMER}}
    assert "Item" in boto3.client("dynamodb").get_item(TableName=f"{PREFIX}-schedules", Key=key)


def test_no_batch_has_the_id_of_one_that_was_forgotten(rehearsed: Rehearsal) -> None:
    for shard in range(2):
        key = {"pk": {"S": keys.shard(shard)}, "sk": {"S": keys.LEASE}}
        items = [
            boto3.client("dynamodb").get_item(TableName=f"{one}-shards", Key=key)["Item"] for one in (PREFIX, INTO)
        ]
        old, new = (int(item["fence"]["N"]) for item in items)
        assert new > FENCES > old


def test_restored_tables_expire_recover_and_resist_deletion_as_those_that_were_deployed(rehearsed: Rehearsal) -> None:
    assert rehearsed
    dynamodb = boto3.client("dynamodb")
    for table in schema.TABLES:
        name = f"{INTO}-{table.name}"
        described = dynamodb.describe_table(TableName=name)["Table"]
        assert described["DeletionProtectionEnabled"], name
        indexes = {index["IndexName"] for index in described.get("GlobalSecondaryIndexes", ())}
        assert indexes == {index.name for index in table.indexes}, name
        expiry = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        assert expiry["TimeToLiveStatus"] == ("DISABLED" if table.ttl is None else "ENABLED"), name
        backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
        assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED", name


def test_the_command_restores_all_tables_and_says_what_comes_next(
    rehearsed: Rehearsal, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rehearsed
    command = ["--table-prefix", PREFIX, "--into", "cronfleet-r2", "--to"]
    assert restore.main([*command, "2026-12-01T02:00:00Z"]) == 0
    said = capsys.readouterr().out
    assert said.count("is there") == len(schema.TABLES)
    assert "deploy with tables.prefix=cronfleet-r2" in said
    assert restore.main([*command, "2026-12-01T02:00:00Z"]) == 1, "they are there now"
    assert "restore: " in capsys.readouterr().err
    for wrong in ([*command, "yesterday"], ["--to", "2026-12-01", "--into", "cronfleet"]):
        with pytest.raises(SystemExit):
            restore.main(wrong)


def test_a_second_is_a_second_in_utc() -> None:
    assert restore._second("2026-12-01T02:00:00.7") == START
    assert restore._second("2026-12-01T03:00:00+01:00") == START
