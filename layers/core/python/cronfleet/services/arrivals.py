"""Arrivals: what comes to the dead-letter queues opens an incident of the installation, which the sweeper ends.

It is told before the message is dealt with, so that a consumer that dies has told it, and told it once.
"""

from dataclasses import replace
from typing import Final

from cronfleet.domain.incident import PLATFORM, Broken, IncidentKind
from cronfleet.domain.instant import MINUTE, Instant, to_text
from cronfleet.domain.self_watch import SCHEDULER
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import Damaged, NoAnswer
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.incidents import Incidents
from cronfleet.services.self_watch import wider

AGAIN_AFTER: Final = MINUTE
"""What came lately of a schedule is not noted again for so long: of a storm most costs nothing."""
MAX_REMEMBERED: Final = 1_000
"""Schedules whose last note is remembered between messages."""

KIND: Final = IncidentKind.DEAD_LETTERS


class Arrivals:
    """Notes what came. Remembers between messages what it has noted lately, and no more."""

    def __init__(self, *, incidents: Incidents, clock: Clock, telemetry: Telemetry) -> None:
        self._incidents = incidents
        self._clock = clock
        self._telemetry = telemetry
        self._noted: dict[str, Instant] = {}

    def came(self, queue: str, schedule: str = "") -> None:
        """A message came through `queue`: a run's, of `schedule` (`tenant/schedule`), or one that nobody can read.

        Never raises for a silent store: the message itself is of more worth.
        """
        now = self._clock.now()
        if now - self._noted.get(schedule, now - AGAIN_AFTER) < AGAIN_AFTER:
            return
        try:
            self._tell(queue, schedule, now)
        except (NoAnswer, Damaged) as error:
            self._telemetry.alarm("arrival_not_told", queue=queue, schedule=schedule, error=str(error))
            return
        if len(self._noted) >= MAX_REMEMBERED:
            self._noted.clear()
        self._noted[schedule] = now

    def _tell(self, queue: str, schedule: str, now: Instant) -> None:
        names = (schedule,) if schedule else ()
        what = "messages that nobody could deliver, or read, come to dead-letter queues"
        broken = Broken(now, f"{what}, the first to {queue} at {to_text(now)}", {"last_at": now}, names, len(names))
        if self._incidents.open(PLATFORM, SCHEDULER, KIND, broken) is None:
            self._incidents.widen(PLATFORM, SCHEDULER, KIND, lambda known: _later(known, names, now))


def _later(known: Broken, names: tuple[str, ...], now: Instant) -> Broken:
    """With a new arrival; one whose schedule is named and which came right after another changes nothing."""
    more = wider(known, frozenset(names))
    last_at = int(known.detail.get("last_at", 0))
    if more == known and now - last_at < AGAIN_AFTER:
        return known
    return replace(more, detail={**known.detail, "last_at": max(now, last_at)})
