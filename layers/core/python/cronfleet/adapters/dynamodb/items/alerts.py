"""Alerts, as items of the table `alerts`: each tenant's partition holds its own, by what they are."""

from collections.abc import Callable, Mapping
from typing import Any, Final, assert_never

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.alert_records import AlertRecord
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.domain.channel import Channel, address_form, address_of, kind_of
from cronfleet.domain.errors import CronfleetError
from cronfleet.domain.incident import Acknowledgement, Broken, Incident, IncidentKind, IncidentStatus, Standing
from cronfleet.domain.instant import DAY, SECOND, Instant
from cronfleet.domain.notice import Edge, Notice, NoticeStatus
from cronfleet.domain.quiet_hours import QuietHours
from cronfleet.domain.watch import Watch
from cronfleet.ports.alerts import Alert

STANDING_LIFE: Final = DAY
"""How long a standing is kept that names no open incident: its next incident begins at `rev` 1 again."""

_UNREADABLE = (CronfleetError, ValueError, KeyError, TypeError, AttributeError)


def alert_place(alert: Alert) -> tuple[str, str]:
    """Partition and sort key."""
    match alert:
        case Incident():
            return alert.tenant, keys.incident(alert.incident_id)
        case Standing():
            return alert.tenant, keys.standing(alert.subject, alert.kind.value)
        case Channel():
            return alert.tenant, keys.channel(alert.name)
        case Notice():
            return alert.tenant, keys.notice(alert.notice_id)
        case Watch():
            return alert.tenant, keys.watch(alert.schedule_id)
    assert_never(alert)


def alert_item(alert: Alert, now: Instant) -> Item:
    """Any of them as an item."""
    expires_at = _expires_at(alert, now)
    return written(
        AlertRecord,
        *alert_place(alert),
        rev=alert.rev,
        change_id=getattr(alert, "change_id", "") or None,
        body=_body(alert),
        expires_at=None if expires_at is None else -(-expires_at // SECOND),
    )


def _expires_at(alert: Alert, now: Instant) -> Instant | None:
    match alert:
        case Incident() | Notice():
            return alert.expires_at
        case Standing(incident_id=None):
            return now + STANDING_LIFE
    return None


def alert_of(item: Item) -> Alert:
    """What is in `item`; raises `Damaged`."""
    record = read(AlertRecord, item)
    try:
        kind, name = keys.parse_alert(record.sk)
        return _READERS[kind](record, name, record.body)
    except _UNREADABLE as error:
        raise damaged(item, error) from error


# --- bodies ----------------------------------------------------------------------------------------------------


def _body(alert: Alert) -> dict[str, Any]:
    match alert:
        case Incident():
            return _incident_body(alert)
        case Standing():
            return {} if alert.incident_id is None else {"incident": alert.incident_id}
        case Channel():
            return _channel_body(alert)
        case Notice():
            return _notice_body(alert)
        case Watch():
            return {"judged_until": alert.judged_until, "since": alert.since_at} | (
                {"off": True} if alert.is_off else {}
            )
    assert_never(alert)


def _incident_body(incident: Incident) -> dict[str, Any]:
    broken, seen = incident.broken, incident.acknowledged
    return {
        "subject": incident.subject,
        "kind": incident.kind.value,
        "since": broken.since_at,
        "text": broken.text,
        "detail": dict(broken.detail),
        "schedules": list(broken.schedules),
        "count": broken.count,
        "opened_at": incident.opened_at,
        "status": incident.status.value,
        "ended_at": incident.ended_at,
        "ended_text": incident.ended_text,
        "channels": list(incident.channels),
        "seen": None if seen is None else [seen.by, seen.at, seen.note],
    }


def _incident_of(record: AlertRecord, name: str, body: Mapping[str, Any]) -> Incident:
    broken = Broken(body["since"], body["text"], body["detail"], tuple(body["schedules"]), body["count"])
    return Incident(
        record.pk,
        name,
        body["subject"],
        IncidentKind(body["kind"]),
        broken,
        body["opened_at"],
        IncidentStatus(body["status"]),
        body["ended_at"],
        body["ended_text"],
        tuple(body["channels"]),
        None if body["seen"] is None else Acknowledgement(*body["seen"]),
        record.rev,
        record.change_id or "",
    )


def _standing_of(record: AlertRecord, name: str, body: Mapping[str, Any]) -> Standing:
    subject, _, kind = name.rpartition("#")
    return Standing(record.pk, subject, IncidentKind(kind), body.get("incident"), record.rev, record.change_id or "")


def _channel_body(channel: Channel) -> dict[str, Any]:
    quiet = channel.quiet_hours
    return {
        "kind": kind_of(channel.address),
        "address": address_form(channel.address),
        "template": channel.template,
        "quiet": None if quiet is None else [quiet.start, quiet.end, quiet.timezone, list(quiet.days)],
        "default": channel.is_default,
        "description": channel.description,
        "created_at": channel.created_at,
        "updated_at": channel.updated_at,
        "deleted": channel.is_deleted,
    }


def _channel_of(record: AlertRecord, name: str, body: Mapping[str, Any]) -> Channel:
    quiet = body["quiet"]
    return Channel(
        record.pk,
        name,
        address_of(body["kind"], body["address"]),
        body["template"],
        None if quiet is None else QuietHours(quiet[0], quiet[1], quiet[2], tuple(quiet[3])),
        body["default"],
        body["description"],
        body["created_at"],
        body["updated_at"],
        body["deleted"],
        record.rev,
        record.change_id or "",
    )


def _notice_body(notice: Notice) -> dict[str, Any]:
    return {
        "edge": notice.edge.value,
        "channel": notice.channel,
        "created_at": notice.created_at,
        "incident": notice.incident_id,
        "status": notice.status.value,
        "attempts": notice.attempts,
        "error": notice.error,
        "next_at": notice.next_at,
        "ended_at": notice.ended_at,
        "summary": notice.summary,
        "holds": list(notice.holds),
        "more": notice.more,
    }


def _notice_of(record: AlertRecord, name: str, body: Mapping[str, Any]) -> Notice:
    return Notice(
        record.pk,
        name,
        Edge(body["edge"]),
        body["channel"],
        body["created_at"],
        body["incident"],
        NoticeStatus(body["status"]),
        body["attempts"],
        body["error"],
        body["next_at"],
        body["ended_at"],
        body["summary"],
        tuple(body["holds"]),
        body["more"],
        record.rev,
    )


def _watch_of(record: AlertRecord, name: str, body: Mapping[str, Any]) -> Watch:
    return Watch(record.pk, name, body["judged_until"], body["since"], body.get("off", False), record.rev)


_READERS: Final[Mapping[str, Callable[[AlertRecord, str, Mapping[str, Any]], Alert]]] = {
    keys.INCIDENT: _incident_of,
    keys.STANDING: _standing_of,
    keys.CHANNEL: _channel_of,
    keys.NOTICE: _notice_of,
    keys.WATCH: _watch_of,
}
