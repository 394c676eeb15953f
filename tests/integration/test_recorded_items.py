"""What each format left in somebody's tables and queues is read by today's code, which goes on with it.

`tests/cases/items/<format>.json` is what `python -m tests.support.record_items` wrote down when that format was the
newest: an installation in which something of everything has happened, in the middle of its work.
"""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import boto3
import pytest

from cronfleet.adapters.dynamodb import schema
from cronfleet.domain.instant import MINUTE, SECOND, from_datetime, to_text
from tests.support.chain import PREFIX, Chain, chain
from tests.support.eventful import ADMIN, START, must
from tests.support.record_items import FOLDER, from_json

FORMATS = sorted(FOLDER.glob("*.json"), key=lambda path: int(path.stem))
RECORDED = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FORMATS}
LIVES = MINUTE
FIRING = {"often": 20 * SECOND, "caught-up": 20 * SECOND, "minutely": MINUTE, "billed": MINUTE, "frozen": 30 * SECOND}


class Left:
    """An installation that a format left, under today's code."""

    def __init__(self, made: Chain, record: dict[str, Any]) -> None:
        self.made = made
        self.record = record
        self.stopped_at: int = record["now"]

    def get(self, target: str, **more: Any) -> Any:
        return must(self.made, "GET", target, **more)

    def fill(self) -> None:
        dynamodb, sqs = boto3.client("dynamodb"), boto3.client("sqs")
        for table, items in self.record["tables"].items():
            for item in items:
                dynamodb.put_item(TableName=f"{PREFIX}-{table}", Item=from_json(item))
        for queue, bodies in self.record["messages"].items():
            for body in bodies:
                sqs.send_message(QueueUrl=self.made.urls[queue], MessageBody=body)


@pytest.fixture(scope="module", params=RECORDED)
def left(request: pytest.FixtureRequest) -> Iterator[Left]:
    record = RECORDED[request.param]
    with chain(record["now"]) as made:
        found = Left(made, record)
        found.fill()
        yield found


def test_a_record_holds_items_of_every_table_it_knew_and_messages_under_way(left: Left) -> None:
    tables = left.record["tables"]
    assert [name for name, items in tables.items() if not items] == []
    assert left.record["messages"]["runs-standard"]
    assert left.record["messages"]["errands"]
    gone = set(tables) - {table.name for table in schema.TABLES}
    assert not gone, f"{gone}: today's code has no table of that name; docs/upgrading.md says how a table is retired"


def test_all_of_it_is_shown(left: Left, capsys: pytest.CaptureFixture[str]) -> None:
    """Every route that lists something, and of each thing all that can be asked about it."""
    schedules = left.get("/v1/schedules?limit=100")["schedules"]
    assert len(schedules) == len(_live_timers(left))
    for one in schedules:
        _look_at_schedule(left, one)
    ends = {run["status"]: (one["id"], run) for one in schedules for run in left.made.history(one["id"])}
    assert len(ends) > 5
    for schedule_id, run in ends.values():
        _look_at_run(left, schedule_id, run)
    for operation in left.get("/v1/operations")["operations"]:
        left.get(f"/v1/operations/{operation['id']}/results")
    for letter in left.get("/v1/dead-letters?limit=100")["dead_letters"]:
        left.get(f"/v1/dead-letters/{letter['run_id']}")
    for channel in left.get("/v1/channels")["channels"]:
        left.get(f"/v1/channels/{channel['name']}")
    for incident in left.get("/v1/incidents")["incidents"]:
        left.get(f"/v1/incidents/{incident['id']}")
    assert left.get("/v1/calendars/uk/versions")["versions"]
    assert left.get("/v1/freezes")["freezes"]
    assert left.get("/v1/breakers")["breakers"]
    assert left.get("/v1/tenants/acme/keys")["keys"]
    assert left.get("/v1/tenants/acme/usage")["quotas"]["concurrent_runs"]["limit"] == 4
    assert {one["id"] for one in left.get("/v1/tenants", **ADMIN)["tenants"]} >= {"acme", "asleep", "free"}
    assert left.get("/v1/tenants/gone/deletion", **ADMIN)["status"] == "deleted"
    assert left.get("/v1/timezone-data")["retimings"]
    for page in ("/v1/audit?limit=100", "/v1/lint", "/v1/lint/crowded-minutes", "/v1/tenants/acme/export"):
        left.get(page)
    verdict = left.get("/v1/audit/verify")
    assert (verdict["ok"], verdict["first_bad"]) == (True, None), verdict
    assert "damaged" not in capsys.readouterr().out.lower()


def test_it_goes_on_and_every_time_has_one_entry(left: Left) -> None:
    left.made.until(left.stopped_at + LIVES)
    for schedule_id, step in FIRING.items():
        seen = _nominals(left, schedule_id, step)
        assert seen == dict.fromkeys(seen, 1), schedule_id
        assert max(seen) >= left.stopped_at + LIVES - step, schedule_id
    statuses = {one["id"]: one["status"] for one in left.get("/v1/operations")["operations"]}
    assert "paused" in statuses.values()
    verdict = left.get("/v1/audit/verify")
    assert (verdict["ok"], verdict["first_bad"]) == (True, None), verdict
    runs = [run for schedule_id in FIRING for run in left.made.history(schedule_id)]
    assert Counter(run["status"] for run in runs)["dead"] == 0


def _look_at_schedule(left: Left, one: dict[str, Any]) -> None:
    place = f"/v1/schedules/{one['id']}"
    for part in ("", "/versions", "/dependencies", "/objectives"):
        left.get(place + part)


def _look_at_run(left: Left, schedule_id: str, run: dict[str, Any]) -> None:
    left.get(f"/v1/runs/{run['run_id']}")
    left.get(f"/v1/runs/{run['run_id']}/log")
    left.get(f"/v1/schedules/{schedule_id}/explain?at={run['nominal_at']}")


def _live_timers(left: Left) -> list[Any]:
    timers = [item for item in left.record["tables"]["schedules"] if item["sk"]["S"] == "TIMER"]
    return [item for item in timers if item["pk"]["S"].startswith("acme#") and item["status"]["S"] != "cancelled"]


def _nominals(left: Left, schedule_id: str, step: int) -> dict[int, int]:
    """How many entries each nominal of the schedule has, from its first on."""
    until = to_text(left.stopped_at + LIVES)
    target = f"/v1/schedules/{schedule_id}/ledger?from={to_text(START)}&to={until}"
    entries = [entry for entry in left.get(target)["entries"] if entry["code"] != "not_due"]
    spans = [
        (
            from_datetime(datetime.fromisoformat(one["at"])),
            from_datetime(datetime.fromisoformat(one["until_nominal_at"] or one["at"])),
        )
        for one in entries
    ]
    first = min(at for at, _ in spans)
    nominals = range(first, max(until for _, until in spans) + 1, step)
    return {nominal: sum(at <= nominal <= until for at, until in spans) for nominal in nominals}
