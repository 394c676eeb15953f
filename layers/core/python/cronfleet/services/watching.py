"""Watching: looks at a schedule when one of its objectives could be broken, and opens and heals its incidents.

One errand per schedule that has objectives; those without pay nothing. A look may be repeated at any time: what broke
is opened once by its very id, and how far was judged is noted last.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from cronfleet.domain.frozen import in_force
from cronfleet.domain.heartbeat import PingState, heartbeat_name
from cronfleet.domain.incident import Broken, IncidentKind, IncidentStatus, about_schedule
from cronfleet.domain.instant import Instant, ceil_second
from cronfleet.domain.objective import PING_EARLY, Expected, Judged, Learned, Objectives, learned
from cronfleet.domain.run import Run
from cronfleet.domain.schedule import Definition, Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE
from cronfleet.domain.watch import Watch
from cronfleet.domain.watching import (
    GRACE,
    LEAST_SLEEP,
    LOOK_AGAIN,
    MAX_AGE,
    Look,
    Question,
    fires_to_judge,
    longest_wait,
    look,
    watched_kinds,
    with_rows,
)
from cronfleet.ports.alerts import PutAlert
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore, Refused
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.freeze_watch import FreezeWatch
from cronfleet.services.incidents import Incidents

MAX_ROWS: Final = 400
"""Rows of the ledger that one look reads, newest first; a page is `ROWS_PAGE`."""
ROWS_PAGE: Final = 50
LEARNING_ROWS: Final = 100
"""Rows at least, where the expected duration is learned."""

MAX_STANDINGS: Final = 20
PINGS_PAGE: Final = 50

DELETED: Final = "nobody watches it any more: the schedule was deleted"
NO_LONGER: Final = "nobody watches it any more: the schedule has no such objective now"


class Watching:
    """Carries on the errand `watch` of a schedule."""

    def __init__(self, *, store: JobStore, clock: Clock, incidents: Incidents, telemetry: Telemetry) -> None:
        self._store = store
        self._clock = clock
        self._incidents = incidents
        self._telemetry = telemetry
        self._freezes = FreezeWatch(store, clock, consistent=True)

    def carry_on(self, tenant: str, errand_id: str, until: Instant) -> Instant | None:  # noqa: ARG002 - a look is short
        """See `Doer.carry_on`: one look; the next when something could be broken."""
        timer = ask(lambda: self._store.get_timer(tenant, errand_id))
        if timer is None:
            return None
        definition = self._definition(timer)
        objectives = None if definition is None else definition.spec.objectives
        watch = ask(lambda: self._store.get_watch(tenant, errand_id))
        if definition is None or objectives is None:
            self._off(timer, watch)
            return None
        return self._look(timer, definition, objectives, watch)

    def _definition(self, timer: Timer) -> Definition | None:
        if timer.status is Status.CANCELLED:
            return None
        return ask(lambda: self._store.get_definition(timer.tenant, timer.schedule_id, timer.version))

    def _off(self, timer: Timer, watch: Watch | None) -> None:
        """Nothing is watched any more: what is open is withdrawn."""
        self._withdraw(timer, (), DELETED if timer.status is Status.CANCELLED else NO_LONGER)
        if watch is not None and not watch.is_off:
            self._note(watch.off())

    def _withdraw(self, timer: Timer, kept: Sequence[IncidentKind], text: str) -> dict[IncidentKind, Instant]:
        """End the incidents whose objective is gone; of each that stays open, which fire broke it."""
        subject = about_schedule(timer.schedule_id)
        standings = ask(
            lambda: self._store.list_standings(timer.tenant, subject=subject, cursor=None, limit=MAX_STANDINGS)
        ).items
        broken: dict[IncidentKind, Instant] = {}
        for standing in standings:
            if standing.kind not in kept:
                self._incidents.heal(timer.tenant, subject, standing.kind, text, status=IncidentStatus.WITHDRAWN)
                continue
            found = self._incidents.find_open(timer.tenant, subject, standing.kind)
            if found is not None:
                broken[standing.kind] = int(found.broken.detail.get("nominal_at", found.broken.since_at))
        return broken

    def _look(
        self, timer: Timer, definition: Definition, objectives: Objectives, watch: Watch | None
    ) -> Instant | None:
        now = self._clock.now() - GRACE
        freezes = self._freezes.of(timer, timer.tier)
        held = in_force(freezes, now + GRACE)
        if held is not None:
            # Silent while frozen; what was to be judged before that is judged when it is over.
            end = now + LOOK_AGAIN if held.until is None else min(held.until, now + LOOK_AGAIN)
            return ceil_second(max(end, now + LEAST_SLEEP))
        known = watch if watch is not None and not watch.is_off else self._fresh(timer, definition, watch)
        broken = self._withdraw(timer, objectives.kinds, NO_LONGER)
        if not watched_kinds(objectives, timer):
            return self._resting(timer, known, now)
        rows = self._rows(timer, min([self._since(timer, objectives, known, None), *broken.values()]), objectives)
        history = learned(rows) if objectives.learns_longest else None
        since = min([self._since(timer, objectives, known, history), *broken.values()])
        expected = self._expected(timer, max(since, now - MAX_AGE, known.since_at + 1), now, rows)
        question = Question(timer, objectives, expected, history, freezes, broken, known.judged_until, now)
        found = look(question, partial(self._pinged, timer, now))
        self._settle(timer, objectives, found, frozenset(broken))
        self._note(known.judged(now))
        return found.next_at

    def _fresh(self, timer: Timer, definition: Definition, watch: Watch | None) -> Watch:
        """Where a watch begins: fires that were due before it was asked for are not judged."""
        rev = 0 if watch is None else watch.rev
        return Watch(timer.tenant, timer.schedule_id, definition.created_at, definition.created_at, rev=rev)

    def _resting(self, timer: Timer, watch: Watch, now: Instant) -> Instant | None:
        """Nothing is judged while paused or held; whoever resumes it wakes the watch, and so does the pause's end."""
        self._note(watch.judged(now))
        if timer.pause is None or timer.pause.until is None:
            return None
        return ceil_second(max(timer.pause.until + GRACE, now + LEAST_SLEEP))

    # --- what is known -------------------------------------------------------------------------------------------

    def _since(self, timer: Timer, objectives: Objectives, watch: Watch, history: Learned | None) -> Instant:
        """Fires before this were judged by the last look."""
        return watch.judged_until - longest_wait(objectives, timer, history)

    def _rows(self, timer: Timer, since: Instant, objectives: Objectives) -> list[Run]:
        """The ledger from the first fire to be judged on, and as much more as is learned from; newest first."""
        least = LEARNING_ROWS if objectives.learns_longest else 0
        rows: list[Run] = []
        cursor: str | None = None
        while len(rows) < MAX_ROWS:
            read = partial(self._store.list_runs, timer.tenant, timer.schedule_id, cursor=cursor, limit=ROWS_PAGE)
            page = ask(read)
            rows += page.items
            cursor = page.cursor
            is_enough = len(rows) >= least and bool(rows) and rows[-1].last_nominal_at < since
            if cursor is None or is_enough:
                break
        return rows

    def _expected(self, timer: Timer, since: Instant, now: Instant, rows: Sequence[Run]) -> Sequence[Expected]:
        """The fires from `since` on, each with what the ledger says of it."""
        try:
            fires = fires_to_judge(timer, since - 1, now)
        except UNCOMPUTABLE as error:
            # The dispatcher parks it, with its own alarm; here it must not keep the errand from ending.
            self._telemetry.event("watch_uncomputable", schedule=timer.key, error=str(error))
            fires = []
        return with_rows(fires, rows, timer.epoch)

    def _pinged(self, timer: Timer, now: Instant, fire: Expected, deadline_at: Instant) -> Expected:
        """The fire with the ping that answers it: one in time, else the first that came late."""
        name = heartbeat_name(timer.tenant, timer.schedule_id)
        found = self._success(name, fire.nominal_at - PING_EARLY, min(deadline_at, now))
        if found is None and deadline_at < now:
            found = self._success(name, deadline_at + 1, now)
        return fire if found is None else replace(fire, pinged_at=found)

    def _success(self, name: str, since: Instant, until: Instant) -> Instant | None:
        pings = ask(lambda: self._store.list_pings(name, since=since, until=until, cursor=None, limit=PINGS_PAGE)).items
        good = [ping.at for ping in pings if ping.state is PingState.SUCCESS]
        return min(good, default=None)

    # --- what becomes of it --------------------------------------------------------------------------------------

    def _settle(self, timer: Timer, objectives: Objectives, found: Look, open_kinds: frozenset[IncidentKind]) -> None:
        subject = about_schedule(timer.schedule_id)
        for one in found.findings:
            is_open = one.kind in open_kinds
            if one.broke is not None and not is_open:
                broken = _broken(timer, one.broke)
                self._incidents.open(timer.tenant, subject, one.kind, broken, objectives.channels)
                self._telemetry.count("objectives_broken", kind=one.kind.value)
            if one.is_whole and (is_open or one.broke is not None):
                self._incidents.heal(timer.tenant, subject, one.kind, one.whole_text)

    def _note(self, watch: Watch) -> None:
        try:
            ask(lambda: self._store.commit([PutAlert(watch)]))
        except Refused:
            return  # Another look was faster, and judged the same.


def _broken(timer: Timer, judged: Judged) -> Broken:
    detail = {"nominal_at": judged.nominal_at, "deadline_at": judged.deadline_at}
    return Broken(judged.deadline_at, judged.text, detail, (timer.schedule_id,), 1)
