"""Channels: where a tenant is told of incidents: a topic, a webhook, e-mail, or a chat that speaks Slack's form.

A channel holds references to secrets, never a value (`domain/target.py`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, assert_never

from cronfleet.domain.errors import Invalid
from cronfleet.domain.form import Form
from cronfleet.domain.instant import EARLIEST, Instant, to_text
from cronfleet.domain.message_template import check_template
from cronfleet.domain.quiet_hours import WEEKDAYS, QuietHours, time_of_day
from cronfleet.domain.target import may_read, secret_prefix
from cronfleet.domain.tenant import ID_PATTERN

MAX_CHANNELS: Final = 20
"""Of a tenant, deleted ones left out; as many are told of one incident at most."""

MAX_RECIPIENTS: Final = 10
MAX_URL: Final = 2_000

_TOPIC: Final = re.compile(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:cronfleet-alerts-[A-Za-z0-9_-]{1,200}", re.ASCII)
"""What the clerk may publish to: an installation opts a topic in by its name."""
_ADDRESS: Final = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+", re.ASCII)
_LONGEST_ADDRESS: Final = 254


@dataclass(frozen=True, slots=True)
class SnsAddress:
    """A topic of Amazon SNS."""

    topic_arn: str


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    """An HTTPS URL, called as Standard Webhooks asks; `secret` refers to the signing key."""

    url: str
    secret: str | None = None


@dataclass(frozen=True, slots=True)
class EmailAddresses:
    """Recipients of an e-mail that Amazon SES sends."""

    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SlackAddress:
    """An incoming webhook of Slack, Mattermost or the like: its URL is a secret, so one refers to it by `url_secret`.

    `url` itself is for servers whose URL is no secret; one of the two is set.
    """

    url_secret: str | None = None
    url: str | None = None


Address: TypeAlias = SnsAddress | WebhookAddress | EmailAddresses | SlackAddress


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel of a tenant. A deleted one stays as a tombstone, so that its `rev` goes on."""

    tenant: str
    name: str
    address: Address
    template: str = ""
    """Instead of the product's own text; empty: that."""
    quiet_hours: QuietHours | None = None
    is_default: bool = False
    """Whether it is told where an objective names no channel, and of what concerns the tenant as a whole."""
    description: str = ""
    created_at: Instant = EARLIEST
    updated_at: Instant = EARLIEST
    is_deleted: bool = False
    rev: int = 1
    change_id: str = ""


def kind_of(address: Address) -> str:
    """The kind, as callers write it."""
    match address:
        case SnsAddress():
            return "sns"
        case WebhookAddress():
            return "webhook"
        case EmailAddresses():
            return "email"
        case SlackAddress():
            return "slack"
    assert_never(address)


def check_channel(channel: Channel) -> None:
    """Raises `Invalid` naming the field for what could never be told, or names another tenant's secret."""
    if not ID_PATTERN.fullmatch(channel.name):
        raise Invalid(
            "name", "must be 1 to 64 letters, digits, dots, dashes or underscores, beginning with the first two"
        )
    _check_address(channel.tenant, channel.address)
    try:
        check_template(channel.template)
    except Invalid as error:
        raise Invalid("template", error.reason) from error


def _check_address(tenant: str, address: Address) -> None:
    match address:
        case SnsAddress(topic_arn):
            if not _TOPIC.fullmatch(topic_arn):
                raise Invalid("topic_arn", "must be the ARN of a topic whose name begins with cronfleet-alerts-")
        case WebhookAddress(url, secret):
            check_url(url, "url")
            _check_secret(tenant, secret, "secret")
        case EmailAddresses(to):
            _check_recipients(to)
        case SlackAddress(url_secret, url):
            if (url is None) == (url_secret is None):
                raise Invalid(
                    "url_secret", "give url_secret, the name of the secret that holds the URL, or url, not both"
                )
            if url is not None:
                check_url(url, "url")
            _check_secret(tenant, url_secret, "url_secret")


def check_url(url: str, field: str) -> None:
    """An URL as a webhook may have; where it leads to is judged when it is called."""
    if not url.startswith(("https://", "http://")) or len(url) > MAX_URL or any(one.isspace() for one in url):
        raise Invalid(field, f"must be an https URL of at most {MAX_URL:,} characters, without spaces")


def _check_secret(tenant: str, secret: str | None, field: str) -> None:
    if secret is not None and not may_read(tenant, secret):
        raise Invalid(field, f"must be the name of a secret that begins with {secret_prefix(tenant)}")


def _check_recipients(to: Sequence[str]) -> None:
    if not 1 <= len(to) <= MAX_RECIPIENTS:
        raise Invalid("to", f"must hold 1 to {MAX_RECIPIENTS} addresses, not {len(to)}")
    for place, address in enumerate(to):
        if len(address) > _LONGEST_ADDRESS or not _ADDRESS.fullmatch(address):
            raise Invalid(f"to.{place}", f"{address[:80]!r} is no e-mail address; write one like night@example.com")


def address_form(address: Address) -> Form:
    """An address as callers write it."""
    match address:
        case SnsAddress(topic_arn):
            return {"topic_arn": topic_arn}
        case WebhookAddress(url, secret):
            return {"url": url} | ({} if secret is None else {"secret": secret})
        case EmailAddresses(to):
            return {"to": list(to)}
        case SlackAddress(url_secret, url):
            return {"url": url} if url_secret is None else {"url_secret": url_secret}
    assert_never(address)


def address_of(kind: str, said: dict[str, Any]) -> Address:
    """The reverse of `kind_of` and `address_form`; raises `KeyError` or `ValueError` for anything else."""
    match kind:
        case "sns":
            return SnsAddress(said["topic_arn"])
        case "webhook":
            return WebhookAddress(said["url"], said.get("secret"))
        case "email":
            return EmailAddresses(tuple(said["to"]))
        case "slack":
            return SlackAddress(said.get("url_secret"), said.get("url"))
    raise ValueError(f"{kind!r} is no kind of channel")


def quiet_form(quiet: QuietHours | None) -> Form | None:
    """Quiet hours as callers write them."""
    if quiet is None:
        return None
    days = [WEEKDAYS[day] for day in quiet.days]
    return {
        "start": time_of_day(quiet.start),
        "end": time_of_day(quiet.end),
        "timezone": quiet.timezone,
        "days": days,
    }


def channel_form(channel: Channel) -> Form:
    """A channel as callers see it."""
    return {
        "name": channel.name,
        "kind": kind_of(channel.address),
        **address_form(channel.address),
        "template": channel.template,
        "quiet_hours": quiet_form(channel.quiet_hours),
        "default": channel.is_default,
        "description": channel.description,
        "created_at": to_text(channel.created_at),
        "updated_at": to_text(channel.updated_at),
    }
