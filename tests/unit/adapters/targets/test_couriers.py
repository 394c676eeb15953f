"""Couriers: a message reaches a topic, an e-mail, a signed webhook and a chat, and what goes wrong is said."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from cronfleet.adapters.targets import couriers
from cronfleet.adapters.targets.couriers import AllCouriers
from cronfleet.domain.attempt import Result
from cronfleet.domain.channel import SnsAddress, WebhookAddress
from cronfleet.domain.instant import SECOND
from cronfleet.domain.message import Message, incident_message
from cronfleet.domain.run import Outcome
from tests.support.alert_examples import CHANNEL, EMAIL, INCIDENT, NOTICE, SLACK
from tests.support.settable_clock import NOON, SettableClock

MESSAGE = incident_message(NOTICE, INCIDENT, CHANNEL)


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    for made in (couriers._sns, couriers._ses, couriers._secrets_client):
        made.cache_clear()
    with mock_aws():
        yield


def deliver(channel: Any, sender: str = "", message: Message = MESSAGE) -> Result:
    courier = AllCouriers(clock=SettableClock(), sender=sender)
    return courier.deliver(channel, message, NOON + 10 * SECOND)


def test_a_topic_gets_the_subject_and_the_whole_as_json() -> None:
    topic = boto3.client("sns").create_topic(Name="cronfleet-alerts-ops")["TopicArn"]
    queue = boto3.client("sqs").create_queue(QueueName="in")["QueueUrl"]
    boto3.client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint="arn:aws:sqs:eu-west-1:123456789012:in")
    assert deliver(replace(CHANNEL, address=SnsAddress(topic))).outcome is Outcome.SUCCEEDED
    (message,) = boto3.client("sqs").receive_message(QueueUrl=queue)["Messages"]
    told = json.loads(message["Body"])
    assert told["Subject"] == "[BROKEN] nightly: did not start in time"
    body = json.loads(told["Message"])
    assert (body["type"], body["version"]) == ("cronfleet.incident.opened", 1)
    assert body["incident"]["schedules"] == ["nightly"]


def test_a_topic_that_is_gone_is_not_tried_again() -> None:
    result = deliver(CHANNEL)
    assert (result.outcome, result.retryable) == (Outcome.FAILED, False)
    assert result.error == "Publish: NotFound"


def test_an_email_comes_from_the_sender_of_the_installation() -> None:
    boto3.client("sesv2").create_email_identity(EmailIdentity="alerts@example.com")
    assert deliver(EMAIL, "alerts@example.com").outcome is Outcome.SUCCEEDED


def test_without_a_sender_no_email_is_sent_and_the_reason_is_said() -> None:
    result = deliver(EMAIL)
    assert (result.retryable, result.error) == (False, "the installation has no sender for e-mails; set one")


def test_a_chat_and_a_webhook_are_posted_with_the_id_of_the_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    posted: list[dict[str, Any]] = []

    def post(_self: Any, url: str, body: str, **more: Any) -> Result:
        posted.append({"url": url, "body": json.loads(body), **more})
        return Result(Outcome.SUCCEEDED)

    monkeypatch.setattr("cronfleet.adapters.targets.webhook.Webhooks.post", post)
    boto3.client("secretsmanager").create_secret(Name="cronfleet/acme/chat", SecretString="https://chat.example.com/x")
    chat = replace(SLACK, address=replace(SLACK.address, url_secret="cronfleet/acme/chat"))  # type: ignore[type-var]  # it is a chat's
    assert deliver(chat).outcome is Outcome.SUCCEEDED
    hook = replace(CHANNEL, address=WebhookAddress("https://alerts.example.com/in", "cronfleet/acme/key"))
    assert deliver(hook).outcome is Outcome.SUCCEEDED
    assert [one["url"] for one in posted] == ["https://chat.example.com/x", "https://alerts.example.com/in"]
    assert {one["webhook_id"] for one in posted} == {"notice_n1"}
    assert [one["secret"] for one in posted] == [None, "cronfleet/acme/key"]
    assert posted[0]["body"]["text"] == "[BROKEN] nightly: did not start in time"
    assert posted[1]["body"]["type"] == "cronfleet.incident.opened"


def test_a_secret_of_another_tenant_is_refused_for_good_and_an_absent_one_is_tried_again() -> None:
    result = deliver(SLACK)
    assert result.retryable is False
    absent = replace(SLACK, address=replace(SLACK.address, url_secret="cronfleet/acme/none"))  # type: ignore[type-var]  # as above
    assert deliver(absent).retryable is True
