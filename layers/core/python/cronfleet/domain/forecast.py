"""Forecast: how many fires are due in which minute of the next seven days, from what the triggers say.

Schedules that share a trigger share the work: they are counted in groups, and a group's fires are found once. Counted
are the fires of schedules that are active, and of those that are paused until a time, after it. Not counted is what no
trigger of their own names: schedules that run after others, retries, backfills, and what is still to be caught up.
"""

from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.dispatch_plan import regular_fire
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.jitter import due_at
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE, CronTrigger, IntervalTrigger, Trigger, fires

HORIZON: Final = 7 * DAY
"""How far ahead anybody may ask."""

COUNTER: Final = "Q"
"""The type code of arrays of counts: 64 bits."""

MOST_LISTED: Final = 1_000_000
"""Nominals that are kept: some 40 MB."""

MINUTE_SECONDS: Final = MINUTE // SECOND

_Group: TypeAlias = tuple[str, Trigger, Instant, Instant | None, int]
"""What has the same fires: whose calendar counts ("" where none does), trigger, first nominal, end, offset."""


def new_counts(length: int) -> "array[int]":
    """So many zeros."""
    return array(COUNTER, bytes(8 * length))


@dataclass(slots=True)
class Counts:
    """Fires due from `since` to before `until`, both whole minutes: by minute, and by tenant and hour.

    `schedules` were counted; `uncomputable` cannot be (the scheduler parks them), `following` run after others.
    """

    since: Instant
    until: Instant
    minutes: "array[int]" = field(default_factory=lambda: new_counts(0))
    tenants: "dict[str, array[int]]" = field(default_factory=dict)
    schedules: int = 0
    uncomputable: int = 0
    following: int = 0

    def __post_init__(self) -> None:
        if not self.minutes:
            self.minutes = new_counts((self.until - self.since) // MINUTE)

    def between(self, since: Instant, until: Instant) -> "array[int]":
        """The minutes from `since` to before `until`, which is inside; of those before it began nothing is ahead."""
        begins, ends = (since - self.since) // MINUTE, (until - self.since) // MINUTE
        return new_counts(max(0, min(0, ends) - begins)) + self.minutes[max(0, begins) : max(0, ends)]

    def at(self, instant: Instant) -> int:
        """How many fires are due in the minute of `instant`; 0 outside."""
        number = (instant - self.since) // MINUTE
        return self.minutes[number] if 0 <= number < len(self.minutes) else 0

    def take_in(self, other: "Counts") -> None:
        """Add what `other` has counted of the same stretch."""
        add(self.minutes, other.minutes)
        for tenant, hours in other.tenants.items():
            add(self.tenants.setdefault(tenant, new_counts(len(hours))), hours)
        self.schedules += other.schedules
        self.uncomputable += other.uncomputable
        self.following += other.following


def add(total: "array[int]", more: Sequence[int], times: int = 1) -> None:
    """Add each of `more`, so many times, to `total`, which is as long."""
    for number, count in enumerate(more):
        if count:
            total[number] += times * count


class Lists:
    """The nominals of triggers in one stretch of time; tallies of the same stretch may share them.

    Past so many nominals the lists are let go, so that a large installation does not fill the memory.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, Trigger, int], list[Instant]] = {}
        self._length = 0

    def of(self, owner: str, trigger: Trigger, lead: int, find: Callable[[], list[Instant]]) -> list[Instant]:
        """What is known of `trigger`, or what `find` finds. `lead` is how long before the stretch it begins."""
        key = (owner, trigger, lead)
        known = self._found.get(key)
        if known is None:
            known = find()
            self._length += len(known)
            if self._length > MOST_LISTED:
                self._found.clear()
                self._length = len(known)
            self._found[key] = known
        return known


class Tally:
    """Counts timers; `counts` works the groups out. `work` is how many fires have to be looked at for it."""

    def __init__(self, since: Instant, until: Instant, lists: Lists | None = None) -> None:
        self.work = 0
        self._counts = Counts(since, until)
        self._groups: defaultdict[_Group, Counter[str]] = defaultdict(Counter)
        self._lists = lists or Lists()

    def add(self, timer: Timer) -> None:
        """Count `timer` as it stands; every status is welcome."""
        if isinstance(timer.trigger, AfterTrigger):
            self._counts.following += timer.status is Status.ACTIVE
            return
        first = first_nominal(timer)
        if first is None:
            return
        try:
            self._add(timer, first)
        except UNCOMPUTABLE:
            self._counts.uncomputable += 1
            return
        self._counts.schedules += 1

    def counts(self) -> Counts:
        """What all timers that were added name together. Those may not be added to afterwards."""
        for group, tenants in self._groups.items():
            self._work_out(group, tenants)
        self._groups.clear()
        return self._counts

    def _add(self, timer: Timer, first: Instant) -> None:
        waits = regular_fire(timer) if timer.status is Status.ACTIVE else None
        owner, delay = _owner(timer), _offset(timer)
        if waits is not None and waits.due_at != _due_at(timer, first, self._after(timer, first)):
            # It is deferred, or waits by an older jitter: this one is due when it waits, those after it as they should.
            self._count(timer.tenant, [waits.due_at])
            first += SECOND
        if delay is not None:
            group = (owner, timer.trigger, max(first, self._earliest(delay)), timer.end_at, delay)
            nominals = self._listed(owner, timer.trigger, delay)  # raises here, for this schedule alone
            if group not in self._groups:
                self.work += len(nominals) or len(self._counts.minutes)
            self._groups[group][timer.tenant] += 1
            return
        nominals = self._listed(owner, timer.trigger, timer.jitter_seconds)
        self.work += len(nominals)
        since = bisect_left(nominals, first)
        pairs = zip(nominals[since:], [*nominals[since + 1 :], None], strict=False)
        ended = ((one, after) for one, after in pairs if timer.end_at is None or one <= timer.end_at)
        self._count(timer.tenant, [_due_at(timer, one, after) for one, after in ended])

    def _after(self, timer: Timer, nominal_at: Instant) -> Instant | None:
        return timer.trigger.next_after(nominal_at) if timer.jitter_seconds else None

    def _earliest(self, delay_seconds: int) -> Instant:
        """No nominal before this is still due in the stretch."""
        return self._counts.since - delay_seconds * SECOND

    def _listed(self, owner: str, trigger: Trigger, delay_seconds: int) -> list[Instant]:
        """The nominals that may be due in the stretch, put off by so much, and the one after them."""
        lead = -(-delay_seconds * SECOND // HOUR) * HOUR  # in whole hours, so that many offsets share one list
        since, until = self._counts.since - lead, self._counts.until
        return self._lists.of(owner, trigger, lead, lambda: _stretch(trigger, since, until))

    def _work_out(self, group: _Group, tenants: Counter[str]) -> None:
        owner, trigger, first, end_at, delay = group
        if isinstance(trigger, IntervalTrigger) and trigger.every_seconds < MINUTE_SECONDS:
            found = _per_minute(trigger, self._counts, first, end_at)
        else:
            nominals = self._listed(owner, trigger, delay)
            found = Counter(_delayed(nominals[bisect_left(nominals, first) :], end_at, delay))
        self._enter(found, tenants)

    def _count(self, tenant: str, dues: Sequence[Instant]) -> None:
        self._enter(Counter(due // MINUTE * MINUTE for due in dues), Counter({tenant: 1}))

    def _enter(self, found: Mapping[Instant, int], tenants: Counter[str]) -> None:
        """Note the fires in `found`, by their minutes, of each of so many schedules of `tenants`."""
        counts, times = self._counts, tenants.total()
        hours: Counter[int] = Counter()
        for minute_at, count in found.items():
            if counts.since <= minute_at < counts.until:
                counts.minutes[(minute_at - counts.since) // MINUTE] += count * times
                hours[(minute_at - counts.since) // HOUR] += count
        length = -(-(counts.until - counts.since) // HOUR)
        for tenant, schedules in tenants.items() if hours else ():
            own = counts.tenants.setdefault(tenant, new_counts(length))
            for hour, count in hours.items():
                own[hour] += count * schedules


def first_nominal(timer: Timer) -> Instant | None:
    """A time from which on `timer` fires at every nominal time, and before which at none; `None`: it does not fire."""
    if timer.status is Status.ACTIVE:
        return timer.nominal_at if timer.due_at is not None else None
    if timer.status is Status.PAUSED and timer.due_at is not None:
        return max(timer.due_at + 1, timer.start_at or 0)
    return None


def _owner(timer: Timer) -> str:
    """Whose calendars the trigger's name belongs to; two tenants' calendars of one name are not the same."""
    has_calendar = isinstance(timer.trigger, CronTrigger) and timer.trigger.calendar is not None
    return timer.tenant if has_calendar else ""


def _offset(timer: Timer) -> int | None:
    """By how many seconds all fires of `timer` are put off, to the minute; `None` where a hash says it for each."""
    if timer.is_spread or timer.jitter_seconds == 0:
        return timer.jitter_seconds
    if isinstance(timer.trigger, CronTrigger) and timer.jitter_seconds < MINUTE_SECONDS:
        return 0  # a cron's times are whole minutes: its jitter never leaves them
    if isinstance(timer.trigger, IntervalTrigger) and timer.trigger.every_seconds < MINUTE_SECONDS:
        return 0  # jitter never passes the next fire: at most one of them is counted in the minute before its own
    return None


def _due_at(timer: Timer, nominal_at: Instant, following: Instant | None) -> Instant:
    return due_at(timer.key, nominal_at, following, timer.jitter_seconds, timer.end_at, is_spread=timer.is_spread)


def _stretch(trigger: Trigger, since: Instant, until: Instant) -> list[Instant]:
    """The nominals from `since` to before `until`, and the first after them."""
    if isinstance(trigger, IntervalTrigger) and trigger.every_seconds < MINUTE_SECONDS:
        return []  # counted by the minute, without a list
    found = []
    for nominal_at in fires(trigger, since - 1):
        found.append(nominal_at)
        if nominal_at >= until:
            break
    return found


def _delayed(nominals: Sequence[Instant], end_at: Instant | None, delay: int) -> Iterator[Instant]:
    """The minutes in which `nominals` are due, put off by `delay` seconds, never past the next one or the end."""
    for number, nominal_at in enumerate(nominals):
        if end_at is not None and nominal_at > end_at:
            return
        following = nominals[number + 1] if delay and number + 1 < len(nominals) else None
        yield due_at("", nominal_at, following, delay, end_at, is_spread=True) // MINUTE * MINUTE


def _per_minute(
    trigger: IntervalTrigger, counts: Counts, first: Instant, end_at: Instant | None
) -> Mapping[Instant, int]:
    """How many fires an interval shorter than a minute names in each."""
    every, found = trigger.every_seconds * SECOND, {}
    last = counts.until - 1 if end_at is None else min(end_at, counts.until - 1)
    for minute_at in range(max(counts.since, first // MINUTE * MINUTE), last + 1, MINUTE):
        since, until = max(minute_at, first), min(minute_at + MINUTE - 1, last)
        found[minute_at] = (until - trigger.anchor_at) // every - (since - 1 - trigger.anchor_at) // every
    return found
