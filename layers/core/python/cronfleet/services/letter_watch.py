"""The letter watch: a tenant is told once when dead letters of its are about to be removed. The sweeper asks.

Once an hour every tenant is looked at, a few pages of them in a sweep: the letter that died first is the first to go,
so that one read of the index answers for all. How far the round has come is kept in the store, as the standing of a
subject that no incident has: a sweeper that dies, or another one, goes on there.
"""

from dataclasses import dataclass
from functools import partial
from typing import Final

from cronfleet.domain.dead_letter import EXPIRES_SOON, Letter, soon_gone
from cronfleet.domain.incident import PLATFORM, Broken, IncidentKind, named
from cronfleet.domain.instant import HOUR, Instant, to_text
from cronfleet.domain.quota import retention_of
from cronfleet.domain.run import ROW_LIFE_SECONDS
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.alerts import PutAlert
from cronfleet.ports.clock import Clock
from cronfleet.ports.dead_letters import Died
from cronfleet.ports.job_store import Damaged, JobStore, Refused
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.incidents import Incidents

ROUND: Final = HOUR
"""How often every tenant is looked at, at most."""

TENANTS_PAGE: Final = 25
MAX_PAGES: Final = 20
"""Pages of tenants that one sweep looks at; the next goes on after them."""

MAX_LOOKED_AT: Final = 100
"""Letters of one tenant that are counted; of more, that there are at least so many."""

KIND: Final = IncidentKind.LETTERS_EXPIRE
SUBJECT: Final = "dead_letters"
"""What a tenant's incident is about."""

PLACE: Final = "dead_letters/place"


@dataclass(frozen=True, slots=True)
class _Place:
    """How far the round of an hour has come: `cursor` is empty once all were looked at."""

    hour: int
    cursor: str = ""

    def __str__(self) -> str:
        return f"{self.hour}/{self.cursor}"

    @classmethod
    def parse(cls, text: str | None) -> "_Place":
        hour, _, cursor = (text or "0/").partition("/")
        return cls(int(hour), cursor)


class LetterWatch:
    """Opens and ends the incidents of letters that are about to go."""

    def __init__(self, *, store: JobStore, incidents: Incidents, clock: Clock, telemetry: Telemetry) -> None:
        self._store = store
        self._incidents = incidents
        self._clock = clock
        self._telemetry = telemetry

    def look(self, until: Instant) -> int:
        """Go on with the round, stopping before `until`; how many tenants were looked at. Raises `NoAnswer`."""
        standing = ask(lambda: self._store.get_standing(PLATFORM, PLACE, KIND))
        place, now, seen = _Place.parse(standing.incident_id), self._clock.now(), 0
        if not place.cursor and place.hour == now // ROUND:
            return 0
        cursor = place.cursor
        for _ in range(MAX_PAGES):
            page = ask(partial(self._store.list_tenants, cursor=cursor or None, limit=TENANTS_PAGE))
            for tenant in page.items:
                self._look_at(tenant)
            seen, cursor = seen + len(page.items), page.cursor or ""
            if not cursor or self._clock.now() >= until:
                break
        try:
            moved = standing.moved(str(_Place(now // ROUND, cursor)), f"{now}")
            ask(lambda: self._store.commit([PutAlert(moved)]))
        except Refused:
            pass  # Another sweep went on meanwhile.
        return seen

    def _look_at(self, tenant: Tenant) -> None:
        """One whose letters cannot be read costs the others nothing."""
        if tenant.status.is_gone:
            return
        try:
            self._tell(tenant)
        except Damaged as error:
            self._telemetry.alarm("letter_watch_stopped", tenant=tenant.tenant_id, error=str(error))

    def _tell(self, tenant: Tenant) -> None:
        going = self._going(tenant)
        if not going:
            self._incidents.heal(tenant.tenant_id, SUBJECT, KIND, "no dead letter is about to be removed")
            return
        gone_at = min(at for at, _ in going)
        names, _ = named({letter.key.schedule_id for _, letter in going})
        least = "at least " if len(going) == MAX_LOOKED_AT else ""
        text = (
            f"{least}{len(going):,} dead letters are removed within three days, the first at {to_text(gone_at)}; "
            "redrive or discard them before"
        )
        detail: dict[str, str | int] = {"letters": len(going), "first_expires_at": to_text(gone_at)}
        broken = Broken(gone_at - EXPIRES_SOON, text, detail, names, len(names))
        self._incidents.open(tenant.tenant_id, SUBJECT, KIND, broken)

    def _going(self, tenant: Tenant) -> list[tuple[Instant, Letter]]:
        """Letters that are about to go, each with when; those that died first."""
        now, retention = self._clock.now(), retention_of(tenant)
        # A row may live longer, by what the tenant's retention was when it was written: never shorter.
        last = now - min(retention, ROW_LIFE_SECONDS * 1_000) + EXPIRES_SOON
        died = Died(now - retention, last + 1)
        read = partial(self._store.list_letters, tenant.tenant_id, died, cursor=None, limit=MAX_LOOKED_AT)
        page = ask(partial(read, oldest_first=True))
        return [(at, one) for one in page.items if (at := soon_gone(one, retention, now)) is not None]
