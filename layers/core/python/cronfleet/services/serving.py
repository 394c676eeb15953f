"""What a dispatcher holds of one tick while it serves it."""

from dataclasses import dataclass, field

from cronfleet.domain.allotment import Part
from cronfleet.domain.claim import BatchId, Claim
from cronfleet.domain.dispatch_plan import Park, Plan, Resume, Tally
from cronfleet.domain.errand import Errand
from cronfleet.domain.instant import Instant
from cronfleet.domain.schedule import Timer
from cronfleet.domain.tenant import Tenant
from cronfleet.services.allotments import Allotments
from cronfleet.services.look_ahead import LookAhead
from cronfleet.services.slot_allotments import SlotAllotments
from cronfleet.services.yielding import Yielding


@dataclass(frozen=True, slots=True)
class Closed:
    """The batch whose claims are all decided, and which of them somebody else won."""

    batch_id: BatchId | None
    losers: frozenset[int] = frozenset()
    lost: tuple[Claim, ...] = ()
    """Those claims, where it is a batch of this tick's own."""


@dataclass(slots=True)
class Serving:
    """A tick that is being served: what it reads, what it has taken, and what has to wait until all else is done."""

    now: Instant
    works_until: Instant
    """Here it stops, and leaves the rest to the next tick, which comes when this slot is over."""
    look_ahead: LookAhead
    tally: Tally
    allotments: Allotments
    slots: SlotAllotments
    yielding: Yielding
    closed: Closed
    """The last batch whose claims are all decided."""
    took: int = 0
    """How many milliseconds …"""
    claimed: int = 0
    """… so many drafts took that went together last; none yet."""
    written: int = 0
    """Batches that were written down; each is announced before the next is, or never."""
    tenants: dict[str, Tenant] = field(default_factory=dict)
    waiting: list[Part] = field(default_factory=list)
    noted: list[Claim] = field(default_factory=list)
    amiss: list[Park | Resume | Timer] = field(default_factory=list)
    """To be put right by the scheduler itself: what it parks, resumes, or looks at again by newer zone data."""
    errands: list[Errand] = field(default_factory=list)

    @property
    def is_half_over_at(self) -> Instant:
        """Between its beginning and its end."""
        return (self.now + self.works_until) // 2

    def set_aside(self, made: Plan) -> None:
        """Keep what of `made` nobody's fire waits for until all that was read is claimed."""
        self.waiting += made.waiting
        self.yielding.add(made.yielding)
        self.noted += made.noted
        self.amiss += (*made.parks, *made.resumes, *made.outdated)
