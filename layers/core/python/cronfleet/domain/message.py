"""Messages: what a channel is told, written out for each kind of channel. Pure: the adapters only carry them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cronfleet.domain.channel import Channel
from cronfleet.domain.form import Form
from cronfleet.domain.incident import PLATFORM, Incident, IncidentKind, incident_form
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.message_template import rendered
from cronfleet.domain.notice import Edge, Notice
from cronfleet.domain.quiet_hours import local_text

BODY_VERSION: Final = 1
"""Of a webhook's body and an SNS message; a field may be added without a new one."""

MAX_SUBJECT: Final = 100
"""Characters of the subject of an SNS message, which must be ASCII, and of an e-mail's."""

MAX_SLACK_TEXT: Final = 2_900
"""A section of Slack's takes 3,000 characters."""

NAMED_IN_TEXT: Final = 10
"""Schedules that a sentence names; the body names all that the incident does."""

_STATE: Final[Mapping[Edge, str]] = {
    Edge.OPENED: "BROKEN",
    Edge.HEALED: "HEALED",
    Edge.WITHDRAWN: "NO LONGER WATCHED",
    Edge.TEST: "TEST",
    Edge.SUMMARY: "SUMMARY",
}
_COLOURS: Final[Mapping[Edge, str]] = {Edge.OPENED: "#c62828", Edge.HEALED: "#2e7d32"}
_GREY: Final = "#607d8b"

_TITLES: Final[Mapping[IncidentKind, str]] = {
    IncidentKind.STARTS_WITHIN: "did not start in time",
    IncidentKind.SUCCEEDS_WITHIN: "did not succeed in time",
    IncidentKind.SUCCEEDS_BY: "did not succeed by its time of day",
    IncidentKind.RUNS_TOO_LONG: "runs longer than expected",
    IncidentKind.PING_WITHIN: "sent no ping in time",
    IncidentKind.SHARD_STOPPED: "nobody dispatches it",
    IncidentKind.LETTERS_EXPIRE: "some are removed before long",
    IncidentKind.LAG: "fires are claimed late",
    IncidentKind.QUEUE_AGE: "claimed fires are not started",
    IncidentKind.DEAD_LETTERS: "messages cannot be delivered",
}


@dataclass(frozen=True, slots=True)
class Message:
    """What is told: `title` is one line, `text` the body for people, `fields` small facts, `form` all of it as JSON."""

    notice_id: str
    edge: Edge
    title: str
    text: str
    fields: tuple[tuple[str, str], ...]
    form: Form
    written_at: Instant


def incident_message(notice: Notice, incident: Incident, channel: Channel) -> Message:
    """The message of an incident's edge, by the channel's template where it has one."""
    title = title_of(incident, notice.edge)
    zone = channel.quiet_hours.timezone if channel.quiet_hours is not None else ""
    facts = _facts(incident, zone)
    text = _sentence(incident, notice.edge)
    if channel.template:
        text = rendered(channel.template, _values(incident, notice.edge, title, facts))
    told_at = incident.opened_at if notice.edge is Edge.OPENED else incident.ended_at or incident.opened_at
    form = {
        "type": f"cronfleet.incident.{notice.edge.value}",
        "version": BODY_VERSION,
        "timestamp": to_text(told_at),
        "title": title,
        "text": text,
        "tenant": _tenant_shown(incident.tenant),
        "incident": incident_form(incident),
    }
    return Message(notice.notice_id, notice.edge, title, text, tuple(facts.items()), form, told_at)


def title_of(incident: Incident, edge: Edge) -> str:
    """`[BROKEN] nightly-billing did not start in time`."""
    about = incident.schedule_id or incident.subject.replace(":", " ").replace("_", " ")
    return f"[{_STATE[edge]}] {about}: {_TITLES[incident.kind]}"


def trial_message(notice: Notice, channel: Channel) -> Message:
    """What the test button sends."""
    title = f"[TEST] Cronfleet can reach {channel.name}"
    text = "Nothing is broken: somebody asked for this message to see that it arrives."
    form = {
        "type": "cronfleet.channel.test",
        "version": BODY_VERSION,
        "timestamp": to_text(notice.created_at),
        "title": title,
        "text": text,
        "tenant": _tenant_shown(channel.tenant),
        "channel": channel.name,
    }
    return Message(notice.notice_id, Edge.TEST, title, text, (), form, notice.created_at)


def summary_message(notice: Notice, told: Sequence[tuple[Notice, Incident]], channel: Channel, now: Instant) -> Message:
    """One message for all that came up in quiet hours, in the order in which it did."""
    lines = [f"{_when(one, incident, channel)}  {title_of(incident, one.edge)}" for one, incident in told]
    lines += [f"… and {notice.more} more"] if notice.more else []
    count = len(told) + notice.more
    open_ids = {incident.incident_id for _, incident in told if incident.is_open}
    title = f"[SUMMARY] {count} in quiet hours, {len(open_ids)} still broken"
    form = {
        "type": "cronfleet.summary",
        "version": BODY_VERSION,
        "timestamp": to_text(now),
        "title": title,
        "text": "\n".join(lines),
        "tenant": _tenant_shown(channel.tenant),
        "count": count,
        "incidents": [{"edge": one.edge.value, "incident": incident_form(incident)} for one, incident in told],
    }
    return Message(notice.notice_id, Edge.SUMMARY, title, "\n".join(lines), (), form, now)


def _when(notice: Notice, incident: Incident, channel: Channel) -> str:
    at = incident.opened_at if notice.edge is Edge.OPENED else incident.ended_at or incident.opened_at
    return _moment(at, channel.quiet_hours.timezone if channel.quiet_hours is not None else "")


def _sentence(incident: Incident, edge: Edge) -> str:
    if edge is Edge.OPENED:
        names = _names(incident)
        return incident.broken.text + (f"\nSchedules: {names}" if names else "")
    return incident.ended_text or incident.broken.text


def _names(incident: Incident) -> str:
    """The schedules concerned, where the incident is not about one alone."""
    if incident.schedule_id or not incident.broken.schedules:
        return ""
    shown = incident.broken.schedules[:NAMED_IN_TEXT]
    more = incident.broken.count - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def _facts(incident: Incident, zone: str) -> dict[str, str]:
    facts = {
        "Schedule": incident.schedule_id,
        "Tenant": _tenant_shown(incident.tenant),
        "Broken since": _moment(incident.broken.since_at, zone),
        "Noticed": _moment(incident.opened_at, zone),
        "Ended": "" if incident.ended_at is None else _moment(incident.ended_at, zone),
        "Incident": incident.incident_id,
    }
    return {name: value for name, value in facts.items() if value}


def _moment(instant: Instant, zone: str) -> str:
    return local_text(instant, zone) if zone else to_text(instant)


def _tenant_shown(tenant: str) -> str:
    return "platform" if tenant == PLATFORM else tenant


def _values(incident: Incident, edge: Edge, title: str, facts: Mapping[str, str]) -> dict[str, str]:
    return {
        "state": _STATE[edge],
        "title": title,
        "text": _sentence(incident, edge),
        "kind": incident.kind.value,
        "subject": incident.subject,
        "schedule": incident.schedule_id,
        "schedules": ", ".join(incident.broken.schedules),
        "count": str(incident.broken.count),
        "since": facts["Broken since"],
        "opened": facts["Noticed"],
        "ended": facts.get("Ended", ""),
        "tenant": facts["Tenant"],
        "incident": incident.incident_id,
    }


# --- for each kind of channel ----------------------------------------------------------------------------------


def webhook_body(message: Message) -> str:
    """The body of a webhook, and the message of an SNS topic."""
    return json.dumps(message.form, separators=(",", ":"), ensure_ascii=False)


def slack_body(message: Message) -> dict[str, Any]:
    """An incoming webhook's JSON: `text` for notifications and other servers, an attachment with blocks for Slack."""
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": f"*{_escaped(message.title)}*"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": _cut(_escaped(message.text), MAX_SLACK_TEXT) or " "}},
    ]
    if message.fields:
        fields = [{"type": "mrkdwn", "text": f"*{name}*\n{_escaped(value)}"} for name, value in message.fields]
        blocks.append({"type": "section", "fields": fields})
    colour = _COLOURS.get(message.edge, _GREY)
    return {"text": _escaped(message.title), "attachments": [{"color": colour, "blocks": blocks}]}


def _escaped(text: str) -> str:
    """What Slack would read as a link, a mention or an entity is text: `<!channel>` in a schedule's id calls nobody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def email_subject(message: Message) -> str:
    """One line."""
    return _cut(" ".join(message.title.split()), MAX_SUBJECT)


def email_text(message: Message) -> str:
    """Plain text: what is broken first, then the facts in a column."""
    width = max((len(name) for name, _ in message.fields), default=0)
    facts = [f"{name + ':':<{width + 1}} {value}" for name, value in message.fields]
    return "\n".join([message.text, "", *facts, "", "-- ", f"Cronfleet, notice {message.notice_id}"]) + "\n"


def sns_subject(message: Message) -> str:
    """ASCII, one line, which is what SNS takes."""
    plain = " ".join(message.title.encode("ascii", "replace").decode().split())
    return plain[:MAX_SUBJECT]
