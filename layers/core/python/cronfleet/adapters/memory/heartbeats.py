"""`HeartbeatStore` in memory."""

from bisect import insort

from cronfleet.adapters.memory.state import State
from cronfleet.domain.heartbeat import Heartbeat, Ping, heartbeat_name
from cronfleet.domain.instant import Instant
from cronfleet.ports import cursors
from cronfleet.ports.job_store import InsertPing, Page, PutHeartbeat


class MemoryHeartbeats:
    """Heartbeat URLs and their pings."""

    def __init__(self, state: State) -> None:
        self.state = state

    def get_heartbeat(self, name: str) -> Heartbeat | None:
        return self.state.heartbeats.get(name)

    def list_pings(self, name: str, *, since: Instant, until: Instant, cursor: str | None, limit: int) -> Page[Ping]:
        before = None if cursor is None else _place_of(cursor)
        found = [ping for ping in self.state.pings.get(name, ()) if since <= ping.at <= until]
        left = [ping for ping in reversed(found) if before is None or _place(ping) < before]
        more = len(left) > limit
        return Page(left[:limit], cursors.encode([str(left[limit - 1].at), left[limit - 1].ping_id]) if more else None)


def stored_heartbeat(state: State, write: PutHeartbeat | InsertPing) -> Heartbeat | Ping | None:
    """What stands where `write` is to write."""
    if isinstance(write, PutHeartbeat):
        return state.heartbeats.get(write.heartbeat.name)
    ping = write.ping
    kept = state.pings.get(heartbeat_name(ping.tenant, ping.schedule_id), ())
    return next((one for one in kept if _place(one) == _place(ping)), None)


def put_heartbeat(state: State, write: PutHeartbeat | InsertPing) -> None:
    """Store a URL or a ping."""
    if isinstance(write, PutHeartbeat):
        state.heartbeats[write.heartbeat.name] = write.heartbeat
        return
    ping = write.ping
    insort(state.pings.setdefault(heartbeat_name(ping.tenant, ping.schedule_id), []), ping, key=_place)


def _place(ping: Ping) -> tuple[Instant, str]:
    return ping.at, ping.ping_id


def _place_of(cursor: str) -> tuple[Instant, str]:
    at, ping_id = cursors.decode(cursor, 2)
    try:
        return int(at), ping_id
    except ValueError as error:
        raise cursors.foreign() from error
