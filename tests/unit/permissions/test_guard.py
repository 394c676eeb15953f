"""The guard of tests on moto: it sees what a request is authorised by, and which partitions it writes."""

import types
from collections.abc import Callable
from typing import Any

import boto3
import pytest

from tests.support import guard
from tests.support.clients import dynamodb_client
from tests.support.moto import mocked_aws
from tests.support.tables import create_tables

PUT = {"TableName": "cronfleet-shards", "Item": {"pk": {"S": "SHARD#3"}, "sk": {"S": "LEASE"}}}
CHECK = {"TableName": "t1-runs", "Key": {"pk": {"S": "acme#a"}, "sk": {"S": "R#1"}}}
CLAIM = {"Statements": [{"Statement": 'UPDATE "t1-schedules" SET "a" = ? WHERE "pk" = ?', "Parameters": []}]}


@pytest.mark.parametrize(
    ("service", "operation", "request_", "asked"),
    [
        ("dynamodb", "PutItem", PUT, [("dynamodb:PutItem", "shards", "")]),
        ("dynamodb", "Query", {"TableName": "x-runs", "IndexName": "a"}, [("dynamodb:Query", "runs", "a")]),
        ("dynamodb", "BatchGetItem", {"RequestItems": {"x-runs": {}}}, [("dynamodb:BatchGetItem", "runs", "")]),
        (
            "dynamodb",
            "TransactWriteItems",
            {"TransactItems": [{"Put": PUT}, {"ConditionCheck": CHECK}]},
            [("dynamodb:PutItem", "shards", ""), ("dynamodb:ConditionCheckItem", "runs", "")],
        ),
        ("dynamodb", "BatchExecuteStatement", CLAIM, [("dynamodb:PartiQLUpdate", "schedules", "")]),
        ("sqs", "SendMessageBatch", {}, [("sqs:SendMessage", "", "")]),
        ("sqs", "PurgeQueue", {}, [("sqs:PurgeQueue", "", "")]),
    ],
)
def test_a_request_is_authorised_by_actions_on_tables_and_indexes(
    service: str, operation: str, request_: dict[str, Any], asked: list[tuple[str, str, str]]
) -> None:
    assert guard.asked_for(service, operation, request_) == asked


def test_the_partitions_of_a_transaction_are_those_of_its_writes() -> None:
    both = {"TransactItems": [{"Put": PUT}, {"ConditionCheck": CHECK}]}
    assert guard.placed("TransactWriteItems", both) == [
        ("dynamodb:PutItem", "shards", "SHARD#3"),
        ("dynamodb:ConditionCheckItem", "runs", "acme#a"),
    ]


def test_a_write_outside_of_the_partitions_of_a_part_is_named() -> None:
    [said] = guard._out_of_scope("api", "PutItem", PUT)
    assert said == "api does dynamodb:PutItem in SHARD#3 of shards: permissions/scopes.py allows ['UNREADABLE']"
    assert not list(guard._out_of_scope("api", "UpdateItem", {**PUT, "Key": PUT["Item"]}))
    assert not list(guard._out_of_scope("dispatcher", "PutItem", PUT))


def test_what_reading_the_code_does_not_find_fails_the_test_that_asked_for_it() -> None:
    assert ("dynamodb:GetItem", "shards", "") in guard.allowed("ticker")
    with pytest.raises(AssertionError, match="ticker asks for dynamodb:PutItem runs"), guard.guarded():
        guard._refused.append("ticker asks for dynamodb:PutItem runs")


@pytest.mark.parametrize("made", [lambda: boto3.client("dynamodb"), dynamodb_client], ids=["boto3", "lean"])
def test_a_request_by_either_client_is_held_against_the_role(made: Callable[[], Any]) -> None:
    with pytest.raises(AssertionError, match="ticker asks for dynamodb:PutItem runs"):
        _play_ticker(made, {"TableName": "t-runs", "Item": {"pk": {"S": "a"}, "sk": {"S": "b"}}})


def _play_ticker(made: Callable[[], Any], request: dict[str, Any]) -> None:
    """A handler at work is told by its module's name."""
    played: Any = types.ModuleType("functions.ticker.handler")
    exec("def handle(client, request):\n    client.put_item(**request)", vars(played))  # noqa: S102 - the text beside it
    with mocked_aws():
        create_tables(boto3.client("dynamodb"), "t")
        played.handle(made(), request)
