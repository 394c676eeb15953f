"""Fires that were claimed when a pause came: the worker refused them, and a resume may still want them.

A dispatcher claims a few seconds ahead. A schedule that is paused in these seconds has moved past the fire already, so
that it is not among those that the pause held back; its row says `skipped`, `paused`. That stays. Where the resume
wants the fire, it gets a run of its own, with a cause of its own, for the same nominal time.
"""

from collections.abc import Iterable, Sequence
from itertools import islice

from cronfleet.domain.backlog import stretches_of, turn_of
from cronfleet.domain.claim import RunTimer, first_attempt
from cronfleet.domain.instant import EARLIEST, SECOND, Instant, floor_second
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.misfire import Misfire
from cronfleet.domain.reason import Code
from cronfleet.domain.run import MANUAL_CAUSE, Run, RunKey, RunStatus
from cronfleet.domain.schedule import Timer
from cronfleet.domain.trigger import latest_fires


def revived(
    before: Timer, after: Timer, history: Iterable[Run], catch_up: Misfire, *, limit: int
) -> list[tuple[Run, RunTimer]]:
    """The runs, with their timers, of what `catch_up` still wants after what `after` catches up; at most `limit`.

    They come one after another at its pace, newest first, beside the backlog's. `history` holds the schedule's rows,
    newest first. A resume begins an epoch, so what the workers of the epoch of `before` refused as paused was refused
    for the pause that ends now.
    """
    wanted = min(limit, catch_up.wanted - _caught_up(after, catch_up.wanted))
    window = catch_up.window_seconds
    oldest = EARLIEST if window is None else after.updated_at - window * SECOND
    refused = (
        row for row in history if row.key.epoch == before.epoch and row.key.nominal_at >= oldest and _is_refused(row)
    )
    chosen = list(islice(refused, max(0, wanted)))
    turns = [floor_second(after.updated_at + place * turn_of(catch_up.per_minute)) for place in range(len(chosen))]
    runs = [_again(row, after, due_at, chosen) for row, due_at in zip(chosen, turns, strict=True)]
    return [(run, first_attempt(run.key, after, run.due_at)) for run in runs]


def _caught_up(after: Timer, wanted: int) -> int:
    """How many of the fires held back the resumed timer catches up by itself."""
    stretches = stretches_of(after.backlog)
    return sum(len(latest_fires(after.trigger, one.first_at - 1, one.last_at, wanted)) for one in stretches)


def _is_refused(row: Run) -> bool:
    return (
        row.key.is_scheduled
        and row.status is RunStatus.SKIPPED
        and row.reason is not None
        and row.reason.code is Code.PAUSED
    )


def _again(row: Run, after: Timer, due_at: Instant, chosen: Sequence[Run]) -> Run:
    cause = f"{MANUAL_CAUSE}-{after.change_id}"
    key = RunKey(after.tenant, after.schedule_id, after.epoch, row.key.nominal_at, cause)
    nominals = [one.key.nominal_at for one in chosen]
    late = Late(Cause.PAUSE, min(nominals), max(nominals), after.updated_at)
    return Run(key, RunStatus.QUEUED, due_at=due_at, tier=after.tier, version=after.version, late=late)
