"""What the lean client sends, where to, and in whose name: as boto3's client would."""

import datetime
import json
import os
import socket
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest
import time_machine
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.credentials import Credentials, RefreshableCredentials
from botocore.exceptions import NoCredentialsError, NoRegionError, ProxyConnectionError, SSLError
from botocore.session import get_session

from cronfleet.adapters.aws import lean
from cronfleet.adapters.dynamodb.job_store import CONFIG
from tests.integration.aws.conftest import MADE, Made, boto3_client, lean_client
from tests.support.clients import dynamodb_client, environment
from tests.support.fault_server import FaultServer
from tests.support.https_server import HOST, receiving, respond

OFFSET = "2026-12-07T00:00:00Z"
UPDATE: dict[str, Any] = {
    "TableName": "t",
    "Key": {"pk": {"S": "ä"}, "sk": {"S": "TIMER"}},
    "UpdateExpression": "SET #a = :a",
    "ExpressionAttributeNames": {"#a": "a"},
    "ExpressionAttributeValues": {":a": {"B": b"\x00\x01"}, ":n": {"N": "1"}},
}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nothing of AWS, and no proxy, in the environment, but keys."""
    for name in [name for name in os.environ if name.startswith("AWS_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, os.devnull)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return monkeypatch


def test_both_clients_send_the_same(server: FaultServer) -> None:
    entry = {"Id": "0", "MessageBody": "ü", "DelaySeconds": 3, "MessageGroupId": "acme"}
    for one in (lean_client, boto3_client):
        one("dynamodb").update_item(**UPDATE)
        one("sqs").send_message_batch(QueueUrl=f"{server.url}/q", Entries=[entry])
    update, send, update_by_boto3, send_by_boto3 = server.asked
    for ours, theirs in ((update, update_by_boto3), (send, send_by_boto3)):
        assert json.loads(ours.body) == json.loads(theirs.body)
        assert ours.line == theirs.line
        for name in ("content-type", "x-amz-target", "host", "accept-encoding", "x-amzn-query-mode"):
            assert ours.headers.get(name) == theirs.headers.get(name)
        assert ours.headers["user-agent"].startswith("Botocore/")


def test_the_signature_is_the_one_of_botocores_signer(server: FaultServer) -> None:
    with time_machine.travel(OFFSET, tick=False), environment(server.url, AWS_SESSION_TOKEN="t" * 900):
        client = dynamodb_client()
        client.update_item(**UPDATE)
        (sent,) = server.asked
        assert len(sent.headers["x-amz-security-token"]) == 900
        again = {name: sent.headers[name] for name in ("host", "content-type", "user-agent", "x-amz-target")}
        request = AWSRequest("POST", f"{server.url}/", again, sent.body)
        SigV4Auth(Credentials("test", "test", "t" * 900), "dynamodb", "us-east-1").add_auth(request)
    assert sent.headers["authorization"] == request.headers["Authorization"]
    assert sent.headers["x-amz-date"] == "20261207T000000Z"


def test_credentials_that_renew_themselves_are_used_as_they_are_at_the_moment(server: FaultServer) -> None:
    def renewed() -> dict[str, str]:
        renewals.append(1)
        now = datetime.datetime.now(datetime.UTC)
        return {
            "access_key": f"key{len(renewals)}",
            "secret_key": "secret",
            "token": f"token{len(renewals)}",
            "expiry_time": (now + datetime.timedelta(hours=1)).isoformat(),
        }

    renewals: list[int] = []
    session: Any = get_session()
    with time_machine.travel(OFFSET, tick=False) as traveller, environment(server.url):
        session._credentials = RefreshableCredentials.create_from_metadata(renewed(), renewed, "test")
        client = lean.client("dynamodb", session, CONFIG)
        client.update_item(**UPDATE)
        client.update_item(**UPDATE)
        traveller.shift(50 * 60)
        client.update_item(**UPDATE)
    assert [asked.headers["x-amz-security-token"] for asked in server.asked] == ["token1", "token1", "token2"]
    assert "Credential=key2/" in server.asked[-1].headers["authorization"]


@pytest.mark.parametrize("service", list(lean.SERVICES))
@pytest.mark.parametrize(
    "said",
    [
        {"AWS_DEFAULT_REGION": "us-east-1"},
        {"AWS_DEFAULT_REGION": "eu-central-1"},
        {"AWS_DEFAULT_REGION": "cn-north-1"},
        {"AWS_DEFAULT_REGION": "us-gov-west-1"},
        {"AWS_DEFAULT_REGION": "us-east-1", "AWS_USE_FIPS_ENDPOINT": "true"},
        {"AWS_DEFAULT_REGION": "us-west-2", "AWS_USE_DUALSTACK_ENDPOINT": "true"},
        {"AWS_DEFAULT_REGION": "us-west-2", "AWS_USE_DUALSTACK_ENDPOINT": "true", "AWS_USE_FIPS_ENDPOINT": "true"},
        {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCOUNT_ID": "123456789012"},
        {
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCOUNT_ID": "123456789012",
            "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",
        },
        {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": "http://127.0.0.1:1/"},
        {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": "http://127.0.0.1:1/below/this"},
        {
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
            "AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:2",
            "AWS_ENDPOINT_URL_DYNAMODB": "https://127.0.0.1:3",
        },
        {
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
            "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
        },
    ],
)
def test_requests_go_where_boto3_sends_them(alone: pytest.MonkeyPatch, service: str, said: dict[str, str]) -> None:
    for name, value in said.items():
        alone.setenv(name, value)
    assert target_of(service, lean.client(service, session(), CONFIG)) == target_of(service, fresh_boto3(service))


def target_of(service: str, client: Any) -> tuple[str, str]:
    """The address of a request, and what its signature is good for; it goes nowhere."""
    found: list[tuple[str, str]] = []

    def stop(request: Any, **_: Any) -> AWSResponse:
        signed = request.headers["Authorization"]
        scope = (signed.decode() if isinstance(signed, bytes) else signed).partition("Credential=test/")[2]
        found.append((request.url, scope.partition("/")[2].partition(",")[0]))
        raw: Any = type("Raw", (), {"stream": lambda *_: iter([b"{}"])})()
        return AWSResponse(request.url, 200, {}, raw)

    client.meta.events.register("before-send", stop)
    if service == "sqs":
        client.send_message_batch(QueueUrl="https://sqs.us-east-1.amazonaws.com/123456789012/q", Entries=[])
    else:
        client.get_item(TableName="t", Key={"pk": {"S": "a"}})
    return found[0]


def test_without_a_region_or_keys_it_says_what_is_missing(alone: pytest.MonkeyPatch, server: FaultServer) -> None:
    with pytest.raises(NoRegionError):
        dynamodb_client()
    alone.setenv("AWS_DEFAULT_REGION", "us-east-1")
    alone.delenv("AWS_ACCESS_KEY_ID")
    alone.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(NoCredentialsError):
        dynamodb_client().update_item(**UPDATE)


def test_in_a_function_lambda_can_follow_the_request(server: FaultServer) -> None:
    trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
    with environment(server.url, AWS_LAMBDA_FUNCTION_NAME="dispatcher", _X_AMZN_TRACE_ID=trace):
        lean_client("dynamodb").update_item(**UPDATE)
    assert server.asked[0].headers["x-amzn-trace-id"] == trace
    assert "x-amzn-trace-id" not in server.asked[0].headers["authorization"]


@pytest.fixture
def proxy(alone: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    with FaultServer().running() as found:
        alone.setenv("AWS_DEFAULT_REGION", "us-east-1")
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
            alone.setenv(name, found.url.replace("http://", "http://me:word@"))
        yield found


@pytest.mark.parametrize("kind", list(MADE))
def test_a_proxy_is_asked_where_the_environment_names_one(
    alone: pytest.MonkeyPatch, proxy: FaultServer, kind: str
) -> None:
    alone.setenv("AWS_ENDPOINT_URL", "http://dynamodb.test:8000")
    MADE[kind]("dynamodb").update_item(**UPDATE)
    (asked,) = proxy.asked
    assert asked.line == "POST http://dynamodb.test:8000/ HTTP/1.1"
    assert asked.headers["proxy-authorization"] == "Basic bWU6d29yZA=="
    assert asked.headers["host"] == "dynamodb.test:8000"


def test_a_proxy_is_passed_by_where_the_environment_says_so(
    alone: pytest.MonkeyPatch, proxy: FaultServer, server: FaultServer
) -> None:
    alone.setenv("AWS_ENDPOINT_URL", server.url)
    alone.setenv("NO_PROXY", "127.0.0.1")
    dynamodb_client().update_item(**UPDATE)
    assert (len(server.asked), proxy.asked) == (1, [])


def test_what_is_encrypted_goes_through_a_tunnel(alone: pytest.MonkeyPatch, slept: list[float], tmp_path: Path) -> None:
    with receiving(tmp_path) as receiver, tunnel(receiver.port) as (port, asked):
        receiver.answer = lambda handler: respond(handler, 200, b"{}")
        alone.setenv("AWS_DEFAULT_REGION", "us-east-1")
        alone.setenv("AWS_CA_BUNDLE", receiver.ca_file)
        alone.setenv("AWS_ENDPOINT_URL", receiver.url(""))
        alone.setenv("HTTPS_PROXY", f"http://me:word@127.0.0.1:{port}")
        dynamodb_client().update_item(**UPDATE)
        assert asked[0].startswith(f"CONNECT {HOST}:{receiver.port} ")
        assert "Proxy-Authorization: Basic bWU6d29yZA==" in asked[0]
        assert len(receiver.received) == 1
        alone.setenv("HTTPS_PROXY", "http://me:word@127.0.0.1:1")
        with pytest.raises(ProxyConnectionError, match=r"\*\*\*:\*\*\*@127\.0\.0\.1:1"):
            dynamodb_client().update_item(**UPDATE)


@pytest.mark.parametrize("kind", list(MADE))
def test_who_is_not_known_or_has_another_name_is_not_spoken_to(
    alone: pytest.MonkeyPatch, slept: list[float], tmp_path: Path, kind: str
) -> None:
    with receiving(tmp_path) as receiver:
        receiver.answer = lambda handler: respond(handler, 200, b"{}")
        alone.setenv("AWS_DEFAULT_REGION", "us-east-1")
        alone.setenv("AWS_ENDPOINT_URL", f"https://127.0.0.1:{receiver.port}")
        with pytest.raises(SSLError):
            fresh(MADE[kind]).update_item(**UPDATE)
        alone.setenv("AWS_CA_BUNDLE", receiver.ca_file)
        with pytest.raises(SSLError, match=r"127\.0\.0\.1"):
            fresh(MADE[kind]).update_item(**UPDATE)
        assert receiver.received == []


def fresh(made: Made) -> Any:
    """A client that knows nothing of what the environment said before."""
    return fresh_boto3("dynamodb") if made is boto3_client else dynamodb_client()


def fresh_boto3(service: str) -> Any:
    make: Any = boto3.session.Session(botocore_session=session()).client
    return make(service, config=CONFIG)


@cache
def _models() -> Any:
    return get_session().get_component("data_loader")


def session() -> Any:
    """A session that has read what does not change already."""
    found = get_session()
    found.register_component("data_loader", _models())
    return found


class tunnel:  # noqa: N801 - it is used as a context
    """A proxy that connects whoever asks for any host to a port of this machine, and keeps the heads of requests."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.heads: list[str] = []

    def __enter__(self) -> tuple[int, list[str]]:
        threading.Thread(target=self._accept, daemon=True).start()
        return self._listening.getsockname()[1], self.heads

    def __exit__(self, *_: object) -> None:
        self._listening.close()

    def _accept(self) -> None:
        try:
            while True:
                near, _ = self._listening.accept()
                head = b""
                while b"\r\n\r\n" not in head:
                    head += near.recv(4096)
                self.heads.append(head.decode())
                far = socket.create_connection(("127.0.0.1", self._to))
                near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=_pour, args=(one, other), daemon=True).start()
        except OSError:
            return


def _pour(one: socket.socket, other: socket.socket) -> None:
    try:
        while more := one.recv(65536):
            other.sendall(more)
    except OSError:
        return
