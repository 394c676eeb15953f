"""`ScheduleStore` in memory."""

from collections.abc import Sequence
from functools import partial

from cronfleet.adapters.memory import transactions
from cronfleet.adapters.memory.calendars import find
from cronfleet.adapters.memory.state import State
from cronfleet.domain.schedule import Definition, Status, Timer
from cronfleet.domain.tenant import ID_PATTERN
from cronfleet.ports import cursors
from cronfleet.ports.bound import bound_definition, bound_timer
from cronfleet.ports.job_store import IdempotencyRecord, Listed, Page, Write


class MemorySchedules:
    """Timers, definitions, lists, and the one transaction."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._find = partial(find, state)

    def get_timer(self, tenant: str, schedule_id: str) -> Timer | None:
        timer = self.state.timers.get((tenant, schedule_id))
        return None if timer is None else bound_timer(timer, self._find)

    def get_definition(self, tenant: str, schedule_id: str, version: int) -> Definition | None:
        definition = self.state.definitions.get(((tenant, schedule_id), version))
        return None if definition is None else bound_definition(definition, self._find)

    def get_schedules(self, tenant: str, listed: Sequence[Listed]) -> Sequence[tuple[Timer, Definition]]:
        found = []
        for one in listed:
            timer = self.get_timer(tenant, one.schedule_id)
            if timer is None or timer.status is Status.CANCELLED:
                continue
            definition = self.get_definition(tenant, one.schedule_id, timer.version)
            if definition is not None:
                found.append((timer, definition))
        return found

    def list_schedules(
        self, tenant: str, *, prefix: str, status: Status | None, cursor: str | None, limit: int
    ) -> Page[Listed]:
        after = "" if cursor is None else cursors.decode(cursor, 1)[0]
        if cursor is not None and not (ID_PATTERN.fullmatch(after) and after.startswith(prefix)):
            raise cursors.foreign()
        matching = sorted(
            timer.schedule_id
            for timer in self.state.timers.values()
            if timer.tenant == tenant and timer.status is not Status.CANCELLED and timer.schedule_id > after
            if timer.schedule_id.startswith(prefix) and status in (None, timer.status)
        )
        chosen = [self.state.timers[tenant, schedule_id] for schedule_id in matching[:limit]]
        more = len(matching) > limit
        items = [Listed(timer.schedule_id, timer.status, timer.version) for timer in chosen]
        return Page(items, cursors.after_schedule(items[-1].schedule_id) if more else None)

    def commit(self, writes: Sequence[Write]) -> None:
        transactions.commit(self.state, writes)

    def find_idempotency(self, tenant: str, key: str) -> IdempotencyRecord | None:
        record = self.state.idempotency.get((tenant, key))
        return None if record is None or record.expires_at <= self.state.clock.now() else record
