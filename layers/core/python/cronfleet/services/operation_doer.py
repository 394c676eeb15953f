"""Carrying operations on: looks after the runs that were begun, and begins the next ones, a page in a transaction.

Nothing is held between two steps. Whoever dies in between leaves the operation as its last page wrote it, and the next
one goes on from there; two at once are in each other's way, and one of them begins again.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Final

from cronfleet.domain import operation as operations
from cronfleet.domain.instant import MINUTE, Instant
from cronfleet.domain.operation import Kind, Operation, Status
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.tenant import TenantStatus
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.events import Events
from cronfleet.ports.job_store import InsertRun, InsertRunTimer, JobStore, NoAnswer, Refused, ReplaceRun, Write
from cronfleet.ports.operations import PutOperation
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.endings import Endings
from cronfleet.services.operation_sources import Drawn, Source
from cronfleet.services.telling import told_by
from cronfleet.services.tenant_rules import TenantRules
from cronfleet.services.true_clock import true_now

MAX_STEPS: Final = 500
"""Pages that one turn writes at most; the next turn goes on."""
SUSPENDED_REST: Final = MINUTE
"""How long the operations of a suspended tenant rest before they are looked at again."""


class _Step(StrEnum):
    """What came of a step."""

    WRITTEN = "written"
    BEATEN = "beaten"
    """Somebody else's write came first."""
    NOTHING = "nothing"
    """There was nothing to write."""


class OperationDoer:
    """Carries one operation on, as far as there is something to do and time to do it."""

    def __init__(
        self,
        *,
        store: JobStore,
        clock: Clock,
        ids: Ids,
        telemetry: Telemetry,
        sources: Mapping[Kind, Source],
        events: Events | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._telemetry = telemetry
        self._sources = sources
        self._rules = TenantRules(store)
        self._endings = Endings(store, told_by(store, clock, telemetry, events))

    def carry_on(self, tenant: str, errand_id: str, until: Instant) -> Instant | None:
        """Carry the operation `errand_id` on until `until`; when it is to be looked at next, `None`: no more.

        Raises `NoAnswer`, and `ClockSkewed` before anything is decided: it is to be tried again.
        """
        read = partial(self._store.get_operation, tenant, errand_id)
        now = true_now(self._store, self._clock, self._telemetry, read, operation=errand_id)
        status = self._rules.of([tenant], now)[tenant].status
        if status is not TenantStatus.ACTIVE:
            return None if status.is_gone else now + SUSPENDED_REST
        is_looked_at = False
        for _ in range(MAX_STEPS):
            operation = ask(read)
            if operation is None or operation.is_over:
                return None
            now = true_now(self._store, self._clock, self._telemetry, read, operation=errand_id)
            if operation.status is Status.CANCELLED and not is_looked_at:
                self._cancel(operation, now)
            looked = operation if is_looked_at else self._looked(operation, now)
            step = self._step(operation, looked, now)
            is_looked_at = step is not _Step.BEATEN
            if step is _Step.NOTHING or (is_looked_at and not self._has_room(looked, now)):
                return self._next_look(read, now)
            if self._clock.now() >= until:
                break
        return now

    def _next_look(self, read: "partial[Operation | None]", now: Instant) -> Instant | None:
        after = ask(read)
        return None if after is None else operations.wakes_at(after, now)

    def _has_room(self, operation: Operation, now: Instant) -> bool:
        return operations.room(operation, now) > 0

    # --- looking after what was begun --------------------------------------------------------------------------

    def _looked(self, operation: Operation, now: Instant) -> Operation:
        """The operation, those of its runs noted that have come to their ends."""
        if not operation.open:
            return operation
        keys = [RunKey.parse(run_id) for run_id in operation.open]
        rows = ask(partial(self._store.get_runs, keys))
        # A batch read may be old; what it does not find is asked for again before it counts as gone.
        unseen = [key for key in keys if key not in rows]
        found = {key: row for key in unseen if (row := ask(partial(self._store.get_run, key))) is not None}
        gone = [key for key in unseen if key not in found]
        return operations.settled(operation, {**rows, **found}, gone, now)

    # --- one step ----------------------------------------------------------------------------------------------

    def _step(self, stored: Operation, looked: Operation, now: Instant) -> "_Step":
        """Write the next step of the operation, if there is one."""
        after = looked
        drawn = Drawn((), is_last=False, position=looked.cursor)
        if looked.status is Status.RUNNING:
            reason = self._sources[looked.kind].reason_to_stop(looked)
            if reason is not None:
                after = operations.stopped(looked, reason, now)
                self._telemetry.alarm("operation_stopped", operation=looked.operation_id, reason=reason.text)
            elif self._has_room(looked, now):
                drawn = self._sources[looked.kind].draw(looked, operations.room(looked, now), now)
        page = operations.next_page(after, drawn.candidates, drawn.position, is_last=drawn.is_last, now=now)
        after = operations.ended(page.operation, now)
        if after == stored:
            return _Step.NOTHING
        writes: list[Write] = []
        for one in page.made:
            if one.run is not None and one.timer is not None:
                writes += [InsertRun(self._rules.kept(one.run, now)), InsertRunTimer(one.timer)]
        # After all of them: a letter that was settled meanwhile has the whole page drawn anew.
        writes += [ReplaceRun(one.settles) for one in page.made if one.settles is not None]
        return _Step.WRITTEN if self._commit(stored, after, writes) else _Step.BEATEN

    def _commit(self, stored: Operation, after: Operation, writes: Sequence[Write]) -> bool:
        put = PutOperation(operations.written(after, self._ids.unique()), stored)
        left = list(writes)
        while True:
            try:
                ask(partial(self._store.commit, [put, *left]))
            except Refused as refused:
                without = _without_what_is_there(left, refused)
                if without is None:
                    return False
                left = without
                continue
            self._report(stored, after)
            return True

    def _report(self, stored: Operation, after: Operation) -> None:
        begun = after.begun - stored.begun
        if begun:
            self._telemetry.count("operation_runs", begun, kind=after.kind.value)
        if after.is_over:
            self._telemetry.event("operation_over", operation=after.operation_id, status=after.status.value)

    # --- cancelling --------------------------------------------------------------------------------------------

    def _cancel(self, operation: Operation, now: Instant) -> None:
        """End those of its runs that are not under way. Who began one meanwhile was faster: it goes on."""
        rows = ask(partial(self._store.get_runs, [RunKey.parse(run_id) for run_id in operation.open])).values()
        text = f"its {operation.kind} {operation.operation_id} was cancelled"
        reason = Reason(Code.CANCELLED, text, {"operation": operation.operation_id})
        for row in filter(operations.is_cancellable, rows):
            ended = row.ended(RunStatus.CANCELLED, now, reason)
            timer = ask(partial(self._store.get_timer, row.key.tenant, row.key.schedule_id))
            try:
                self._endings.write(row, ended, timer)
            except Refused:
                continue
            self._let_gate_go(ended.key, now)

    def _let_gate_go(self, key: RunKey, now: Instant) -> None:
        """Free the gate that a cancelled run held; the next run that wants it takes it otherwise."""
        try:
            self._store.release_gate(key.tenant, key.schedule_id, key.run_id, now)
        except NoAnswer:
            return


def _without_what_is_there(writes: Sequence[Write], refused: Refused) -> list[Write] | None:
    """`writes` without the run that is there already: an operation that expired and was asked for again finds those of
    its predecessor. `None` when somebody else has moved the operation, or a run of it, on.
    """
    place = refused.position - 1
    if place < 0 or not isinstance(writes[place], InsertRun) or not isinstance(refused.stored, Run):
        return None
    return [*writes[:place], *writes[place + 2 :]]
