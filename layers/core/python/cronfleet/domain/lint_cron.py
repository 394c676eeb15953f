"""What the checks of a cron expression look at: its text, its numbers, its zone, and the days it fires on next."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import islice
from typing import Final

from cronfleet.domain import cron_grammar, zones
from cronfleet.domain.cron import fields_of
from cronfleet.domain.cron_grammar import CronFields
from cronfleet.domain.cron_words import WEEKDAYS, listed
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.trigger import CronTrigger
from cronfleet.domain.zones import DAY_SECONDS, Zone

DATES_SHOWN: Final = 3
_AWS_FORM: Final = "cron("


@dataclass(frozen=True)
class CronLook:
    """A cron trigger as the checks look at it: its fires later than `after`."""

    trigger: CronTrigger
    after: Instant

    @cached_property
    def fields(self) -> CronFields:
        """The expression expanded to numbers."""
        return fields_of(self.trigger)

    @cached_property
    def texts(self) -> Sequence[str]:
        """The fields as written: minute, hour, day of month, month, day of week; in the AWS dialect the year too."""
        inside = self.trigger.expression.removeprefix(_AWS_FORM).removesuffix(")")
        return cron_grammar.MACROS.get(inside.lower(), inside).split()

    @property
    def zone(self) -> Zone:
        """The zone, loaded."""
        return zones.load(self.trigger.timezone)

    def with_times(self, minute: str, hour: str | None = None) -> str:
        """The expression with another minute and, if given, another hour."""
        written = " ".join([minute, hour or self.texts[1], *self.texts[2:]])
        return f"{_AWS_FORM}{written})" if self.trigger.expression.startswith(_AWS_FORM) else written

    def days(self) -> Iterator[date]:
        """The days it fires on later than `after`, in its zone, each once."""
        after = self.after
        while (nominal_at := self.trigger.next_after(after)) is not None:
            wall = self.wall(nominal_at)
            yield date_of(wall)
            midnight = self.zone.first_instant((wall // DAY_SECONDS + 1) * DAY_SECONDS)
            if midnight is None:
                return
            after = midnight * SECOND - 1

    def wall(self, instant: Instant) -> int:
        """What the clock in the zone shows, as wall seconds."""
        return self.zone.wall_at(instant // SECOND)

    @property
    def next_days(self) -> str:
        """The next few days it fires on, in words."""
        return dates_words([*islice(self.days(), DATES_SHOWN)])


def date_of(wall: int) -> date:
    """The date of a wall second; the calendar's first or last where a zone's offset leads past them."""
    ordinal = date(1970, 1, 1).toordinal() + wall // DAY_SECONDS
    return date.fromordinal(min(max(ordinal, date.min.toordinal()), date.max.toordinal()))


def dates_words(days: Sequence[date]) -> str:
    """`2026-12-04 (Friday) and 2026-12-11 (Friday)`."""
    return listed(f"{day.isoformat()} ({WEEKDAYS[day.isoweekday() % 7]})" for day in days) if days else "never again"


def wall_words(wall: int) -> str:
    """The time of day that a wall second shows: `02:30`."""
    minute, second = divmod(wall % DAY_SECONDS, 60)
    return f"{minute // 60:02}:{minute % 60:02}" + (f":{second:02}" if second else "")
