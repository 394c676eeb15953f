"""Fires that were claimed when a pause came: the worker refused them, and a resume may still want them.

A dispatcher claims a few seconds ahead. A schedule that is paused in these seconds has moved past the fire already, so
that it is not among those that the pause held back; its row says `skipped`, `paused`. That stays. Where the resume
wants the fire, it gets a run of its own, with a cause of its own, for the same nominal time.
"""

from collections.abc import Iterable
from itertools import islice

from cronfleet.domain.claim import RunTimer, first_attempt
from cronfleet.domain.instant import floor_second
from cronfleet.domain.misfire import Misfire
from cronfleet.domain.reason import Code
from cronfleet.domain.run import MANUAL_CAUSE, Run, RunKey, RunStatus
from cronfleet.domain.schedule import Timer
from cronfleet.domain.trigger import latest_fires


def revived(
    before: Timer, after: Timer, history: Iterable[Run], catch_up: Misfire, *, limit: int
) -> list[tuple[Run, RunTimer]]:
    """The runs, with their timers, of what `catch_up` still wants after what `after` fires by itself; at most `limit`.

    `history` holds the schedule's rows, newest first. A resume begins an epoch, so what the workers of the epoch of
    `before` refused as paused was refused for the pause that ends now.
    """
    wanted = min(limit, catch_up.wanted - _caught_up(after, catch_up.wanted))
    refused = (row for row in history if row.key.epoch == before.epoch and _is_refused(row))
    due_at = floor_second(after.updated_at)
    runs = [_again(row, after, due_at) for row in islice(refused, max(0, wanted))]
    return [(run, first_attempt(run.key, after, due_at)) for run in runs]


def _caught_up(after: Timer, wanted: int) -> int:
    """How many of the fires held back the resumed timer fires by itself."""
    if after.fire_through is None or after.nominal_at is None:
        return 0
    return len(latest_fires(after.trigger, after.nominal_at - 1, after.fire_through, wanted))


def _is_refused(row: Run) -> bool:
    return (
        row.key.is_scheduled
        and row.status is RunStatus.SKIPPED
        and row.reason is not None
        and row.reason.code is Code.PAUSED
    )


def _again(row: Run, after: Timer, due_at: int) -> Run:
    cause = f"{MANUAL_CAUSE}-{after.change_id}"
    key = RunKey(after.tenant, after.schedule_id, after.epoch, row.key.nominal_at, cause)
    return Run(key, RunStatus.QUEUED, due_at=due_at, tier=after.tier, version=after.version)
