"""One of each kind of alert, with everything that it may hold."""

from dataclasses import replace

from cronfleet.domain.channel import Channel, EmailAddresses, SlackAddress, SnsAddress, WebhookAddress
from cronfleet.domain.incident import Acknowledgement, Broken, Incident, IncidentKind, IncidentStatus, Standing
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.notice import Edge, Notice, NoticeStatus
from cronfleet.domain.quiet_hours import QuietHours
from cronfleet.domain.watch import Watch
from cronfleet.ports.alerts import Alert
from tests.support.settable_clock import NOON

BROKEN = Broken(NOON, "the fire of 12:00 was not started within 5m", {"nominal_at": NOON}, ("nightly",), 1)
INCIDENT = Incident(
    "acme",
    "01kincident0000000000000001",
    "schedule:nightly",
    IncidentKind.STARTS_WITHIN,
    BROKEN,
    NOON + 5 * MINUTE,
    channels=("night", "ops"),
    change_id="change-1",
)
ENDED = replace(
    INCIDENT,
    incident_id="01kincident0000000000000002",
    status=IncidentStatus.HEALED,
    ended_at=NOON + 9 * MINUTE,
    ended_text="«it started 8m late»",
    acknowledged=Acknowledgement("ada", NOON + 6 * MINUTE, "on it"),
)
STANDING = Standing("acme", "schedule:nightly", IncidentKind.STARTS_WITHIN, INCIDENT.incident_id, 1, "change-1")
TOPIC = "arn:aws:sns:eu-west-1:111122223333:cronfleet-alerts-ops"
CHANNEL = Channel("acme", "night", SnsAddress(TOPIC), is_default=True, created_at=NOON, updated_at=NOON, change_id="c1")
WEBHOOK = replace(CHANNEL, name="hook", address=WebhookAddress("https://alerts.example.com/in", "cronfleet/tenant/key"))
EMAIL = replace(CHANNEL, name="mail", address=EmailAddresses(("night@example.com", "ops@example.com")))
SLACK = replace(
    CHANNEL,
    name="slack",
    address=SlackAddress("cronfleet/tenant/slack"),
    template="{{state}}: {{schedule}}",
    quiet_hours=QuietHours(22 * 60, 7 * 60, "Asia/Kolkata", (0, 4)),
    description="the night watch",
    is_default=False,
)
NOTICE = Notice("acme", "n1", Edge.OPENED, "night", NOON, INCIDENT.incident_id)
HELD = replace(
    NOTICE,
    notice_id="n2",
    status=NoticeStatus.HELD,
    attempts=3,
    error="HTTP 503",
    next_at=NOON + SECOND,
    ended_at=NOON + MINUTE,
    summary="n3",
)
SUMMARY = replace(NOTICE, notice_id="n3", edge=Edge.SUMMARY, incident_id="", holds=("n2", "n1"), more=7)
WATCH = Watch("acme", "nightly", NOON, NOON - SECOND, rev=1)
OFF = Watch("acme", "hourly", NOON, NOON, is_off=True, rev=1)

EXAMPLES: tuple[Alert, ...] = (
    INCIDENT,
    ENDED,
    STANDING,
    CHANNEL,
    WEBHOOK,
    EMAIL,
    SLACK,
    NOTICE,
    HELD,
    SUMMARY,
    WATCH,
    OFF,
)
