"""Shadow: what a held schedule would have fired, compared with what the old system's job said of itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from cronfleet.domain import naming
from cronfleet.domain.errors import Invalid, NotFound
from cronfleet.domain.form import Form
from cronfleet.domain.heartbeat import Ping, heartbeat_name
from cronfleet.domain.instant import SECOND, Instant, to_text
from cronfleet.domain.run import Run, RunStatus
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.shadow_comparison import Compared, Comparison, State, Summary, compare
from cronfleet.domain.trigger import UNCOMPUTABLE
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore
from cronfleet.services.access import Caller
from cronfleet.services.changing import answer_of
from cronfleet.services.dossier import Dossier

MAX_COMPARED: Final = 12_000
"""Fires, and pings, of one comparison: a week of every minute."""

ROWS_PAGE: Final = 500
MAX_ROW_PAGES: Final = 40
PINGS_PAGE: Final = 1_000
MAX_PING_PAGES: Final = 3 * MAX_COMPARED // PINGS_PAGE


@dataclass(frozen=True, slots=True)
class Asked:
    """What to compare: `from_at` and `to_at` (`None`: as far as it has been in shadow), within how many seconds, and
    which entries to show.
    """

    from_at: Instant | None
    to_at: Instant | None
    tolerance_seconds: int
    state: State | None
    limit: int


class Shadows:
    """The service behind a schedule's /shadow."""

    def __init__(self, *, store: JobStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def compare(self, caller: Caller, schedule_id: str, asked: Asked) -> Form:
        """What was noted in shadow beside the pings. `NotFound` for no schedule; `Invalid` for too much at once."""
        tenant = caller.tenant.tenant_id
        timer = answer_of(lambda: self._store.get_timer(tenant, schedule_id))
        if timer is None or timer.status is Status.CANCELLED:
            raise NotFound("schedule", schedule_id)
        now = self._clock.now()
        first_at, last_at = self._stretch(timer, asked, now)
        tolerance = asked.tolerance_seconds * SECOND
        nominals = self._nominals(timer, first_at, last_at, tolerance, now)
        pings = self._pings(timer, first_at - tolerance, last_at + tolerance)
        found = compare(nominals, pings, first_at=first_at, last_at=last_at, now=now, tolerance=tolerance)
        return _form(schedule_id, asked, (first_at, last_at), found)

    def _stretch(self, timer: Timer, asked: Asked, now: Instant) -> tuple[Instant, Instant]:
        """From when it is in shadow and has a URL; what lies before either could only be missing."""
        heartbeat = answer_of(lambda: self._store.get_heartbeat(heartbeat_name(timer.tenant, timer.schedule_id)))
        own = heartbeat if heartbeat is not None and heartbeat.born_epoch == timer.born_epoch else None
        begun = [timer.created_at]
        if timer.hold is not None and timer.hold.shadow is not None:
            begun.append(timer.hold.shadow.at)
        if own is not None:
            begun.append(own.since)
        first_at = max(begun) if asked.from_at is None else asked.from_at
        last_at = now if asked.to_at is None else min(asked.to_at, now)
        if asked.to_at is not None and asked.to_at < first_at:
            raise Invalid("to", f"must not be earlier than from, {to_text(first_at)}")
        return min(first_at, last_at), last_at

    # --- what would have fired ---------------------------------------------------------------------------------

    def _nominals(
        self, timer: Timer, first_at: Instant, last_at: Instant, tolerance: int, now: Instant
    ) -> Sequence[Instant]:
        """What was noted in the stretch, or is about to be; and, on both sides of it, what the trigger names there: a
        ping inside may belong to a fire outside.
        """
        noted = self._noted(timer, first_at, last_at)
        if timer.is_shadow and timer.nominal_at is not None and timer.nominal_at <= last_at:
            noted |= set(_named(timer, max(timer.nominal_at, first_at), min(last_at, now)))
        sides = {*_named(timer, first_at - tolerance, first_at - 1), *_named(timer, last_at + 1, last_at + tolerance)}
        if len(noted) > MAX_COMPARED:
            raise _too_many("fires")
        return sorted(noted | sides)

    def _noted(self, timer: Timer, first_at: Instant, last_at: Instant) -> set[Instant]:
        dossier = Dossier(self._store, timer, self._clock.now())
        found: set[Instant] = set()
        for row in self._shadow_rows(timer, first_at, last_at):
            found |= set(_stood_for(dossier, row, first_at, last_at))
            if len(found) > MAX_COMPARED:
                raise _too_many("fires")
        return found

    def _shadow_rows(self, timer: Timer, first_at: Instant, last_at: Instant) -> Iterator[Run]:
        """Rows back from `last_at` to the first that lies before `first_at`."""
        cursor: str | None = None
        for _ in range(MAX_ROW_PAGES):
            read = partial(self._store.list_runs, timer.tenant, timer.schedule_id, through=(timer.epoch, last_at))
            page = answer_of(partial(read, cursor=cursor, limit=ROWS_PAGE))
            for row in page.items:
                if row.key.is_scheduled and row.last_nominal_at < first_at:
                    return
                if row.status is RunStatus.SHADOW:
                    yield row
            cursor = page.cursor
            if cursor is None:
                return
        raise _too_many("entries of the ledger")

    # --- what was heard ----------------------------------------------------------------------------------------

    def _pings(self, timer: Timer, since: Instant, until: Instant) -> list[Ping]:
        """Oldest first."""
        name, found = heartbeat_name(timer.tenant, timer.schedule_id), list[Ping]()
        since = max(since, timer.created_at)
        cursor: str | None = None
        for _ in range(MAX_PING_PAGES):
            read = partial(self._store.list_pings, name, since=since, until=until)
            page = answer_of(partial(read, cursor=cursor, limit=PINGS_PAGE))
            found += page.items
            cursor = page.cursor
            if cursor is None:
                return found[::-1]
        raise _too_many("pings")


def _too_many(what: str) -> Invalid:
    return Invalid("from", f"leaves a stretch with too many {what} to compare at once; ask for a shorter one")


def _named(timer: Timer, first_at: Instant, last_at: Instant) -> list[Instant]:
    try:
        return naming.nominals(timer, first_at, last_at, MAX_COMPARED + 1)
    except UNCOMPUTABLE:
        return []


def _stood_for(dossier: Dossier, row: Run, first_at: Instant, last_at: Instant) -> list[Instant]:
    """The nominal times of `row` inside the stretch, as the trigger of its day names them."""
    if row.until_nominal_at is None:
        return [row.key.nominal_at] if first_at <= row.key.nominal_at <= last_at else []
    span = dossier.span_at(row.key.nominal_at)
    named_by = None if span is None else dossier.named_by(span)
    if named_by is None:
        return []
    return _named(named_by, max(row.key.nominal_at, first_at), min(row.until_nominal_at, last_at))


# --- the answer ------------------------------------------------------------------------------------------------


def _form(schedule_id: str, asked: Asked, stretch: tuple[Instant, Instant], found: Comparison) -> Form:
    wanted = [entry for entry in found.entries if asked.state in (None, entry.state)]
    return {
        "schedule_id": schedule_id,
        "from": to_text(stretch[0]),
        "to": to_text(stretch[1]),
        "tolerance_seconds": asked.tolerance_seconds,
        "verdict": {"code": found.verdict.value, "text": found.text},
        "summary": _summary_form(found.summary),
        "entries": [_entry_form(entry) for entry in wanted[: asked.limit]],
        "left_out": max(0, len(wanted) - asked.limit),
    }


def _summary_form(summary: Summary) -> Form:
    return {
        "fires": summary.fires,
        "seen": summary.seen,
        "failed": summary.failed,
        "missing": summary.missing,
        "pending": summary.pending,
        "unexpected": summary.unexpected,
        "median_lag_seconds": _seconds(summary.median_lag_ms),
        "largest_lag_seconds": _seconds(summary.largest_lag_ms),
    }


def _entry_form(entry: Compared) -> Form:
    outing = entry.outing
    return {
        "state": entry.state.value,
        "text": entry.text,
        "nominal_at": None if entry.nominal_at is None else to_text(entry.nominal_at),
        "ping_at": None if outing is None else to_text(outing.at),
        "ended_at": None if outing is None or outing.ended_at is None else to_text(outing.ended_at),
        "lag_seconds": _seconds(entry.lag_ms),
        "exit_code": None if outing is None else outing.exit_code,
        "message": "" if outing is None else outing.message,
    }


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / SECOND
