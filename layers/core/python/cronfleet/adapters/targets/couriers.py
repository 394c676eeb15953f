"""Couriers: carry a message to a channel: a topic of SNS, a signed webhook, a chat, or an e-mail by SES.

Webhooks and chats go by the rules of webhook targets: the same addresses, one resolution of a name, redirects judged.
"""

import functools
import json
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, assert_never

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from cronfleet.adapters.targets.secrets import SecretRefused, Secrets, SecretUnavailable
from cronfleet.adapters.targets.webhook import Webhooks
from cronfleet.domain.attempt import Result
from cronfleet.domain.channel import Channel, EmailAddresses, SlackAddress, SnsAddress, WebhookAddress
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.message import (
    Message,
    email_subject,
    email_text,
    slack_body,
    sns_subject,
    webhook_body,
)
from cronfleet.domain.run import Outcome
from cronfleet.ports.clock import Clock

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

logger = logging.getLogger(__name__)

_LASTING = frozenset({"AuthorizationError", "InvalidParameter", "NotFound", "MessageRejected", "BadRequestException"})
"""Errors of SNS and SES that no retry mends: a topic that is gone, an address that was refused."""


class AllCouriers:
    """Delivers by the kind of the channel; what a kind needs is made when it is first used.

    `sender` is the address that e-mails come from, verified in SES; empty: the installation sends none.
    """

    def __init__(self, *, clock: Clock, sender: str = "", allowed_networks: Sequence[str] = ()) -> None:
        self._clock = clock
        self._sender = sender
        self._allowed_networks = allowed_networks

    def deliver(self, channel: Channel, message: Message, deadline_at: Instant) -> Result:
        """See `Courier.deliver`. A fault of an adapter is logged with its traceback, and tried again."""
        try:
            return self._dispatch(channel, message, deadline_at)
        except SecretRefused as error:
            return Result(Outcome.FAILED, str(error), retryable=False)
        except SecretUnavailable as error:
            return Result(Outcome.FAILED, str(error))
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "unknown error")
            return Result(Outcome.FAILED, f"{error.operation_name}: {code}", retryable=code not in _LASTING)
        except BotoCoreError as error:
            return Result(Outcome.FAILED, type(error).__name__)
        except Exception as error:
            logger.exception("courier_broken: %s", channel.name)
            return Result(Outcome.FAILED, type(error).__name__)

    def _dispatch(self, channel: Channel, message: Message, deadline_at: Instant) -> Result:
        address = channel.address
        match address:
            case SnsAddress(topic_arn):
                _sns().publish(TopicArn=topic_arn, Subject=sns_subject(message), Message=webhook_body(message))
                return Result(Outcome.SUCCEEDED)
            case EmailAddresses(to):
                return self._email(to, message)
            case WebhookAddress(url, secret):
                return self._post(channel, message, url, webhook_body(message), secret, deadline_at)
            case SlackAddress(url_secret, url):
                where = url or self._secrets.read(channel.tenant, url_secret or "")
                body = json.dumps(slack_body(message), ensure_ascii=False)
                return self._post(channel, message, where, body, None, deadline_at)
        assert_never(address)

    def _post(
        self, channel: Channel, message: Message, url: str, body: str, secret: str | None, deadline_at: Instant
    ) -> Result:
        seconds = (deadline_at - self._clock.now()) / SECOND
        return self._webhooks.post(
            url, body, tenant=channel.tenant, secret=secret, webhook_id=f"notice_{message.notice_id}", seconds=seconds
        )

    def _email(self, to: Sequence[str], message: Message) -> Result:
        if not self._sender:
            return Result(Outcome.FAILED, "the installation has no sender for e-mails; set one", retryable=False)
        subject, text = {"Data": email_subject(message)}, {"Data": email_text(message)}
        content = {"Simple": {"Subject": subject, "Body": {"Text": text}}}
        _ses().send_email(FromEmailAddress=self._sender, Destination={"ToAddresses": list(to)}, Content=content)
        return Result(Outcome.SUCCEEDED)

    @functools.cached_property
    def _secrets(self) -> Secrets:
        return Secrets(_secrets_client, self._clock)

    @functools.cached_property
    def _webhooks(self) -> Webhooks:
        return Webhooks(secrets=self._secrets, clock=self._clock, allowed_networks=self._allowed_networks)


_CONFIG = Config(connect_timeout=2, read_timeout=5, retries={"total_max_attempts": 2})


@functools.cache
def _secrets_client() -> "SecretsManagerClient":
    return boto3.client("secretsmanager", config=_CONFIG)


@functools.cache
def _sns() -> Any:
    return boto3.client("sns", config=_CONFIG)


@functools.cache
def _ses() -> Any:
    return boto3.client("sesv2", config=_CONFIG)
