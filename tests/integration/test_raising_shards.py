"""More shards on a live system: nothing is lost, nothing runs twice, and what was served once is served for good."""

from typing import Any

import boto3
import pytest

from cronfleet import bootstrap, raise_shards, settings
from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.domain.instant import MINUTE, SECOND, to_text
from cronfleet.domain.shard import shard_of
from cronfleet.settings import Settings
from functions.api import handler as api
from tests.support.builders import at
from tests.support.chain import PREFIX, Chain, chain

START = at("2026-12-01 02:00:50")
NOTED_AT = START + 15 * SECOND
"""When the ticker has been called with a lease there, and has noted how many shards it serves."""
BEFORE, AFTER = 2, 4
FOUR = {settings.SHARDS: str(AFTER)}
EVERY = 20 * SECOND


def ids_in(shards: set[int], prefix: str) -> list[str]:
    """One id for each of these shards of four."""
    candidates = [f"{prefix}-{number}" for number in range(60)]
    return [next(one for one in candidates if shard_of("acme", one, AFTER) == shard) for shard in sorted(shards)]


def put(made: Chain, schedule_ids: list[str]) -> None:
    for schedule_id in schedule_ids:
        made.put(schedule_id, trigger={"every": "20s", "anchor": to_text(START)}, target={"handler": "demo.heartbeat"})


def shard_on_item(schedule_id: str) -> int:
    key = {"pk": {"S": f"acme#{schedule_id}"}, "sk": {"S": keys.TIMER}}
    item = boto3.client("dynamodb").get_item(TableName=f"{PREFIX}-{schema.SCHEDULES.name}", Key=key)["Item"]
    return int(item["due_shard"]["S"])


def lags_of_once(made: Chain, schedule_id: str) -> list[float]:
    """The lag of each run, after seeing that each nominal from the first on has one run that succeeded."""
    rows: list[dict[str, Any]] = made.history(schedule_id)
    assert {row["status"] for row in rows} == {"succeeded"}, rows
    nominals = sorted(row["nominal_at"] for row in rows)
    last = START + (made.now - START) // EVERY * EVERY
    assert nominals == [to_text(last - step * EVERY) for step in reversed(range(len(nominals)))], schedule_id
    return [row["lag_seconds"] for row in rows]


def test_two_become_four_while_schedules_fire_and_every_fire_runs_once_and_on_time() -> None:
    """First four are served, then functions are replaced one after the other, the API's first as it may happen. Then
    the deployment is taken back.
    """
    old, new, late = ids_in({1, 2}, "old"), ids_in({2, 3}, "new"), ids_in({3}, "late")
    with chain(START) as made:
        made.minute()
        put(made, old)
        made.until(NOTED_AT)
        assert raise_shards.main(["--to", str(AFTER), "--table-prefix", PREFIX]) == 0
        made.until(NOTED_AT + MINUTE)
        made.deploy(api, **FOUR)
        put(made, new)
        made.until(made.now + EVERY)
        made.deploy(**FOUR)
        made.until(made.now + 2 * EVERY)
        assert {shard_on_item(one) for one in new} == {2, 3}, "new schedules use the new ones"
        assert {shard_on_item(one) for one in old} == {0, 1}, "a schedule stays where it is"
        made.deploy(**{settings.SHARDS: str(BEFORE)})
        put(made, late)
        assert {shard_on_item(one) for one in late} == {1}, "new ones keep to those that are set"
        made.until(made.now + 70 * SECOND)
        assert max(lag for one in (*old, *new) for lag in lags_of_once(made, one)) < 6


def test_without_serving_them_first_the_deployment_does_it_and_what_came_too_early_is_late_and_not_lost() -> None:
    new = ids_in({2, 3}, "new")
    with chain(START) as made:
        made.minute()
        made.until(NOTED_AT)
        made.deploy(api, **FOUR)
        put(made, new)
        made.until(made.now + 2 * EVERY)
        assert [made.history(one) for one in new] == [[], []]
        made.deploy(**FOUR)
        made.until(NOTED_AT + MINUTE + EVERY)
        for one in new:
            target = f"/v1/schedules/{one}/ledger?from={to_text(NOTED_AT)}&to={to_text(made.now)}"
            entries = made.call("GET", target).json["entries"]
            assert {entry["code"] for entry in entries} <= {"ran", "misfire_skipped", "missed", "not_due"}, entries
            assert [row["status"] for row in made.history(one)].count("succeeded") >= 3


def test_fewer_cannot_be_asked_for_and_the_refusal_says_what_can_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    with chain(START) as made:
        command = ["--table-prefix", PREFIX, "--to"]
        assert raise_shards.main([*command, "4"]) == 1
        assert "nothing is served yet" in capsys.readouterr().err
        made.minute()
        made.until(NOTED_AT)
        assert raise_shards.main([*command, "4"]) == 0
        assert raise_shards.main([*command, "2"]) == 1
        assert "deploy with fewer" in capsys.readouterr().err
        assert raise_shards.main([*command, "1025"]) == 1
        assert bootstrap.raise_shards(Settings(PREFIX), AFTER) == AFTER
