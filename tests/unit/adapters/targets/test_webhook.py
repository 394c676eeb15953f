"""Webhooks: signed, bounded, and never a way into the installation's own network."""

import base64
import ipaddress
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import time_machine
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from cronfleet.adapters.system.clock import SystemClock
from cronfleet.adapters.targets.addresses import Address
from cronfleet.adapters.targets.secrets import SecretRefused, Secrets, SecretUnavailable
from cronfleet.adapters.targets.webhook import Webhooks
from cronfleet.domain.attempt import Result
from cronfleet.domain.run import Outcome
from cronfleet.domain.target import WebhookTarget
from tests.support.calls import KEY, Felt, call
from tests.support.https_server import Receiver, receiving, respond

SECRET = "cronfleet/acme/hooks"
SIGNING_KEY = "whsec_" + base64.b64encode(b"k" * 32).decode()
LOOPBACK = ("127.0.0.0/8",)


@dataclass
class Names:
    """A resolver that answers from a list, one answer after the other, and then the last for ever."""

    answers: Sequence[Sequence[str]] = (("127.0.0.1",),)
    asked: list[str] = field(default_factory=list)

    def __call__(self, host: str, _port: int) -> list[Address]:
        self.asked.append(host)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        return [ipaddress.ip_address(text) for text in answer]


class OneSecret(Secrets):
    def __init__(self, value: str = SIGNING_KEY, error: Exception | None = None) -> None:
        self.value, self.error = value, error

    def read(self, tenant: str, name: str) -> str:
        assert (tenant, name) == ("acme", SECRET)
        if self.error is not None:
            raise self.error
        return self.value


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    with receiving(tmp_path) as running:
        yield running


def deliver(
    receiver: Receiver,
    url: str | None = None,
    *,
    names: Any = None,
    allowed: Sequence[str] = LOOPBACK,
    secrets: Secrets | None = None,
    secret: str | None = None,
    payload: Any = None,
    seconds: float = 5,
    attempt: int = 1,
    pulse: Felt | None = None,
) -> Result:
    hooks = Webhooks(
        secrets=secrets or OneSecret(),
        clock=SystemClock(),
        allowed_networks=allowed,
        resolve=names or Names(),
        ca_file=receiver.ca_file,
    )
    target = WebhookTarget(url or receiver.url(), secret)
    return hooks.call(call(target, payload, seconds=seconds, attempt=attempt), target, pulse or Felt())


def test_a_run_is_posted_with_what_a_receiver_needs_to_know(receiver: Receiver) -> None:
    assert deliver(receiver, receiver.url("/hook?a=1"), payload={"amount": 12}) == Result(Outcome.SUCCEEDED)
    (request,) = receiver.received
    assert request.path == "/hook?a=1"
    assert json.loads(request.body) == {
        "type": "cronfleet.run",
        "timestamp": "2026-12-01T02:00:00Z",
        "run_id": KEY.run_id,
        "schedule_id": "month.end",
        "attempt": 1,
        "nominal_at": "2026-12-01T02:00:00Z",
        "due_at": "2026-12-01T02:00:00Z",
        "payload": {"amount": 12},
    }
    assert request.headers["host"] == f"hooks.test:{receiver.port}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["cronfleet-run-id"] == KEY.run_id
    assert request.headers["cronfleet-attempt"] == "1"
    assert "webhook-signature" not in request.headers


def test_a_receiver_can_verify_the_signature_with_the_standard_library_of_standard_webhooks(
    receiver: Receiver,
) -> None:
    assert deliver(receiver, secret=SECRET, payload={"name": "Zoë"}).outcome is Outcome.SUCCEEDED
    (request,) = receiver.received
    assert Webhook(SIGNING_KEY).verify(request.body, request.headers)["payload"] == {"name": "Zoë"}


def test_while_a_key_is_rotated_the_old_and_the_new_both_verify(receiver: Receiver) -> None:
    old = "whsec_" + base64.b64encode(b"o" * 32).decode()
    deliver(receiver, secret=SECRET, secrets=OneSecret(f"{SIGNING_KEY} {old}"))
    (request,) = receiver.received
    for key in (SIGNING_KEY, old):
        Webhook(key).verify(request.body, request.headers)


def test_every_attempt_of_a_run_has_the_same_webhook_id_and_it_holds_no_full_stop(receiver: Receiver) -> None:
    for attempt in (1, 2):
        deliver(receiver, attempt=attempt)
    first, second = (request.headers["webhook-id"] for request in receiver.received)
    assert first == second
    assert "." not in first
    assert "." in KEY.run_id


# --- where it may go ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"])
def test_a_name_that_leads_into_the_own_network_is_refused_for_good(receiver: Receiver, address: str) -> None:
    result = deliver(receiver, names=Names([[address]]), allowed=())
    assert (result.outcome, result.retryable) == (Outcome.FAILED, False)
    assert result.error is not None
    assert result.error.startswith(f"hooks.test is {ipaddress.ip_address(address)}: webhooks reach public addresses")
    assert not receiver.received


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "2130706433", "0x7f000001", "127.1", "0", "localhost"])
def test_no_way_of_writing_loopback_gets_through(receiver: Receiver, host: str) -> None:
    hooks = Webhooks(secrets=OneSecret(), clock=SystemClock(), ca_file=receiver.ca_file)
    target = WebhookTarget(receiver.url(host=host))
    assert not hooks.call(call(target), target, Felt()).retryable
    assert not receiver.received


def test_a_name_is_resolved_once_so_that_a_second_answer_changes_nothing(receiver: Receiver, tmp_path: Path) -> None:
    trail = tmp_path / "asked"

    def rebinding(host: str, _port: int) -> list[Address]:
        with trail.open("a") as file:
            file.write(f"{host}\n")
        return [ipaddress.ip_address("127.0.0.1")]

    assert deliver(receiver, names=rebinding, allowed=("127.0.0.1/32",)).outcome is Outcome.SUCCEEDED
    assert trail.read_text() == "hooks.test\n"


def test_of_several_addresses_only_those_that_may_be_reached_are_tried(receiver: Receiver) -> None:
    mixed = Names([["10.0.0.1", "127.0.0.1"]])
    assert deliver(receiver, names=mixed, allowed=("127.0.0.1/32",)).outcome is Outcome.SUCCEEDED


def test_the_next_address_is_tried_when_one_does_not_answer(receiver: Receiver) -> None:
    down_then_up = Names([["127.0.0.9", "127.0.0.1"]])
    assert deliver(receiver, names=down_then_up).outcome is Outcome.SUCCEEDED
    assert len(receiver.received) == 1


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://hooks.test/", "is not an https URL"),
        ("https://", "is not an https URL"),
        ("https://ada:pw@hooks.test/", "holds a user name or a password"),
        ("https://hooks.test:99999/", "is not a URL"),
        ("http://hooks.test/", "is not encrypted"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_for_good(receiver: Receiver, url: str, said: str) -> None:
    result = deliver(receiver, url, names=Names([["93.184.216.34"]]))
    assert not result.retryable
    assert result.error is not None
    assert said in result.error


def test_plain_http_reaches_only_what_the_installation_allows(tmp_path: Path) -> None:
    with receiving(tmp_path, tls=False) as receiver:
        assert deliver(receiver).outcome is Outcome.SUCCEEDED
        assert not deliver(receiver, allowed=()).retryable


# --- redirects -----------------------------------------------------------------------------------------------------


def redirects(receiver: Receiver, status: int, location: str) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/hook":
            respond(handler, status, location=location)
        else:
            respond(handler, 204)

    receiver.answer = answer


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_that_keeps_the_method_is_followed_with_the_same_signed_body(
    receiver: Receiver, status: int
) -> None:
    redirects(receiver, status, "/new?b=2")
    assert deliver(receiver, secret=SECRET).outcome is Outcome.SUCCEEDED
    first, second = receiver.received
    assert second.path == "/new?b=2"
    assert first.body == second.body
    Webhook(SIGNING_KEY).verify(second.body, second.headers)


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_would_turn_the_post_into_a_get_is_a_failure(receiver: Receiver, status: int) -> None:
    redirects(receiver, status, "/new")
    assert deliver(receiver) == Result(Outcome.FAILED, f"HTTP {status}")
    assert len(receiver.received) == 1


def test_a_redirect_into_the_own_network_is_refused_for_good(receiver: Receiver) -> None:
    redirects(receiver, 307, "https://169.254.169.254/latest/meta-data/")
    names = Names([["127.0.0.1"], ["169.254.169.254"]])
    result = deliver(receiver, names=names, allowed=("127.0.0.1/32",))
    assert (result.outcome, result.retryable) == (Outcome.FAILED, False)
    assert result.error is not None
    assert "169.254.169.254" in result.error


def test_a_redirect_from_https_to_http_is_refused_for_good(receiver: Receiver) -> None:
    redirects(receiver, 308, "http://hooks.test/plain")
    result = deliver(receiver)
    assert not result.retryable
    assert result.error is not None
    assert "not encrypted" in result.error


def test_redirects_that_never_end_are_followed_three_times(receiver: Receiver) -> None:
    receiver.answer = lambda handler: respond(handler, 307, location=f"/again{len(receiver.received)}")
    result = deliver(receiver)
    assert result.error is not None
    assert result.error.startswith("more than 3 redirects")
    assert len(receiver.received) == 4


# --- answers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_success_is_a_success(receiver: Receiver, status: int) -> None:
    receiver.answer = lambda handler: respond(handler, status, b"thanks" if status != 204 else b"")
    assert deliver(receiver) == Result(Outcome.SUCCEEDED)


@pytest.mark.parametrize("status", [401, 403, 404, 408, 409, 425, 429, 500, 502, 503, 504])
def test_what_another_attempt_may_mend_is_retried(receiver: Receiver, status: int) -> None:
    receiver.answer = lambda handler: respond(handler, status, b"try\n later \x00")
    assert deliver(receiver) == Result(Outcome.FAILED, f"HTTP {status}: try later")


@pytest.mark.parametrize("status", [400, 405, 410, 413, 415, 422])
def test_what_the_receiver_refuses_for_good_is_not_retried(receiver: Receiver, status: int) -> None:
    receiver.answer = lambda handler: respond(handler, status, b"no")
    assert deliver(receiver) == Result(Outcome.FAILED, f"HTTP {status}: no", retryable=False)


def test_a_large_answer_is_not_read_to_its_end(receiver: Receiver) -> None:
    receiver.answer = lambda handler: respond(handler, 500, b"x" * 5_000_000)
    result = deliver(receiver)
    assert result.error == "HTTP 500: " + "x" * 200


def drip(handler: BaseHTTPRequestHandler) -> None:
    try:
        for byte in b"HTTP/1.1 200 OK\r\nx-slow: " + b"y" * 1000:
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
            time.sleep(0.02)
    except OSError:
        return


def test_a_receiver_that_answers_byte_by_byte_is_cut_off_at_the_limit(receiver: Receiver) -> None:
    receiver.answer = drip
    began = time.monotonic()
    assert deliver(receiver, seconds=0.6).outcome is Outcome.TIMED_OUT
    assert time.monotonic() - began < 3


def test_a_receiver_that_hangs_up_is_tried_again(receiver: Receiver) -> None:
    receiver.answer = lambda handler: handler.connection.close()
    result = deliver(receiver)
    assert (result.outcome, result.retryable) == (Outcome.FAILED, True)


def test_a_receiver_that_is_not_there_is_tried_again(receiver: Receiver) -> None:
    result = deliver(receiver, names=Names([["127.0.0.9"]]))
    assert (result.outcome, result.retryable) == (Outcome.FAILED, True)
    assert result.error is not None
    assert "NewConnectionError" in result.error


def test_the_certificate_must_be_that_of_the_url_s_host(receiver: Receiver) -> None:
    result = deliver(receiver, receiver.url(host="other.test"))
    assert (result.outcome, result.retryable) == (Outcome.FAILED, True)
    assert result.error is not None
    assert result.error.startswith("TLS: ")
    assert not receiver.received


# --- secrets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["whsec_%%%", "whsec_", "a"])
def test_a_secret_that_is_no_signing_key_fails_without_showing_it(receiver: Receiver, value: str) -> None:
    result = deliver(receiver, secret=SECRET, secrets=OneSecret(value))
    assert result.outcome is Outcome.FAILED
    assert result.error is not None
    assert "is not a signing key" in result.error
    assert not receiver.received


def test_a_secret_that_cannot_be_read_is_tried_again_and_one_of_another_tenant_is_not(receiver: Receiver) -> None:
    for error, retryable in ((SecretUnavailable("gone"), True), (SecretRefused("not yours"), False)):
        result = deliver(receiver, secret=SECRET, secrets=OneSecret(error=error))
        assert result == Result(Outcome.FAILED, str(error), retryable)
    assert not receiver.received


# --- replayed ----------------------------------------------------------------------------------------------------


def test_a_delivery_sent_again_later_or_under_another_id_or_time_does_not_verify(receiver: Receiver) -> None:
    """Time and id are signed with the body, so whoever recorded a delivery can change none of them."""
    deliver(receiver, secret=SECRET)
    (request,) = receiver.received
    key, headers = Webhook(SIGNING_KEY), dict(request.headers)
    key.verify(request.body, headers)
    sent_at = int(headers["webhook-timestamp"])
    for name, value in (("webhook-id", "run_other"), ("webhook-timestamp", str(sent_at + 1))):
        with pytest.raises(WebhookVerificationError):
            key.verify(request.body, {**headers, name: value})
    with pytest.raises(WebhookVerificationError), time_machine.travel(sent_at + 301, tick=False):
        key.verify(request.body, headers)
    # Within the five minutes the id is what tells a receiver that it has done this already: no attempt has another.
    deliver(receiver, secret=SECRET, attempt=2)
    assert receiver.received[1].headers["webhook-id"] == headers["webhook-id"]


def test_no_header_of_a_delivery_holds_what_could_end_it(receiver: Receiver) -> None:
    """Ids are of letters, digits and a few marks, and a trace is ours: nothing that a caller wrote is a header."""
    deliver(receiver, secret=SECRET, payload={"a": "x\r\ncookie: y"})
    (request,) = receiver.received
    assert not [name for name in request.headers if name.lower() == "cookie"]
    known = {"accept-encoding", "content-length", "content-type", "host", "traceparent", "user-agent"}
    ours = {name.lower() for name in request.headers} - known
    assert ours == {"webhook-id", "webhook-timestamp", "webhook-signature", "cronfleet-run-id", "cronfleet-attempt"}
    url = "https://hooks.test/a\r\ncookie:%20y"
    result = deliver(receiver, url)
    assert len(receiver.received) == 1 or "cookie" not in receiver.received[1].headers
    assert "\n" not in (result.error or "")
