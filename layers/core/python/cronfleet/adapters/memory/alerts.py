"""`AlertStore` in memory: everything under its tenant, kind and name."""

from collections.abc import Sequence
from typing import TypeAlias, assert_never

from cronfleet.adapters.memory.state import State
from cronfleet.domain.channel import Channel
from cronfleet.domain.incident import Incident, IncidentKind, Standing
from cronfleet.domain.notice import Notice
from cronfleet.domain.watch import Watch
from cronfleet.ports import cursors
from cronfleet.ports.alerts import Alert, PutAlert
from cronfleet.ports.page import Page

AlertKey: TypeAlias = tuple[str, str, str]
"""Tenant, what it is, and its name."""


class MemoryAlerts:
    """Incidents, standings, channels, notices, watches."""

    state: State

    def get_incident(self, tenant: str, incident_id: str) -> Incident | None:
        found = self.state.alerts.get((tenant, "incident", incident_id))
        return found if isinstance(found, Incident) else None

    def list_incidents(self, tenant: str, *, cursor: str | None, limit: int) -> Page[Incident]:
        found = [one for one in self._alerts(tenant, "incident") if isinstance(one, Incident)]
        before = None if cursor is None else cursors.decode(cursor, 1)[0]
        left = [one for one in reversed(found) if before is None or one.incident_id < before]
        return Page(left[:limit], cursors.encode([left[limit - 1].incident_id]) if len(left) > limit else None)

    def get_standing(self, tenant: str, subject: str, kind: IncidentKind) -> Standing:
        found = self.state.alerts.get((tenant, "standing", f"{subject}#{kind.value}"))
        return found if isinstance(found, Standing) else Standing(tenant, subject, kind)

    def list_standings(self, tenant: str, *, subject: str = "", cursor: str | None, limit: int) -> Page[Standing]:
        after = "" if cursor is None else cursors.decode(cursor, 1)[0]
        found = [one for one in self._alerts(tenant, "standing") if isinstance(one, Standing)]
        left = [one for one in found if subject in ("", one.subject) and f"{one.subject}#{one.kind.value}" > after]
        page = left[:limit]
        more = cursors.encode([f"{page[-1].subject}#{page[-1].kind.value}"]) if len(left) > limit else None
        return Page([one for one in page if one.incident_id is not None], more)

    def get_channel(self, tenant: str, name: str) -> Channel | None:
        found = self.state.alerts.get((tenant, "channel", name))
        return found if isinstance(found, Channel) else None

    def list_channels(self, tenant: str) -> Sequence[Channel]:
        return [one for one in self._alerts(tenant, "channel") if isinstance(one, Channel) and not one.is_deleted]

    def get_notice(self, tenant: str, notice_id: str) -> Notice | None:
        found = self.state.alerts.get((tenant, "notice", notice_id))
        return found if isinstance(found, Notice) else None

    def list_notices(self, tenant: str, notice_ids: Sequence[str]) -> Sequence[Notice]:
        found = [self.get_notice(tenant, notice_id) for notice_id in notice_ids]
        return [notice for notice in found if notice is not None]

    def get_watch(self, tenant: str, schedule_id: str) -> Watch | None:
        found = self.state.alerts.get((tenant, "watch", schedule_id))
        return found if isinstance(found, Watch) else None

    def _alerts(self, tenant: str, kind: str) -> list[Alert]:
        return [one for key, one in sorted(self.state.alerts.items()) if key[:2] == (tenant, kind)]


def alert_key(alert: Alert) -> AlertKey:
    """Where it is kept."""
    match alert:
        case Incident():
            return alert.tenant, "incident", alert.incident_id
        case Standing():
            return alert.tenant, "standing", f"{alert.subject}#{alert.kind.value}"
        case Channel():
            return alert.tenant, "channel", alert.name
        case Notice():
            return alert.tenant, "notice", alert.notice_id
        case Watch():
            return alert.tenant, "watch", alert.schedule_id
    assert_never(alert)


def stored_alert(state: State, write: PutAlert) -> Alert | None:
    """What stands where `write` is to write."""
    return state.alerts.get(alert_key(write.alert))


def may_put_alert(write: PutAlert, stored: Alert | None) -> bool:
    """Whether the condition of `write` holds."""
    return (0 if stored is None else stored.rev) == write.alert.rev - 1


def put_alert(state: State, write: PutAlert) -> None:
    """Carry `write` out."""
    state.alerts[alert_key(write.alert)] = write.alert
