"""Forecasts, as callers ask for them: a tenant's own from its schedules as they stand, all tenants' from the readings
that the sweeper keeps up.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cronfleet.domain.errors import Contended, Invalid
from cronfleet.domain.forecast import HORIZON, Counts, Tally
from cronfleet.domain.forecast_reading import Reading
from cronfleet.domain.instant import DAY, HOUR, MINUTE, Instant, to_text
from cronfleet.domain.role import Role
from cronfleet.domain.schedule import Status, Timer
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore
from cronfleet.services.access import Caller
from cronfleet.services.changing import answer_of

LIST_PAGE: Final = 100
MOST_SCHEDULES: Final = 2_000
"""Of a tenant, whose fires one answer counts; the next answer counts the next."""
MOST_WORK: Final = 1_000_000
"""Fires that one answer looks at, but for the last page of schedules."""
DEFAULT_STRETCH: Final = DAY
GRACE: Final = 10 * MINUTE
"""So long ago an answer may begin: whoever adds pages up asks for the same stretch each time."""

_FIRING: Final = frozenset({Status.ACTIVE, Status.PAUSED})
"""A paused schedule may have an end of its pause."""


class By(StrEnum):
    """What fires are counted by."""

    MINUTE = "minute"
    SHARD = "shard"
    TENANT = "tenant"


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is due from `since` to before `until`, by what was `read` of it.

    `minutes` are all of the stretch, in their order; `parts` what shards or tenants have of it, by name. Behind
    `cursor` there is more to count.
    """

    since: Instant
    until: Instant
    by: By
    read: Reading
    minutes: Sequence[int]
    parts: Mapping[str, int]
    cursor: str | None = None


class Forecasts:
    """The service behind /v1/forecast."""

    def __init__(self, *, store: JobStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def ahead(
        self,
        caller: Caller,
        since: Instant | None,
        until: Instant | None,
        by: By,
        *,
        platform: bool = False,
        cursor: str | None = None,
    ) -> Forecast:
        """What is due from `since` (now) to `until` (a day later), to the minute.

        `Invalid` outside the next seven days. `platform`: of all tenants, for a platform admin; `Contended` while it
        has not been counted yet. Else the tenant's own, of the next schedules behind `cursor`.
        """
        if platform:
            caller.require(Role.PLATFORM_ADMIN)
        now = self._clock.now()
        since, until = _stretch(since, until, now)
        if not platform:
            return self._own(caller.tenant.tenant_id, since, until, by, cursor)
        if cursor is not None:
            raise Invalid("cursor", "is for a tenant's own forecast; that of all tenants is one answer")
        return self._of_all(since, until, by)

    # --- a tenant's own ----------------------------------------------------------------------------------------

    def _own(self, tenant: str, since: Instant, until: Instant, by: By, cursor: str | None) -> Forecast:
        began_at, unreadable = self._clock.now(), 0
        tallies: defaultdict[str, Tally] = defaultdict(lambda: Tally(since, until))
        for _ in range(MOST_SCHEDULES // LIST_PAGE):
            timers, lost, cursor = self._page(tenant, cursor)
            unreadable += lost
            for timer in timers:
                tallies[_part_of(timer, by)].add(timer)
            if cursor is None or sum(tally.work for tally in tallies.values()) > MOST_WORK:
                break
        whole, parts = Counts(since, until), dict[str, int]()
        for name, tally in tallies.items():
            counts = tally.counts()
            whole.take_in(counts)
            parts[name] = sum(counts.minutes)
        whole.uncomputable += unreadable
        read = Reading(None, began_at, self._clock.now(), whole)
        return _forecast(read, since, until, by, {} if by is By.MINUTE else parts, cursor)

    def _page(self, tenant: str, cursor: str | None) -> tuple[Sequence[Timer], int, str | None]:
        """The schedules of a page that may fire, how many of it cannot be read, and where the next begins."""
        page = answer_of(
            lambda: self._store.list_schedules(tenant, prefix="", status=None, cursor=cursor, limit=LIST_PAGE)
        )
        keys = [(tenant, one.schedule_id) for one in page.items if one.status in _FIRING]
        found = answer_of(lambda: self._store.get_timers(keys)).values() if keys else ()
        timers = [one for one in found if isinstance(one, Timer)]
        return timers, len(found) - len(timers), page.cursor

    # --- all tenants' ------------------------------------------------------------------------------------------

    def _of_all(self, since: Instant, until: Instant, by: By) -> Forecast:
        read = answer_of(self._store.get_forecast)
        if read is None:
            raise Contended("nobody has counted what is ahead yet: the sweeper does so once an hour; try again soon")
        if read.counts.until < until:
            said = f"what is ahead was last counted at {to_text(read.started_at)}"
            raise Contended(f"{said}, up to {to_text(read.counts.until)}; see why the sweeper does not")
        if by is By.TENANT:
            since, until = since // HOUR * HOUR, -(-until // HOUR) * HOUR
            begins, ends = (max(0, instant - read.counts.since) // HOUR for instant in (since, until))
            parts = {tenant: sum(counted[begins:ends]) for tenant, counted in read.counts.tenants.items()}
            return _forecast(read, since, until, by, {name: fires for name, fires in parts.items() if fires})
        if by is By.MINUTE:
            return _forecast(read, since, until, by, {})
        shards = answer_of(self._store.list_forecasts)
        parts = {str(one.shard): sum(one.counts.between(since, until)) for one in shards if one.counts.until >= until}
        return _forecast(read, since, until, by, parts)


def _forecast(
    read: Reading, since: Instant, until: Instant, by: By, parts: Mapping[str, int], cursor: str | None = None
) -> Forecast:
    minutes = read.counts.between(since, until)
    return Forecast(since, until, by, read, minutes, parts, cursor)


def _part_of(timer: Timer, by: By) -> str:
    return {By.MINUTE: "", By.SHARD: str(timer.shard), By.TENANT: timer.tenant}[by]


def _stretch(since: Instant | None, until: Instant | None, now: Instant) -> tuple[Instant, Instant]:
    """Whole minutes around what is asked for; `Invalid` for what nobody forecasts."""
    this_minute = now // MINUTE * MINUTE
    begins = this_minute if since is None else since // MINUTE * MINUTE
    if begins < this_minute - GRACE:
        raise Invalid("from", "is past; what has fired is in the history of each schedule. Leave it out for now")
    latest = -(-now // MINUTE) * MINUTE + HORIZON  # so that whoever writes just seven days from now is served
    if begins >= latest:
        raise Invalid("from", f"is more than seven days ahead; write an earlier time than {to_text(latest)}")
    ends = min(begins + DEFAULT_STRETCH, latest) if until is None else -(-until // MINUTE) * MINUTE
    if ends > latest:
        raise Invalid("to", f"is more than seven days ahead; write at most {to_text(latest)}")
    if ends <= begins:
        raise Invalid("to", "must be later than from (now, if left out)")
    return begins, ends
