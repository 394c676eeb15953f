"""Objectives: what is expected of a schedule, how each stands, and what its history teaches."""

from functools import partial
from typing import Final

from cronfleet.domain.errors import NotFound
from cronfleet.domain.form import Form
from cronfleet.domain.frozen import in_force
from cronfleet.domain.incident import Incident, IncidentKind, about_schedule, incident_form
from cronfleet.domain.instant import to_text
from cronfleet.domain.objective import LEARNED_FROM, Learned, Objectives, learned
from cronfleet.domain.objective_form import objectives_form
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.watching import watched_kinds
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore
from cronfleet.services.access import Caller
from cronfleet.services.changing import answer_of
from cronfleet.services.freeze_watch import FreezeWatch

LEARNING_ROWS: Final = 2 * LEARNED_FROM
"""Rows of the history that an answer learns from, as a look does."""

MAX_STANDINGS: Final = 20
"""Standings of a schedule; there is one for each kind."""


class ScheduleObjectives:
    """The service behind a schedule's /objectives."""

    def __init__(self, *, store: JobStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._freezes = FreezeWatch(store, clock, consistent=True)

    def get(self, caller: Caller, schedule_id: str) -> Form:
        """Each objective with its state and its open incident; `NotFound` when there is no such schedule."""
        tenant = caller.tenant.tenant_id
        timer = answer_of(lambda: self._store.get_timer(tenant, schedule_id))
        if timer is None or timer.status is Status.CANCELLED:
            raise NotFound("schedule", schedule_id)
        definition = answer_of(lambda: self._store.get_definition(tenant, schedule_id, timer.version))
        expected = None if definition is None else definition.spec.objectives
        watch = None if expected is None else answer_of(lambda: self._store.get_watch(tenant, schedule_id))
        is_judged = watch is not None and not watch.is_off
        return {
            "schedule_id": schedule_id,
            "objectives": [] if expected is None else self._stand(timer, expected, is_judged=is_judged),
            "channels": [] if expected is None else list(expected.channels),
            "judged_until": to_text(watch.judged_until) if watch is not None and is_judged else None,
            "learned": None if expected is None else _learned_form(self._learned(timer)),
        }

    def _stand(self, timer: Timer, expected: Objectives, *, is_judged: bool) -> list[Form]:
        said, open_ones, watched = objectives_form(expected), self._open(timer), self._watched(timer, expected)
        return [
            {
                "kind": kind.value,
                "expected": said[kind.value],
                "state": _state(kind in open_ones, is_watched=kind in watched, is_judged=is_judged),
                "incident": incident_form(open_ones[kind]) if kind in open_ones else None,
            }
            for kind in expected.kinds
        ]

    def _watched(self, timer: Timer, expected: Objectives) -> tuple[IncidentKind, ...]:
        """What is judged as the schedule stands: nothing while it is frozen."""
        freezes = answer_of(lambda: self._freezes.of(timer, timer.tier))
        return watched_kinds(expected, timer) if in_force(freezes, self._clock.now()) is None else ()

    def _open(self, timer: Timer) -> dict[IncidentKind, Incident]:
        subject = about_schedule(timer.schedule_id)
        read = partial(self._store.list_standings, timer.tenant, subject=subject, cursor=None, limit=MAX_STANDINGS)
        found: dict[IncidentKind, Incident] = {}
        for standing in answer_of(read).items:
            incident = answer_of(partial(self._store.get_incident, timer.tenant, standing.incident_id or ""))
            if incident is not None and incident.is_open:
                found[standing.kind] = incident
        return found

    def _learned(self, timer: Timer) -> Learned | None:
        read = partial(self._store.list_runs, timer.tenant, timer.schedule_id, cursor=None, limit=LEARNING_ROWS)
        return learned(answer_of(read).items)


def _state(is_open: bool, *, is_watched: bool, is_judged: bool) -> str:
    if is_open:
        return "broken"
    if not is_watched:
        return "not_watched"
    return "kept" if is_judged else "not_judged_yet"


def _learned_form(found: Learned | None) -> Form | None:
    if found is None:
        return None
    return {
        "successes": found.count,
        "median_ms": found.median_ms,
        "p95_ms": found.p95_ms,
        "limit_seconds": found.limit_seconds,
    }
