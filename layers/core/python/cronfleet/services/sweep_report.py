"""What a sweep tells of how the installation stands, for charts and alarms: figures as they are, not what changed.

Lag is measured where a run starts, so what does not start at all is seen here or nowhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cronfleet.domain.instant import MINUTE, SECOND, Instant
from cronfleet.domain.noticeboard import MAX_NOTICES, SHEETS, Topic
from cronfleet.domain.self_watch import Waiting
from cronfleet.ports.job_store import Damaged, NoAnswer
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.noticeboard import Noticeboard

PERCENT: Final = 100

BOARD_EVERY: Final = 5
"""Minutes between looks at the noticeboard: it costs a read, which no ordinary sweep has to spare."""


@dataclass(slots=True)
class SweepReport:
    """What one sweep did, in counts."""

    shards: int = 0
    quiet_shards: int = 0
    settled: int = 0
    open: int = 0
    revived: int = 0
    resent: int = 0
    failed_shards: int = 0
    sealed: int = 0
    retiming_seen: int = 0
    retimed: int = 0
    retiming_failed: int = 0
    deleted: int = 0


def tell_waiting(
    telemetry: Telemetry, overdue: Sequence[Waiting], unstarted: Sequence[Waiting], open_batches: int, now: Instant
) -> None:
    """How long the oldest fire waits for its claim, and for its worker; and what the books still carry."""
    telemetry.measure("overdue", _oldest(overdue, now))
    telemetry.measure("unstarted", _oldest(unstarted, now))
    telemetry.count("batches_open", open_batches)


def _oldest(waiting: Sequence[Waiting], now: Instant) -> float:
    return max((max(0, now - one.since_at) / SECOND for one in waiting), default=0.0)


def looks_at_board(now: Instant) -> bool:
    """Whether a sweep at `now` looks at the noticeboard although nothing asks it to."""
    return (now // MINUTE) % BOARD_EVERY == 0


def tell_board(telemetry: Telemetry, board: Noticeboard, now: Instant) -> None:
    """Every few minutes: how many targets' breakers are not closed, and how full the noticeboard's fullest sheet is,
    in percent.
    """
    if not looks_at_board(now):
        return
    try:
        sheets = board.sheets()
    except (NoAnswer, Damaged):
        # The sweep goes on without; whoever needs the board for a decision asks for himself.
        return
    counting = [(sheet.topic, sum(one.counts(now) for one in sheet.notices.values())) for sheet in sheets[: 2 * SHEETS]]
    telemetry.tally(
        {
            "breakers_open": sum(number for topic, number in counting if topic is Topic.BREAKERS),
            "noticeboard_fill": max((PERCENT * number // MAX_NOTICES for _, number in counting), default=0),
        }
    )
