"""Eight threads share one client, as calls side by side do."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cronfleet.ports.side_by_side import MAX_IN_FLIGHT
from tests.integration.aws.conftest import lean_client
from tests.support.clients import dynamodb_client, environment
from tests.support.emulator import client
from tests.support.fault_server import FaultServer, echo, hang_up, reply

ROUNDS = 40


def side_by_side(work: Any) -> list[Any]:
    with ThreadPoolExecutor(MAX_IN_FLIGHT) as pool:
        return [one.result() for one in [pool.submit(work, number) for number in range(MAX_IN_FLIGHT)]]


def test_each_thread_hears_the_answer_to_its_own_question(server: FaultServer) -> None:
    server.begin(otherwise=echo)
    asked, together = lean_client("dynamodb"), Barrier(MAX_IN_FLIGHT)

    def talk(number: int) -> None:
        for turn in range(ROUNDS):
            together.wait()
            said = {"TableName": f"{number}.{turn}", "Key": {"pk": {"S": "x" * 100 * number}}}
            assert asked.get_item(**said)["Echo"] == said

    side_by_side(talk)
    assert len(server.asked) == MAX_IN_FLIGHT * ROUNDS
    assert server.connections <= MAX_IN_FLIGHT
    assert len({one.headers["authorization"] for one in server.asked}) == MAX_IN_FLIGHT * ROUNDS


def test_a_failure_in_one_thread_is_that_threads_alone(server: FaultServer, slept: list[float]) -> None:
    # Two, so that no thread meets more than it may ask again.
    server.begin(hang_up, reply(500, b""), otherwise=echo)
    asked = lean_client("dynamodb")

    def talk(number: int) -> Any:
        return asked.get_item(TableName=str(number), Key={})["Echo"]["TableName"]

    assert side_by_side(talk) == [str(number) for number in range(MAX_IN_FLIGHT)]


@pytest.mark.emulator
def test_of_threads_that_race_for_one_item_one_wins(emulator_endpoint: str) -> None:
    tables = client("dynamodb", emulator_endpoint)
    key = [{"AttributeName": "pk", "KeyType": "HASH"}]
    types = [{"AttributeName": "pk", "AttributeType": "S"}]
    tables.create_table(TableName="raced", KeySchema=key, AttributeDefinitions=types, BillingMode="PAY_PER_REQUEST")
    with environment(emulator_endpoint):
        asked = dynamodb_client()

    def race(number: int) -> int:
        return sum(_put(asked, turn, number) for turn in range(10))

    assert sum(side_by_side(race)) == 10
    tables.delete_table(TableName="raced")


def _put(asked: Any, turn: int, number: int) -> bool:
    item = {"pk": {"S": str(turn)}, "by": {"N": str(number)}}
    try:
        asked.put_item(TableName="raced", Item=item, ConditionExpression="attribute_not_exists(pk)")
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        return False
    return True
