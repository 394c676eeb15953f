"""A schedule's watch: how far its objectives have been judged, so that each fire is judged once."""

from dataclasses import dataclass, replace

from cronfleet.domain.instant import Instant


@dataclass(frozen=True, slots=True)
class Watch:
    """Every deadline up to and including `judged_until` was judged. `rev` rises with every write; 0 before the first.

    Fires that were named for `since_at` or before are not judged. One that `is_off` watches nothing: the schedule has
    no objectives now, or is gone. The installation has one of its own, which says how far it has watched itself.
    """

    tenant: str
    schedule_id: str
    judged_until: Instant
    since_at: Instant
    is_off: bool = False
    rev: int = 0

    def judged(self, until: Instant) -> "Watch":
        """The same, further on; time that goes back takes nothing back."""
        return replace(self, judged_until=max(until, self.judged_until), is_off=False, rev=self.rev + 1)

    def off(self) -> "Watch":
        """The same, watching nothing."""
        return replace(self, is_off=True, rev=self.rev + 1)
