"""`ScheduleCountStore` in memory: one number a tenant."""

from cronfleet.adapters.memory.state import State
from cronfleet.ports.schedule_counts import CountSchedules, Full, ScheduleCount


class MemoryScheduleCounts:
    """The counts of tenants' schedules."""

    def __init__(self, state: State) -> None:
        self.state = state

    def get_schedule_count(self, tenant: str) -> ScheduleCount:
        use = self.state.schedule_counts.get(tenant, 0)
        is_complete = tenant in self.state.counted_tenants
        return ScheduleCount(use, is_complete, None if is_complete else self.state.counted_until.get(tenant))

    def put_count_progress(self, tenant: str, cursor: str | None) -> None:
        if cursor is None:
            self.state.counted_tenants.add(tenant)
        else:
            self.state.counted_until[tenant] = cursor


def in_the_way(state: State, write: CountSchedules) -> Full | None:
    """What forbids `write`."""
    use = state.schedule_counts.get(write.tenant, 0)
    if write.limit is None or write.by <= 0 or use + write.by <= write.limit:
        return None
    return Full(use, write.limit)


def count_schedules(state: State, write: CountSchedules) -> None:
    """Count."""
    state.schedule_counts[write.tenant] = max(0, state.schedule_counts.get(write.tenant, 0) + write.by)
