"""`AlertStore` on DynamoDB, in the table `alerts`."""

from collections.abc import Sequence
from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.alerts import alert_item, alert_of
from cronfleet.domain.channel import Channel
from cronfleet.domain.incident import Incident, IncidentKind, Standing
from cronfleet.domain.instant import Instant
from cronfleet.domain.notice import Notice
from cronfleet.domain.watch import Watch
from cronfleet.ports import cursors
from cronfleet.ports.alerts import PutAlert
from cronfleet.ports.page import Page

MAX_CHANNEL_ITEMS: Final = 1_000
"""Channels that are read at once, tombstones too."""

_SAME_REV = Expression("#rev = :rev")
_OF_TENANT: Final = "#pk = :tenant AND begins_with(#sk, :prefix)"


class DynamoAlerts:
    """Incidents, standings, channels, notices, watches."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_incident(self, tenant: str, incident_id: str) -> Incident | None:
        found = self._get(tenant, keys.incident(incident_id))
        return found if isinstance(found, Incident) else None

    def list_incidents(self, tenant: str, *, cursor: str | None, limit: int) -> Page[Incident]:
        values = {":tenant": text(tenant), ":prefix": text(keys.INCIDENT)}
        start = None if cursor is None else _after(tenant, keys.INCIDENT, cursor)
        items, last = self._database.query(schema.ALERTS, _OF_TENANT, values, limit=limit, start=start, forward=False)
        return Page([one for one in map(alert_of, items) if isinstance(one, Incident)], _cursor(last))

    def get_standing(self, tenant: str, subject: str, kind: IncidentKind) -> Standing:
        found = self._get(tenant, keys.standing(subject, kind.value))
        return found if isinstance(found, Standing) else Standing(tenant, subject, kind)

    def list_standings(self, tenant: str, *, subject: str = "", cursor: str | None, limit: int) -> Page[Standing]:
        prefix = keys.standings(subject)
        start = None if cursor is None else _after(tenant, prefix, cursor)
        values = {":tenant": text(tenant), ":prefix": text(prefix)}
        items, last = self._database.query(schema.ALERTS, _OF_TENANT, values, limit=limit, start=start, consistent=True)
        found = [one for one in map(alert_of, items) if isinstance(one, Standing)]
        return Page([one for one in found if one.incident_id is not None], _cursor(last))

    def get_channel(self, tenant: str, name: str) -> Channel | None:
        found = self._get(tenant, keys.channel(name))
        return found if isinstance(found, Channel) else None

    def list_channels(self, tenant: str) -> Sequence[Channel]:
        values = {":tenant": text(tenant), ":prefix": text(keys.CHANNEL)}
        items, _ = self._database.query(schema.ALERTS, _OF_TENANT, values, limit=MAX_CHANNEL_ITEMS, consistent=True)
        return [one for one in map(alert_of, items) if isinstance(one, Channel) and not one.is_deleted]

    def get_notice(self, tenant: str, notice_id: str) -> Notice | None:
        found = self._get(tenant, keys.notice(notice_id))
        return found if isinstance(found, Notice) else None

    def list_notices(self, tenant: str, notice_ids: Sequence[str]) -> Sequence[Notice]:
        places = [(tenant, keys.notice(notice_id)) for notice_id in notice_ids]
        items = map(alert_of, self._database.batch_get(schema.ALERTS, places)) if places else ()
        found = {one.notice_id: one for one in items if isinstance(one, Notice)}
        return [found[notice_id] for notice_id in notice_ids if notice_id in found]

    def get_watch(self, tenant: str, schedule_id: str) -> Watch | None:
        found = self._get(tenant, keys.watch(schedule_id))
        return found if isinstance(found, Watch) else None

    def _get(self, tenant: str, sort: str) -> object:
        item = self._database.get(schema.ALERTS, tenant, sort)
        return None if item is None else alert_of(item)


def parts_of_alert(write: PutAlert, now: Instant) -> tuple[schema.Table, Item, Expression, Item | None]:
    """The table, item and condition of a write."""
    known = write.alert.rev - 1
    condition, values = (_SAME_REV, {":rev": number(known)}) if known else (ABSENT, None)
    return schema.ALERTS, alert_item(write.alert, now), condition, values


def _cursor(last: Item | None) -> str | None:
    return None if last is None else cursors.encode([last["sk"]["S"]])


def _after(tenant: str, prefix: str, cursor: str) -> Item:
    (sort,) = cursors.decode(cursor, 1)
    if not sort.startswith(prefix):
        raise cursors.foreign()
    return {"pk": text(tenant), "sk": text(sort)}
