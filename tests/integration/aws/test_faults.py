"""What goes wrong between a client and AWS means the same by boto3's client and by the lean one."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore import exceptions
from botocore.config import Config
from botocore.parsers import ResponseParserError
from botocore.session import get_session

from cronfleet.adapters.aws import lean
from cronfleet.adapters.aws.retries import RETRYABLE
from cronfleet.adapters.dynamodb import errors
from cronfleet.adapters.sqs.sending import Entry, send_all
from cronfleet.ports.job_store import NoAnswer
from tests.integration.aws.conftest import Made, boto3_client, forget_clients, lean_client
from tests.support.clients import environment
from tests.support.fault_server import Act, FaultServer, hang_up, refusal, reply, whole

ITEM = {"pk": {"S": "a"}, "sk": {"S": "b"}}
STORED = {**ITEM, "claim_batch": {"S": "0.1.1"}, "bytes": {"B": "AAH/"}}
READ = {**STORED, "bytes": {"B": b"\x00\x01\xff"}}


def get(client: Any) -> Any:
    return client.get_item(TableName="t", Key=ITEM)


def refused(made: Made, service: str, ask: Callable[[Any], Any]) -> exceptions.ClientError:
    with pytest.raises(exceptions.ClientError) as caught:
        ask(made(service))
    return caught.value


@pytest.mark.parametrize(
    "fault",
    [
        reply(500, {"__type": "com.amazon.coral.service#InternalServerError", "message": "later"}),
        reply(503, b"<html><body><b>Http/1.1 Service Unavailable</b></body></html>"),
        reply(502, b""),
        refusal(400, "ThrottlingException"),
        refusal(400, "ProvisionedThroughputExceededException"),
        refusal(400, "RequestLimitExceeded"),
        refusal(400, "TransactionInProgressException"),
        refusal(429, "SomethingNew"),
        hang_up,
        reply(200, b'{"Item":{}}', x_amz_crc32="1"),
    ],
)
def test_what_passes_is_asked_again(made: Made, server: FaultServer, slept: list[float], fault: Act) -> None:
    server.begin(fault, fault, whole({"Item": STORED}))
    answer = get(made("dynamodb"))
    assert answer["Item"] == READ
    assert answer["ResponseMetadata"]["RetryAttempts"] == 2
    assert [asked.operation for asked in server.asked] == ["GetItem"] * 3
    assert len(slept) == 2


def test_what_the_service_calls_retryable_is_asked_again(made: Made, server: FaultServer, slept: list[float]) -> None:
    server.begin(refusal(400, "ReplicatedWriteConflictException"))
    assert made("dynamodb").update_item(TableName="t", Key=ITEM)["ResponseMetadata"]["RetryAttempts"] == 1


def test_what_the_services_call_retryable_is_known(server: FaultServer) -> None:
    models = [boto3_client(service).meta.service_model for service in lean.SERVICES]
    errors_of = [shape for model in models for shape in model.error_shapes]
    told = {one.name: one.metadata["retryable"] for one in errors_of if one.metadata.get("retryable") is not None}
    assert {name: one.get("throttling", False) for name, one in told.items()} == RETRYABLE


def test_an_answer_cut_short_is_asked_for_again_and_never_believed(server: FaultServer, slept: list[float]) -> None:
    """Of an answer without a checksum boto3's client believes what has come: of a queue's half a list is none."""
    server.begin(reply(200, {"Item": STORED}, cut=9), whole({"Item": STORED}))
    assert get(lean_client("dynamodb"))["Item"] == READ
    server.begin(*[reply(200, {"Successful": [{"Id": "0"}]}, cut=9)] * 4)
    assert send_all(lean_client("sqs"), f"{server.url}/q", [Entry("one", 0)]) == [0]
    assert len(server.asked) == 4


@pytest.mark.parametrize("fault", [reply(500, {"__type": "InternalServerError"}), refusal(400, "ThrottlingException")])
def test_after_three_attempts_the_last_answer_stands(
    made: Made, server: FaultServer, slept: list[float], fault: Act
) -> None:
    server.begin(otherwise=fault)
    error = refused(made, "dynamodb", get)
    assert error.response["ResponseMetadata"]["RetryAttempts"] == 2
    assert len(server.asked) == 3
    with pytest.raises(NoAnswer):
        errors.ask(get, made("dynamodb"))


def test_a_queue_is_asked_four_times(made: Made, server: FaultServer, slept: list[float]) -> None:
    server.begin(otherwise=refusal(400, "RequestThrottled"))
    assert send_all(made("sqs"), f"{server.url}/q", [Entry("one", 0), Entry("two", 0)]) == [0, 1]
    assert len(server.asked) == 4


def test_a_checksum_that_stays_wrong_is_no_answer(server: FaultServer, slept: list[float]) -> None:
    """boto3's client believes the third such answer."""
    server.begin(otherwise=reply(200, {"Item": STORED}, x_amz_crc32="1"))
    with pytest.raises(ResponseParserError, match="checksum"):
        get(lean_client("dynamodb"))
    assert len(server.asked) == 3
    with pytest.raises(NoAnswer):
        errors.ask(get, lean_client("dynamodb"))


@pytest.mark.parametrize("body", [b"no json", b"[1]", b"", b'{"Item": {"pk"', b"\xff\xfe"])
def test_what_is_no_answer_of_aws_is_none(server: FaultServer, body: bytes) -> None:
    server.begin(otherwise=reply(200, body))
    with pytest.raises(NoAnswer):
        errors.ask(get, lean_client("dynamodb"))


@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [
        (refusal(400, "ValidationException", "too long"), "ValidationException", "too long"),
        (reply(400, {"__type": "AccessDeniedException", "Message": "not you"}), "AccessDeniedException", "not you"),
        (reply(400, {"__type": "aws.x#NotThere:http://internal/of/aws"}), "NotThere", ""),
        (reply(403, {"message": "nameless"}), "403", "nameless"),
        (reply(400, b"what?"), "400", "what?"),
        (reply(500, b"<html>sorry</html>"), "500", "Internal Server Error"),
    ],
)
def test_an_error_says_its_code_and_what_was_wrong(
    made: Made, server: FaultServer, slept: list[float], fault: Act, code: str, message: str
) -> None:
    server.begin(otherwise=fault)
    error = refused(made, "dynamodb", get)
    assert (error.response["Error"]["Code"], error.response["Error"]["Message"]) == (code, message)
    assert error.operation_name == "GetItem"
    assert str(error).startswith(f"An error occurred ({code}) when calling the GetItem operation")


@pytest.mark.parametrize(
    "body",
    [
        {"__type": "a#ConditionalCheckFailedException", "message": "The conditional request failed", "Item": STORED},
        {
            "__type": "a#TransactionCanceledException",
            "Message": "Transaction cancelled",
            "CancellationReasons": [{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Item": STORED}],
        },
    ],
)
def test_both_clients_read_the_same_out_of_an_error(server: FaultServer, body: dict[str, Any]) -> None:
    server.begin(otherwise=reply(400, body))
    by_lean, by_boto3 = (refused(one, "dynamodb", get).response for one in (lean_client, boto3_client))
    for name in ("Error", "Item", "CancellationReasons"):
        assert by_lean.get(name) == by_boto3.get(name)
    assert repr(READ["bytes"]) in repr(by_lean)
    assert by_lean["ResponseMetadata"]["HTTPStatusCode"] == by_boto3["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_queues_errors_have_the_names_of_the_time_when_they_spoke_xml(made: Made, server: FaultServer) -> None:
    server.begin(
        otherwise=reply(
            400,
            {"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "gone"},
            x_amzn_query_error="AWS.SimpleQueueService.NonExistentQueue;Sender",
        )
    )
    ask = lambda client: client.send_message_batch(QueueUrl=f"{server.url}/q", Entries=[])  # noqa: E731 - it is short
    told = refused(made, "sqs", ask).response["Error"]
    assert told == {
        "Code": "AWS.SimpleQueueService.NonExistentQueue",
        "QueryErrorCode": "QueueDoesNotExist",
        "Message": "gone",
        "Type": "Sender",
    }


def test_a_connection_that_ends_too_early_is_no_answer(made: Made, server: FaultServer, slept: list[float]) -> None:
    server.begin(otherwise=hang_up)
    with pytest.raises(exceptions.ConnectionClosedError):
        get(made("dynamodb"))
    assert len(server.asked) == 3


def test_an_answer_that_ends_in_its_headers_is_none(server: FaultServer) -> None:
    """To boto3's client it is an empty one, which would say that there is no such item."""
    server.begin(otherwise=reply(200, {"Item": STORED}, cut=120))
    assert "Item" not in get(boto3_client("dynamodb"))
    with pytest.raises(NoAnswer):
        errors.ask(get, lean_client("dynamodb"))


def test_nobody_there_is_no_answer(made: Made, slept: list[float]) -> None:
    with environment("http://127.0.0.1:1"), pytest.raises(exceptions.EndpointConnectionError):
        get(made("dynamodb"))
    assert len(slept) == 2


def test_silence_ends_in_time(server: FaultServer, slept: list[float]) -> None:
    server.begin(otherwise=server.be_silent)
    hasty = Config(connect_timeout=1, read_timeout=0.1, retries={"mode": "standard", "total_max_attempts": 2})
    with pytest.raises(exceptions.ReadTimeoutError):
        get(lean.client("dynamodb", get_session(), hasty))
    assert len(server.asked) == 2


def test_many_failures_use_up_what_may_be_asked_again(made: Made, server: FaultServer, slept: list[float]) -> None:
    """While a service is down, a client sends less: each retry takes of a quota, which successes fill up again."""
    forget_clients()
    server.begin(otherwise=reply(500, b""))
    client = made("dynamodb")
    for _ in range(20):
        with pytest.raises(exceptions.ClientError):
            get(client)
    tired = len(server.asked)
    assert tired < 60
    with pytest.raises(exceptions.ClientError):
        get(client)
    assert len(server.asked) == tired + 1
    forget_clients()


def test_connections_are_kept_and_one_that_was_dropped_meanwhile_costs_nothing(
    made: Made, server: FaultServer, slept: list[float]
) -> None:
    client = made("dynamodb")
    for _ in range(5):
        get(client)
    assert server.connections == 1
    server.drop_all()
    get(client)
    assert (server.connections, len(server.asked), slept) == (2, 6, [])


def test_a_request_of_the_hot_path_alone_is_offered(server: FaultServer) -> None:
    with pytest.raises(AttributeError):
        lean_client("dynamodb").describe_table(TableName="t")
    assert server.asked == []
