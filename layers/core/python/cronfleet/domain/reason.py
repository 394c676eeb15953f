"""Why: every decision that keeps a run from simply running carries one of these to the ledger, API and log.

`docs/reasons.md` holds the table of codes; a test compares it with `Code`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from cronfleet.domain.instant import to_text

Detail: TypeAlias = Mapping[str, str | int]


class Code(StrEnum):
    """A reason's type; its sentence and details say the rest."""

    MISSED = "missed"
    """Nothing fired in time (an outage of the scheduler), and the policy does not want it caught up."""
    CAUGHT_UP = "caught_up"
    """Why a run is late: it was missed, and the policy wanted it all the same."""
    PAUSED = "paused"
    """The schedule was paused, or became so between claim and start."""
    OVERLAP = "overlap"
    """Another run was in the way, and the overlap policy skips what finds one, or lets it wait."""
    SUPERSEDED = "superseded"
    """The trigger changed, or the schedule was resumed or created anew, before this fire was due."""
    CANCELLED = "cancelled"
    """The run was cancelled, or its schedule was before the run started."""
    NOT_ON = "not_on"
    """The schedule is held or parked."""
    SHADOW = "shadow"
    """It would have fired; the schedule is held, and only notes what it would fire."""
    ATTEMPTS = "attempts"
    """Every attempt failed."""
    INTERRUPTED = "interrupted"
    """The worker of the attempt had to stop; another one makes the next attempt, which does not count as a retry."""
    PERMANENT = "permanent"
    """An attempt failed in a way that no retry can mend."""
    TOO_OLD = "too_old"
    """The message was claimed longer ago than rows and queues remember."""
    UNDELIVERED = "undelivered"
    """No worker could take its message on, however often it was delivered: it came to a dead-letter queue."""
    NO_DEFINITION = "no_definition"
    """The version that the run needs cannot be read."""
    UNREADABLE = "unreadable"
    """The stored item cannot be read; the schedule is parked."""
    TENANT_RATE = "tenant_rate"
    """The tenant has more due than its rate; the fire is deferred to the place that its rate has free."""
    CONCURRENCY = "concurrency"
    """As many runs of the tenant are going on as it may have at once; this one waits for its turn."""
    YIELDS = "yields"
    """What an operation asked for is due, and finds no place beside the live traffic of its tenant."""
    QUOTA = "quota"
    """More fires of the schedule waited than may wait; the oldest are skipped."""
    BREAKER = "breaker"
    """The target fails again and again: it is left alone for a while, or did not recover in time."""
    FROZEN = "frozen"
    """A freeze of the label, the tenant or the tier holds the schedule, or held it then."""
    TENANT_SUSPENDED = "tenant_suspended"
    """The tenant is suspended, or was then: nothing of it starts."""
    EARLY = "early"
    """The message came before its time and was sent again with the delay that was left."""
    LIVE_LEASE = "live_lease"
    """Another worker holds a live lease on the run."""
    OTHER_WORKERS = "other_workers"
    """Its time limit was changed on its way: the other kind of workers is to have it, long ones or functions."""
    FINISHED = "finished"
    """The run is finished; a duplicate never starts it again."""
    OUT_OF_TURN = "out_of_turn"
    """The message names an attempt that the run is not waiting for."""
    PARENTS = "parents"
    """The parents that it runs after did not end as it wants them to."""
    PARENT_LATE = "parent_late"
    """A parent that it runs after did not end in time."""
    TENANT_DELETED = "tenant_deleted"
    """The tenant was deleted, or is being deleted; nothing of it is done, or noted."""

    FAILURES_RETURN = "failures_return"
    """Of the runs that a redrive made, so many died in one and the same way that it stopped by itself."""

    # What only an explanation says.
    CATCHING_UP = "catching_up"
    """It was missed, is wanted all the same, and waits for its turn."""
    RAN = "ran"
    """It ran."""
    RUNNING = "running"
    """An attempt is going on."""
    RETRYING = "retrying"
    """An attempt failed, or was put off; the next one has a time."""
    WAITS_FOR_PARENTS = "waits_for_parents"
    """A parent that it runs after has not ended yet."""
    QUEUED = "queued"
    """It is claimed, and no worker has started it yet."""
    RESENT = "resent"
    """It is claimed, no worker has started it in time, and the sweeper has sent it again."""
    DUE = "due"
    """It is due, and no dispatcher has claimed it yet."""
    HELD = "held"
    """It is due, and the installation is held, so that nothing is claimed."""
    NOT_DUE = "not_due"
    """Its time has not come."""
    BEFORE_START = "before_start"
    """It lies before the schedule's `start_at`."""
    AFTER_END = "after_end"
    """It lies after the schedule's `end_at`."""
    NOT_CREATED = "not_created"
    """The schedule was not there yet."""
    DELETED = "deleted"
    """The schedule was deleted."""
    COMPLETED = "completed"
    """The schedule named one instant, another one, and is done."""
    DST_GAP = "dst_gap"
    """The clock was put forward over this local time: it did not exist that day."""
    DST_OVERLAP = "dst_overlap"
    """The clock was put back and showed this local time twice; this pass is not used."""
    ZONE_DATA = "zone_data"
    """The zone data of today names it; the zone data that was in force at that time did not."""
    CALENDAR = "calendar"
    """The expression names it, and the schedule's calendar took that date away, or moved its fire to another."""
    NOT_NAMED = "not_named"
    """The trigger does not name this time."""
    FORGOTTEN = "forgotten"
    """It is longer ago than the ledger, or the history of changes, is looked through."""


FREEZING: Final = frozenset({Code.FROZEN, Code.TENANT_SUSPENDED})
"""What freezes give as a reason: a suspension is one, that the tenant's resumption alone ends."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A typed reason: its code, one short sentence for people, and what machines may want to read."""

    code: Code
    text: str
    detail: Detail = field(default_factory=dict)


def detail_form(detail: Detail) -> dict[str, object]:
    """Details as callers see them: instants, whose names end in `_at`, as RFC 3339 text."""
    return {
        name: to_text(value) if name.endswith("_at") and isinstance(value, int) else value
        for name, value in detail.items()
    }
