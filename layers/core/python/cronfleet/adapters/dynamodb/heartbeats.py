"""`HeartbeatStore` on DynamoDB."""

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import Database, text
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.heartbeats import heartbeat_of, ping_of
from cronfleet.domain.heartbeat import Heartbeat, Ping
from cronfleet.domain.instant import Instant
from cronfleet.ports import cursors
from cronfleet.ports.job_store import Page


class DynamoHeartbeats:
    """Heartbeat URLs and their pings."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_heartbeat(self, name: str) -> Heartbeat | None:
        item = self._database.get(schema.HEARTBEATS, name, keys.HEARTBEAT)
        return None if item is None else heartbeat_of(item)

    def list_pings(self, name: str, *, since: Instant, until: Instant, cursor: str | None, limit: int) -> Page[Ping]:
        if until < since:
            return Page([])
        items, last = self._database.query(
            schema.HEARTBEATS,
            "#pk = :name AND #sk BETWEEN :since AND :until",
            # Whatever is heard at `until` sorts before the next millisecond.
            {":name": text(name), ":since": text(keys.pings(since)), ":until": text(keys.pings(until + 1))},
            limit=limit,
            start=None if cursor is None else _after(name, cursor),
            forward=False,
        )
        pings = [ping_of(item) for item in items]
        more = None if last is None or not pings else cursors.encode([str(pings[-1].at), pings[-1].ping_id])
        return Page(pings, more)


def _after(name: str, cursor: str) -> Item:
    at, ping_id = cursors.decode(cursor, 2)
    try:
        return {"pk": text(name), "sk": text(keys.ping(int(at), ping_id))}
    except ValueError as error:
        raise cursors.foreign() from error
