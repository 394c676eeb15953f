"""The count of a tenant's schedules, as the services need it: `domain/schedule_count.py` says how it is kept."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class CountSchedules:
    """Change a tenant's count by `by`, on the condition that it does not come to more than `limit` (`None`: no limit).

    What stops it is `Full`; a store finds room for it by itself where others count at the same time.
    """

    tenant: str
    by: int
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Full:
    """What stands in the way of counting one more: `use` schedules, of `limit` that may be."""

    use: int
    limit: int


@dataclass(frozen=True, slots=True)
class ScheduleCount:
    """How many schedules of a tenant are counted.

    Those that are older than counting are found and counted once: until `is_complete`, it goes on from `cursor`.
    """

    use: int = 0
    is_complete: bool = False
    cursor: str | None = None


class ScheduleCountStore(Protocol):
    """The counts of tenants' schedules."""

    def get_schedule_count(self, tenant: str) -> ScheduleCount:
        """The count, read strongly."""
        ...

    def put_count_progress(self, tenant: str, cursor: str | None) -> None:
        """Note how far the schedules older than counting were looked at; without a cursor, all were, for ever."""
        ...
