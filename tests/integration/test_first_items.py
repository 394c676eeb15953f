"""An installation that the first version left behind in the middle of its work goes on under today's code.

`tests/cases/first_items.json` holds what that version (commit 0eaecef) stored and sent: its chain was run on moto, with
ten schedules, an outage, a pause with an end, a resume that caught up, a deletion and a changed trigger, and its
dispatcher was stopped between two claims of a batch. Binary attributes are in base64.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.items.shards import batch_of
from cronfleet.domain.claim import ScheduleClaim
from cronfleet.domain.incident import PLATFORM
from cronfleet.domain.instant import MINUTE, SECOND, to_text
from tests.support.builders import at
from tests.support.chain import PREFIX, Chain, chain

RECORDED = json.loads((Path(__file__).parent.parent / "cases" / "first_items.json").read_text(encoding="utf-8"))
STOPPED_AT = RECORDED["now"]
CREATED_AT = at("2026-12-01 02:00:03")
SECONDS_APART = {"caught-up": 30, "dropped": 30, "resumed": 30, "jittered": 60}


def item_of(recorded: dict[str, Any]) -> dict[str, Any]:
    return {name: {"B": base64.b64decode(value["B"])} if "B" in value else value for name, value in recorded.items()}


@pytest.fixture(scope="module")
def left() -> Iterator[Chain]:
    with chain(STOPPED_AT) as made:
        dynamodb, sqs = boto3.client("dynamodb"), boto3.client("sqs")
        for table, items in RECORDED["tables"].items():
            for recorded in items:
                dynamodb.put_item(TableName=f"{PREFIX}-{table}", Item=item_of(recorded))
        for queue, bodies in RECORDED["messages"].items():
            for body in bodies:
                sqs.send_message(QueueUrl=made.urls[queue], MessageBody=body)
        yield made


def test_every_schedule_of_the_first_version_is_read_and_goes_on(left: Chain) -> None:
    listed = left.call("GET", "/v1/schedules?limit=50").json["schedules"]
    statuses = {one["id"]: one["status"] for one in listed}
    assert len(statuses) == 9
    assert statuses["done"] == "completed"
    assert statuses["paused"] == "paused"
    left.until(STOPPED_AT + 2 * MINUTE)
    assert left.call("GET", "/v1/schedules/nightly").json["next_fire_at"] == "2026-12-02T00:30:00Z"
    for schedule_id, seconds in SECONDS_APART.items():
        first = -(-CREATED_AT // (seconds * SECOND)) * seconds * SECOND
        nominals = list(range(first, STOPPED_AT + MINUTE, seconds * SECOND))
        assert accounted(left, schedule_id, nominals) == dict.fromkeys(map(to_text, nominals), 1), schedule_id
    codes = {entry["code"] for entry in entries(left, "resumed") if entry["at"] >= "2026-12-01T02:05:00Z"}
    assert codes == {"ran"}, "what a resume had promised is caught up, though its batch was open"
    answer = left.call("POST", "/v1/schedules/paused/resume", {"missed": {"policy": "fire_once"}})
    assert answer.status == 200, answer.text
    left.until(STOPPED_AT + 3 * MINUTE)
    assert [entry["code"] for entry in entries(left, "paused")] == ["ran", "paused", "ran", "ran"]
    answer = left.call("DELETE", "/v1/schedules/paused?reason=over")
    assert answer.status in (200, 204), answer.text
    listed = left.call("GET", "/v1/audit?schedule=paused").json["entries"]
    assert [(entry["action"], entry["seq"]) for entry in listed] == [
        ("cancel", 2),
        ("resume", 1),
        ("pause", None),
        ("create", None),
    ], "what the first version wrote stands in no chain"
    verdict = left.call("GET", "/v1/audit/verify").json
    assert (verdict["ok"], verdict["first_bad"]) == (True, None), verdict


def test_its_schedules_are_counted_when_somebody_asks_and_go_on(left: Chain) -> None:
    listed = left.call("GET", "/v1/schedules?limit=50").json["schedules"]
    usage = left.call("GET", "/v1/tenants/acme/usage").json["quotas"]["schedules"]
    assert usage == {"use": len(listed), "limit": 10_000}
    before = left.call("GET", "/v1/schedules/dropped").json["next_fire_at"]
    left.until(left.now + MINUTE)
    assert left.call("GET", "/v1/schedules/dropped").json["next_fire_at"] > before
    left.call("DELETE", "/v1/schedules/dropped")
    after = left.call("GET", "/v1/tenants/acme/usage").json["quotas"]["schedules"]
    assert after["use"] == usage["use"] - 1


def entries(left: Chain, schedule_id: str) -> list[dict[str, Any]]:
    target = f"/v1/schedules/{schedule_id}/ledger?from={to_text(CREATED_AT)}&to={to_text(STOPPED_AT + 3 * MINUTE)}"
    found: list[dict[str, Any]] = [e for e in left.call("GET", target).json["entries"] if e["code"] != "not_due"]
    return found


def accounted(left: Chain, schedule_id: str, nominals: list[int]) -> dict[str, int]:
    """How many entries each nominal has."""
    spans = [(entry["at"], entry["until_nominal_at"] or entry["at"]) for entry in entries(left, schedule_id)]
    return {text: sum(first <= text <= last for first, last in spans) for text in map(to_text, nominals)}


def test_every_claim_in_the_first_versions_log_is_read_as_it_was_meant() -> None:
    """Its fires are the nominal and due times that the rows of those runs say; what it skipped has its row too."""
    rows = {(row["pk"]["S"], row["sk"]["S"]): row for row in RECORDED["tables"]["runs"]}
    seen = jittered = skipped = 0
    for recorded in RECORDED["tables"]["shards"]:
        if not recorded["sk"]["S"].startswith("B#"):
            continue
        for claim in batch_of(item_of(recorded), int(recorded["pk"]["S"].removeprefix("SHARD#"))).claims:
            if not isinstance(claim, ScheduleClaim):
                continue
            assert claim.nominal_at is not None
            assert claim.nominal_at <= claim.due_at
            skipped += len(claim.skipped)
            for fire in claim.fires:
                row = rows.get((f"{claim.tenant}#{claim.schedule_id}", keys.run(claim.run_key(fire.nominal_at))))
                assert row is None or int(row["due_at"]["N"]) == fire.due_at
                seen += row is not None
                jittered += fire.due_at > fire.nominal_at and claim.due_at > claim.nominal_at
    assert (seen > 20, jittered > 3, skipped) == (True, True, 3)


def test_its_tenant_can_be_deleted_without_a_trace(left: Chain) -> None:
    """A record without a revision, a key that is in no list, audit entries without a subject: all of it is found."""
    standard = {"tier": {"S": "standard"}}
    of_key = {"hash": {"S": "0" * 64}, "tenant": {"S": "acme"}, "created_at": {"N": str(CREATED_AT)}, **standard}
    for partition, sort, more in (("TENANT#acme", "TENANT", standard), ("KEY#demo", "KEY", of_key)):
        item = {"pk": {"S": partition}, "sk": {"S": sort}, **more}
        boto3.client("dynamodb").put_item(TableName=f"{PREFIX}-tenants", Item=item)
    exported = left.call("GET", "/v1/tenants/acme/export").json
    assert len(exported["schedules"]) == len(left.call("GET", "/v1/schedules?limit=50").json["schedules"])
    made = left.call("POST", "/v1/tenants", {"id": "home"}, tenant="root", role="platform_admin")
    assert made.status == 201, made.text
    target = "/v1/tenants/acme?confirm=acme&reason=over"
    begun = left.call("DELETE", target, tenant="home", role="platform_admin")
    assert begun.status == 202, begun.text
    left.until(left.now + 4 * MINUTE)
    said = left.call("GET", "/v1/tenants/acme/deletion", tenant="home", role="platform_admin").json
    assert said["status"] == "deleted", said
    removed = said["certificate"]["removed"]
    assert removed["schedules"] == 10, "those that were deleted before, too"
    assert removed["api_keys"] == 1
    assert traces() == []


def traces() -> list[str]:
    """What names the tenant still, besides its tombstone and certificate, the dispatch log and the installation's own
    incidents, both of which expire.
    """
    dynamodb, found = boto3.client("dynamodb"), []
    for table in schema.TABLES:
        for page in dynamodb.get_paginator("scan").paginate(TableName=f"{PREFIX}-{table.name}"):
            found += [f"{item['pk']['S']} / {item['sk']['S']}" for item in page["Items"] if _is_left(item)]
    return found


def _is_left(item: dict[str, Any]) -> bool:
    partition, sort = item["pk"]["S"], item["sk"]["S"]
    stays = (partition, sort) in ((keys.tenant("acme"), keys.TENANT), (keys.tenant("acme"), keys.DELETION))
    stays = stays or partition in ("home", PLATFORM) or partition.startswith("SHARD#")
    return "acme" in str(item) and not stays
