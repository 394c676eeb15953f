"""Alert schemas: what callers may send of channels and incidents, field by field."""

from typing import Literal

from pydantic import Field

from cronfleet.domain.channel import MAX_RECIPIENTS, MAX_URL
from cronfleet.domain.message_template import MAX_TEMPLATE, PLACEHOLDERS

from .schemas import TEXT, Reason, Strict, shown


class QuietHoursBody(Strict):
    """When it is told nothing: what comes up meanwhile is told in one summary at the end."""

    model_config = shown({"start": "22:00", "end": "07:00", "timezone": "Asia/Kolkata", "days": ["mon", "tue"]})

    start: str = Field(max_length=5, examples=["22:00"], description="A time of day.")
    end: str = Field(max_length=5, examples=["07:00"], description="A time of day; not after start: of the next day.")
    timezone: str = Field(max_length=64, examples=["Asia/Kolkata"], description="An IANA name: on whose clock.")
    days: list[str] = Field(
        default_factory=list, max_length=7, description="`mon` to `sun`, on which it begins. None: each day."
    )


class ChannelBody(Strict):
    """A channel, with the fields of its kind."""

    model_config = shown(
        {"kind": "slack", "url_secret": "cronfleet/acme/slack", "default": True},
        {"kind": "webhook", "url": "https://alerts.example.com/in", "secret": "cronfleet/acme/alert-key"},
        {"kind": "email", "to": ["night@example.com"]},
        {"kind": "sns", "topic_arn": "arn:aws:sns:eu-west-1:111122223333:cronfleet-alerts-night"},
    )

    kind: Literal["sns", "webhook", "email", "slack"] = Field(description="What it is.")
    topic_arn: str | None = Field(None, max_length=300, description="Of `sns`: a topic named cronfleet-alerts-….")
    url: str | None = Field(None, max_length=MAX_URL, description="Of `webhook`, or of a `slack` that is no secret.")
    secret: str | None = Field(None, max_length=512, description="Of `webhook`: the name of the signing key's secret.")
    url_secret: str | None = Field(None, max_length=512, description="Of `slack`: the name of the secret with its URL.")
    to: list[str] | None = Field(None, max_length=MAX_RECIPIENTS, description="Of `email`: its recipients.")
    template: str = Field(
        "",
        max_length=MAX_TEMPLATE,
        pattern=TEXT,
        description=f"Its text instead of ours, with {{{{placeholders}}}}: {', '.join(PLACEHOLDERS)}. Empty: ours.",
        examples=["{{state}} {{schedule}}: {{text}}"],
    )
    quiet_hours: QuietHoursBody | None = Field(None, description="When it is told nothing. Left out: never.")
    default: bool = Field(False, description="Told where an objective names no channel, and of the tenant as a whole.")
    description: str = Field("", max_length=500, pattern=TEXT, description="What it is for.")
    reason: Reason = ""


class AcknowledgeBody(Strict):
    """That somebody has seen it."""

    model_config = shown({"note": "the mirror is down, on it"})

    note: str = Field("", max_length=500, pattern=TEXT, description="Kept with the incident and in the audit log.")
