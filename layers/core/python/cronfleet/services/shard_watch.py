"""The shard watch: who is told when nobody dispatches a shard, and of which schedules. The sweeper asks, once a minute.

The installation has one incident for a stopped shard, and each tenant concerned one of its own that names its own
schedules alone: those whose fires came due while nobody served the shard. Later ones are added without a word; all end
once the shard's ticks are served again by their own dispatcher.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from cronfleet.domain.incident import PLATFORM, Broken, IncidentKind, Standing, named
from cronfleet.domain.instant import SECOND, Instant, to_text
from cronfleet.domain.lease import ShardLease, slot_of
from cronfleet.domain.self_watch import Waiting, waits_for_claim
from cronfleet.ports.alerts import PutAlert
from cronfleet.ports.job_store import JobStore, Refused
from cronfleet.services.asking import ask
from cronfleet.services.incidents import Incidents
from cronfleet.services.self_watch import wider

LATE_AFTER: Final = 30 * SECOND
"""A shard is taken for stopped once a fire in it has been due for this long; slower ticks alone harm nobody."""

MAX_PAGES: Final = 20
"""Pages of the due index that one look at a stopped shard reads; `DUE_PAGE` items each."""
DUE_PAGE: Final = 100

MAX_TENANTS: Final = 100
"""Tenants that are told of one stopped shard; the installation's own incident counts them all."""

STANDINGS_PAGE: Final = 200
MAX_STANDING_PAGES: Final = 20

KIND: Final = IncidentKind.SHARD_STOPPED

STOPPED_AT: Final = "stopped_at"
"""In the detail of the installation's incident: the slot in which a sweep last found the shard stopped."""


class ShardWatch:
    """Opens and ends the incidents of stopped shards."""

    def __init__(self, *, store: JobStore, incidents: Incidents) -> None:
        self._store = store
        self._incidents = incidents

    def stopped(self, shard: int, lease: ShardLease | None, now: Instant) -> None:
        """Nobody serves `shard`: tell whom it harms, before anybody else dispatches it. Raises `NoAnswer`."""
        self._tell_all(shard, lease, now)
        # Whoever asks serves the shard next, in the dispatcher's place: that tick of `now` is not the dispatcher's.
        seen = partial(_stopped_at, slot_at=slot_of(now))
        self._incidents.widen(PLATFORM, _subject(shard), KIND, seen)

    def _tell_all(self, shard: int, lease: ShardLease | None, now: Instant) -> None:
        due = self._due(shard, now)
        first_at = min((one.since_at for one in due), default=now)
        if first_at > now - LATE_AFTER:
            return
        concerned: defaultdict[str, set[str]] = defaultdict(set)
        for one in due:
            concerned[one.tenant].add(one.schedule_id)
        since_at = first_at if lease is None else lease.slot_at
        for tenant in sorted(concerned)[:MAX_TENANTS]:
            self._note(tenant, shard)
            self._tell(tenant, shard, since_at, concerned[tenant])
        everybody = {f"{tenant}/{one}" for tenant, ids in concerned.items() for one in ids}
        self._tell(PLATFORM, shard, since_at, everybody)

    def served(self, slots: Mapping[int, Instant], now: Instant) -> None:
        """These shards were served lately, up to a slot: what was told of them is over. Raises `NoAnswer`.

        Unless it was a sweeper that served that slot: then nothing is known.
        """
        for shard, tenants in self._told().items():
            if shard not in slots or slots[shard] <= self._seen_stopped(shard):
                continue
            text = f"shard {shard} is dispatched again, seen at {to_text(now)}"
            for tenant in tenants:
                self._incidents.heal(tenant, _subject(shard), KIND, text)
                self._forget(tenant, shard)
            self._incidents.heal(PLATFORM, _subject(shard), KIND, text)

    def _seen_stopped(self, shard: int) -> Instant:
        """The slot in which a sweep last found the shard stopped, and served it."""
        found = self._incidents.find_open(PLATFORM, _subject(shard), KIND)
        return 0 if found is None else int(found.broken.detail.get(STOPPED_AT, 0))

    def _tell(self, tenant: str, shard: int, since_at: Instant, ids: set[str]) -> None:
        names, count = named(ids)
        text = f"nobody dispatched shard {shard} since {to_text(since_at)}; fires of {count:,} schedules came due"
        broken = Broken(since_at, text, {"shard": shard}, names, count)
        if self._incidents.open(tenant, _subject(shard), KIND, broken) is None:
            self._incidents.widen(tenant, _subject(shard), KIND, partial(wider, names=frozenset(ids)))

    # --- what the due index says ---------------------------------------------------------------------------------

    def _due(self, shard: int, now: Instant) -> list[Waiting]:
        """What is due, and since when."""
        found: list[Waiting] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = ask(partial(self._store.due, shard, now, cursor, DUE_PAGE))
            found += [known for item in page.items if (known := waits_for_claim(item, shard)) is not None]
            cursor = page.cursor
            if cursor is None:
                break
        return found

    # --- who was told --------------------------------------------------------------------------------------------

    def _note(self, tenant: str, shard: int) -> None:
        """Remember, before it is told, that the tenant is: whoever ends it finds it."""
        standing = ask(partial(self._store.get_standing, PLATFORM, _pointer(shard, tenant), KIND))
        if standing.incident_id is None:
            self._put(standing.moved(tenant, f"{shard}"))

    def _forget(self, tenant: str, shard: int) -> None:
        standing = ask(partial(self._store.get_standing, PLATFORM, _pointer(shard, tenant), KIND))
        if standing.incident_id is not None:
            self._put(standing.moved(None, f"{shard}"))

    def _put(self, standing: Standing) -> None:
        try:
            ask(lambda: self._store.commit([PutAlert(standing)]))
        except Refused:
            return  # Another sweep wrote the same.

    def _told(self) -> Mapping[int, list[str]]:
        """By the shard, the tenants that have an open incident of it."""
        found: defaultdict[int, list[str]] = defaultdict(list)
        cursor: str | None = None
        for _ in range(MAX_STANDING_PAGES):
            page = ask(partial(self._store.list_standings, PLATFORM, cursor=cursor, limit=STANDINGS_PAGE))
            for standing in page.items:
                if standing.kind is not KIND:
                    continue
                shard, _, tenant = standing.subject.removeprefix("shard:").partition("/")
                found[int(shard)] += [tenant] if tenant else []
            cursor = page.cursor
            if cursor is None:
                break
        return found


def _subject(shard: int) -> str:
    return f"shard:{shard}"


def _stopped_at(broken: Broken, slot_at: Instant) -> Broken:
    known = int(broken.detail.get(STOPPED_AT, 0))
    return replace(broken, detail={**broken.detail, STOPPED_AT: max(slot_at, known)})


def _pointer(shard: int, tenant: str) -> str:
    return f"shard:{shard}/{tenant}"
