"""`VersionStore` in memory."""

from collections.abc import Sequence
from functools import partial

from cronfleet.adapters.memory.calendars import find
from cronfleet.adapters.memory.state import State
from cronfleet.domain.schedule import Definition
from cronfleet.ports.bound import bound_definition


class MemoryVersions:
    """Every definition that a schedule has had."""

    state: State

    def list_definitions(
        self, tenant: str, schedule_id: str, *, before: int | None, limit: int
    ) -> Sequence[Definition]:
        numbers = sorted(
            (
                number
                for key, number in self.state.definitions
                if key == (tenant, schedule_id) and (before is None or number < before)
            ),
            reverse=True,
        )
        stored = (self.state.definitions[(tenant, schedule_id), number] for number in numbers[:limit])
        return [bound_definition(definition, partial(find, self.state)) for definition in stored]
