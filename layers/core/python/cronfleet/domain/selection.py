"""Selection: which of a tenant's schedules, by their labels, their owner, where they stand, and how their ids begin."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cronfleet.domain.schedule import Spec, Status, Timer

MAX_LABELS: Final = 16
"""Labels that a schedule may have, or a selection may ask for."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Schedules that have all of `labels` with these values, this `owner`, this `status`, and an id that begins with
    `prefix`. What is `None` or empty is not asked for; an owner of `""` is that of schedules without one.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    owner: str | None = None
    status: Status | None = None
    prefix: str = ""

    @property
    def is_everything(self) -> bool:
        """Whether nothing is asked for, so that every schedule is one of them."""
        return not self.labels and self.owner is None and self.status is None and not self.prefix

    @property
    def goes_by_the_definition(self) -> bool:
        """Whether more is asked for than an index can tell."""
        return bool(self.labels) or self.owner is not None

    def takes(self, timer: Timer, spec: Spec) -> bool:
        """Whether the schedule is one of them."""
        return (
            timer.schedule_id.startswith(self.prefix)
            and self.status in (None, timer.status)
            and self.owner in (None, spec.owner)
            and all(spec.labels.get(name) == value for name, value in self.labels.items())
        )
