"""Telling: tenants that asked for it hear, on a bus, what became of their runs and schedules.

Told is what has been written, after it was: best effort, and never in the way of the work. An event is lost when the
process dies between the write and the sending, or the bus takes it in none of a few tries; a message that comes twice
may tell something twice. The ledger and the audit log are the truth.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from cronfleet.domain.errors import Contended
from cronfleet.domain.lifecycle_event import LifecycleEvent, labelled, run_event, run_started, schedule_event
from cronfleet.domain.run import Run
from cronfleet.domain.schedule import Definition
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.clock import Clock
from cronfleet.ports.events import Events
from cronfleet.ports.job_store import Damaged, InsertAudit, InsertRun, JobStore, NoAnswer, ReplaceRun, Write
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.noticeboard import Noticeboard

MAX_SENDS: Final = 3
"""How often an event is sent that the bus did not take."""


class Telling:
    """One for each service of a process. Whom it tells it reads from the `board`, if it is not told of a tenant."""

    def __init__(self, events: Events, telemetry: Telemetry, board: Noticeboard | None = None) -> None:
        self._events = events
        self._telemetry = telemetry
        self._board = board

    def started(self, run: Run, definition: Definition) -> None:
        """An attempt is about to call its target."""
        if self._tells(run.key.tenant):
            self._send([labelled(run_started(run), definition.spec.labels)])

    def written(self, run: Run, definition: Definition | None = None) -> None:
        """A row was written."""
        event = run_event(run)
        if event is not None and self._tells(event.tenant):
            self._send([event if definition is None else labelled(event, definition.spec.labels)])

    def committed(self, writes: Sequence[Write], tenant: Tenant | None = None) -> None:
        """A transaction was committed; of one tenant alone, where its record `tenant` is at hand."""
        if tenant is not None and not tenant.lifecycle_events:
            return
        told = [event for event in _events_of(writes) if tenant is not None or self._tells(event.tenant)]
        if told:
            self._send(told)

    def _tells(self, tenant: str) -> bool:
        if self._board is None:
            return False
        try:
            return self._board.tells_events(tenant)
        except (NoAnswer, Damaged, Contended):
            self._telemetry.count("events_lost")
            return False

    def _send(self, events: Sequence[LifecycleEvent]) -> None:
        unsent = events
        for _ in range(MAX_SENDS):
            unsent = self._events.send(unsent)
            if not unsent:
                return
        self._telemetry.count("events_lost", len(unsent))
        self._telemetry.event("events_lost", events=[event.detail["event_id"] for event in unsent])


def told_by(store: JobStore, clock: Clock, telemetry: Telemetry, events: Events | None) -> Telling | None:
    """For a service that ends runs now and then: the noticeboard is read when it does."""
    if events is None:
        return None
    return Telling(events, telemetry, Noticeboard(store, clock, telemetry, consistent=False))


def _events_of(writes: Iterable[Write]) -> Iterable[LifecycleEvent]:
    for write in writes:
        if isinstance(write, InsertAudit):
            event = schedule_event(write.entry)
        elif isinstance(write, InsertRun | ReplaceRun):
            event = run_event(write.run)
        else:
            event = None
        if event is not None:
            yield event
