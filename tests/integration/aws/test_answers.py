"""The emulator answers boto3's client and the lean one, and both say the same of it."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cronfleet.adapters.aws import lean
from tests.integration.aws.conftest import boto3_client, lean_client
from tests.support.clients import environment
from tests.support.emulator import client

TABLE = "answers"
ODD: dict[str, Any] = {
    "text": {"S": 'Zürich — 東京 \U0001f570 "quoted" \\ \n'},
    "number": {"N": "-12345678901234567890.5"},
    "bytes": {"B": b"\x00\xff\x10"},
    "many": {"BS": [b"\x01", b"\x02\x03"]},
    "names": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2"]},
    "nothing": {"NULL": True},
    "flag": {"BOOL": False},
    "list": {"L": [{"N": "1"}, {"M": {"B": {"S": "an attribute of that name"}, "S": {"B": b"raw"}}}]},
    "B": {"S": "another"},
    "BS": {"L": [{"S": "x"}, {"B": b"y"}]},
}


@pytest.fixture(scope="module", autouse=True)
def _table(emulator_endpoint: str) -> Iterator[None]:
    tables = client("dynamodb", emulator_endpoint)
    tables.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        BillingMode="PAY_PER_REQUEST",
    )
    with environment(emulator_endpoint):
        yield
    tables.delete_table(TableName=TABLE)


def key(sort: str, partition: str = "p") -> dict[str, Any]:
    return {"pk": {"S": partition}, "sk": {"S": sort}}


def without_metadata(answer: Any) -> Any:
    """The answer, and an error's fields: what one client tells of the request itself is left out."""
    if isinstance(answer, ClientError):
        said = {name: answer.response.get(name) for name in ("Error", "Item", "CancellationReasons")}
        return type(answer).__mro__[-4:], said, answer.response["ResponseMetadata"]["HTTPStatusCode"]
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def both(service: str, method: str, **request: Any) -> Any:
    """What both clients hear, who ask one after the other."""
    found = []
    for one in (boto3_client(service), lean_client(service)):
        try:
            found.append(getattr(one, method)(**request))
        except ClientError as error:
            found.append(error)
    by_boto3, by_lean = map(without_metadata, found)
    if not isinstance(found[0], ClientError):
        assert by_lean == by_boto3
        return by_lean
    assert by_lean[1:] == by_boto3[1:]
    assert found[1].operation_name == found[0].operation_name
    return found[1].response


def test_items_come_back_as_they_were_put() -> None:
    both("dynamodb", "put_item", TableName=TABLE, Item={**key("odd"), **ODD})
    stored = both("dynamodb", "get_item", TableName=TABLE, Key=key("odd"), ConsistentRead=True)["Item"]
    assert {name: value for name, value in stored.items() if name not in key("")} == ODD
    assert both("dynamodb", "get_item", TableName=TABLE, Key=key("nobody")) == {}


def test_an_update_answers_with_what_it_made() -> None:
    request: dict[str, Any] = {
        "TableName": TABLE,
        "Key": key("counted"),
        "UpdateExpression": "SET #flag = :yes, #raw = :raw ADD #count :none",
        "ExpressionAttributeNames": {"#flag": "flag", "#raw": "raw", "#count": "count"},
        "ExpressionAttributeValues": {":yes": {"BOOL": True}, ":raw": {"B": b"\x07"}, ":none": {"N": "0"}},
    }
    made = both("dynamodb", "update_item", **request, ReturnValues="ALL_NEW")
    assert made["Attributes"]["raw"] == {"B": b"\x07"}
    assert both("dynamodb", "update_item", **request, ReturnValues="NONE") == {}


def test_a_condition_that_fails_shows_what_is_stored() -> None:
    both("dynamodb", "put_item", TableName=TABLE, Item={**key("held"), "owner": {"S": "me"}, "raw": {"B": b"\x01"}})
    told = both(
        "dynamodb",
        "put_item",
        TableName=TABLE,
        Item=key("held"),
        ConditionExpression="attribute_not_exists(pk)",
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    assert told["Item"] == {**key("held"), "owner": {"S": "me"}, "raw": {"B": b"\x01"}}


def test_pages_of_a_query_and_of_a_scan() -> None:
    both(
        "dynamodb",
        "batch_write_item",
        RequestItems={TABLE: [{"PutRequest": {"Item": key(str(n), "pages")}} for n in range(5)]},
    )
    request: dict[str, Any] = {
        "TableName": TABLE,
        "KeyConditionExpression": "#pk = :pk",
        "ExpressionAttributeNames": {"#pk": "pk"},
        "ExpressionAttributeValues": {":pk": {"S": "pages"}},
        "Limit": 3,
    }
    first = both("dynamodb", "query", **request)
    assert len(first["Items"]) == 3
    second = both("dynamodb", "query", **request, ExclusiveStartKey=first["LastEvaluatedKey"])
    assert [item["sk"]["S"] for item in second["Items"]] == ["3", "4"]
    assert both("dynamodb", "query", **{**request, "ExpressionAttributeValues": {":pk": {"S": "x"}}})["Items"] == []
    assert both("dynamodb", "scan", TableName=TABLE, ConsistentRead=True, Limit=2)["LastEvaluatedKey"]
    found = both("dynamodb", "batch_get_item", RequestItems={TABLE: {"Keys": [key("0", "pages"), key("9", "pages")]}})
    assert found["Responses"][TABLE] == [key("0", "pages")]
    assert both("dynamodb", "delete_item", TableName=TABLE, Key=key("0", "pages")) == {}


def test_a_transaction_that_is_cancelled_says_by_what() -> None:
    both("dynamodb", "put_item", TableName=TABLE, Item={**key("there"), "raw": {"B": b"\x02"}})
    absent = {"ConditionExpression": "attribute_not_exists(pk)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    actions = [
        {"Put": {"TableName": TABLE, "Item": key("new", "t")}},
        {"Put": {"TableName": TABLE, "Item": key("there"), **absent}},
    ]
    told = both("dynamodb", "transact_write_items", TransactItems=actions, ClientRequestToken="once")
    assert [one["Code"] for one in told["CancellationReasons"]] == ["None", "ConditionalCheckFailed"]
    assert told["CancellationReasons"][1]["Item"]["raw"] == {"B": b"\x02"}


def test_each_statement_of_a_batch_has_its_outcome() -> None:
    both("dynamodb", "put_item", TableName=TABLE, Item={**key("s"), "rev": {"N": "1"}, "raw": {"B": b"\x03"}})
    text = f'UPDATE "{TABLE}" SET "seen" = ? WHERE "pk" = ? AND "sk" = ? AND "rev" = ?'  # noqa: S608 - nobody's words
    statements = [
        {
            "Statement": text,
            "Parameters": [{"B": b"\x09"}, {"S": "p"}, {"S": "s"}, {"N": rev}],
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        for rev in ("1", "2")
    ]
    for request in statements:
        told = both("dynamodb", "batch_execute_statement", Statements=[request])
    lost = told["Responses"][0]["Error"]
    assert (lost["Code"], lost["Item"]["raw"], lost["Item"]["seen"]) == (
        "ConditionalCheckFailed",
        {"B": b"\x03"},
        {"B": b"\x09"},
    )


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("get_item", {"TableName": "nowhere", "Key": key("a")}),
        ("update_item", {"TableName": "nowhere", "Key": key("a")}),
        ("put_item", {"TableName": TABLE, "Item": {"pk": {"S": "no sort key"}}}),
    ],
)
def test_what_is_refused_is_refused_in_the_same_words(method: str, request_: dict[str, Any]) -> None:
    assert both("dynamodb", method, **request_)["Error"]["Code"]


def test_messages_are_taken_and_a_queue_that_is_not_there_is_told_alike(emulator_endpoint: str) -> None:
    url = client("sqs", emulator_endpoint).create_queue(QueueName="answers")["QueueUrl"]
    entries = [{"Id": str(n), "MessageBody": f"ü{n}", "DelaySeconds": 0, "MessageGroupId": "acme"} for n in range(3)]
    for one in (boto3_client("sqs"), lean_client("sqs")):
        taken = one.send_message_batch(QueueUrl=url, Entries=entries)["Successful"]
        assert [(entry["Id"], len(entry["MD5OfMessageBody"])) for entry in taken] == [(str(n), 32) for n in range(3)]
    gone = both("sqs", "send_message_batch", QueueUrl=f"{url}-gone", Entries=entries)
    assert gone["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"


def test_all_that_is_offered_was_tried() -> None:
    """Whoever adds an operation to the lean client adds it here."""
    tried = set(lean.SERVICES["dynamodb"].operations) | set(lean.SERVICES["sqs"].operations)
    source = test_all_that_is_offered_was_tried.__code__.co_filename
    with open(source, encoding="utf-8") as file:  # noqa: PTH123 - of this very file
        told = file.read()
    assert [name for name in sorted(tried) if f'"{name}"' not in told and f".{name}(" not in told] == []
