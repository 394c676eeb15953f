"""The exact sum, from outside: what was ordered, by arithmetic of our own, against the history that the API gives.

Nothing here uses the product's code. An instant is a number of epoch milliseconds, as everywhere.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise, takewhile, zip_longest
from typing import Any

SECOND = 1_000
LEASE_MARGIN_SECONDS = 10
"""How much longer than its time limit an attempt's lease lasts, as the guarantees say."""

EXECUTED = frozenset({"succeeded", "dead"})
TERMINAL = EXECUTED | {"cancelled", "skipped", "missed", "paused", "refused"}

Row = Mapping[str, Any]


def instant(text: str) -> int:
    """Epoch milliseconds of RFC 3339 text."""
    return round(datetime.fromisoformat(text).timestamp() * SECOND)


@dataclass(frozen=True)
class Every:
    """Each `seconds` from 1970 on; a cron of `* * * * *` is every 60."""

    seconds: int

    def names(self, after: int, until: int) -> range:
        """The nominal times in (after, until]."""
        step = self.seconds * SECOND
        return range((after // step + 1) * step, until + 1, step)


@dataclass(frozen=True)
class Once:
    """One instant."""

    at: int

    def names(self, after: int, until: int) -> range:
        """The nominal times in (after, until]."""
        return range(self.at, self.at + (after < self.at <= until))


Trigger = Every | Once


@dataclass
class Era:
    """From `since` on (exclusive) a schedule had this trigger. The next era begins when the trigger is changed, or
    the schedule resumed.
    """

    trigger: Trigger
    since: int
    epoch: int
    catches_up: bool = False
    """Whether it runs some of what a pause had held back before it began."""


@dataclass
class Order:
    """One schedule as its caller knows it, and everything that was asked of it since."""

    schedule_id: str
    eras: list[Era]
    timeout_seconds: int = 60
    max_attempts: int = 3
    may_overlap: bool = True
    tolerance: int = 0
    """By how many milliseconds the clock that wrote a time may differ from the callers'."""
    quiet: list[tuple[int, int]] = field(default_factory=list)
    """Between a pause that had returned and the call that resumed: nothing starts in between."""
    ended: tuple[int, int] | None = None
    """When its deletion was asked for, and when that had returned."""

    def began_anew(self, trigger: Trigger, since: int, *, catches_up: bool = False) -> None:
        """A changed trigger, or a resume."""
        self.eras.append(Era(trigger, since, self.eras[-1].epoch + 1, catches_up))

    def owed(self, until: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Each nominal time that must have exactly one entry, and the epochs that this may be of."""
        last = until if self.ended is None else min(until, self.ended[0] - self.tolerance)
        for place, (era, following) in enumerate(zip_longest(self.eras, self.eras[1:])):
            end = last if following is None else min(following.since, last)
            # What one resume caught up and had not finished, the next one may have passed on.
            heirs = takewhile(lambda one: one.catches_up, self.eras[place + 1 :])
            epochs = (era.epoch, *(heir.epoch for heir in heirs))
            for nominal in era.trigger.names(era.since, end):
                yield nominal, epochs

    def is_caught_up(self, row: Row) -> bool:
        """Whether a resume asked for this run: a fire that was claimed before the pause, and refused because of it."""
        nominal = instant(row["nominal_at"])
        return any(era.catches_up and era.epoch == epoch_of(row) and nominal <= era.since for era in self.eras)

    def may_have(self, epoch: int, nominal: int) -> bool:
        """Whether the trigger of that epoch names this time at all."""
        since: int | None = None
        for before, era in zip([None, *self.eras], self.eras, strict=False):
            if before is None or not era.catches_up:
                since = era.since
            elif since is None or not before.catches_up:
                since = before.since
            if era.epoch == epoch:
                return nominal in era.trigger.names(since, nominal)
        return False


def audit(order: Order, rows: Sequence[Row], until: int) -> list[str]:
    """Every complaint about the history `rows` of an order, for nominal times up to `until`."""
    scheduled = [row for row in rows if row["cause"] == "schedule"]
    found = [*_sum(order, scheduled, until), *_overlaps(order, scheduled)]
    for row in rows:
        found += [f"{row['run_id']}: {text}" for text in _row(order, row)]
    return found


def _sum(order: Order, rows: Sequence[Row], until: int) -> Iterator[str]:
    """Exactly one entry for each nominal time; a range counts for each inside it."""
    entries: Counter[tuple[int, int]] = Counter()
    executed: Counter[int] = Counter()
    for row in rows:
        for key in _covered(order, row):
            entries[key] += 1
            executed[key[1]] += row["status"] in EXECUTED
    for nominal, epochs in order.owed(until):
        found = sum(entries[epoch, nominal] for epoch in epochs)
        if found != 1:
            yield f"{order.schedule_id}: {found} entries for {_text(nominal)} of epoch {epochs}"
    for nominal, times in executed.items():
        if times > 1:
            yield f"{order.schedule_id}: {_text(nominal)} was executed {times} times"
    for epoch, nominal in sorted(entries):
        if not order.may_have(epoch, nominal):
            yield f"{order.schedule_id}: an entry for {_text(nominal)} of epoch {epoch}, which its trigger never named"


def _covered(order: Order, row: Row) -> Iterator[tuple[int, int]]:
    epoch, nominal = epoch_of(row), instant(row["nominal_at"])
    if row["until_nominal_at"] is None:
        return iter([(epoch, nominal)])
    trigger = next((era.trigger for era in order.eras if era.epoch == epoch), Once(nominal))
    return ((epoch, inside) for inside in trigger.names(nominal - 1, instant(row["until_nominal_at"])))


def epoch_of(row: Row) -> int:
    """The epoch in a run's id."""
    return int(row["run_id"].split("~")[2])


def _row(order: Order, row: Row) -> Iterator[str]:
    status = row["status"]
    if status not in TERMINAL:
        yield f"is still {status}"
    if status not in {"succeeded", "running", "waiting", "queued"} and not row["reason"]:
        yield f"is {status} without a reason"
    if status == "succeeded" and row["attempts"][-1]["outcome"] != "succeeded":
        yield "succeeded, but its last attempt did not"
    if instant(row["due_at"]) < instant(row["nominal_at"]):
        yield "was due before its nominal time"
    if row["started_at"] and instant(row["started_at"]) < instant(row["due_at"]):
        yield f"started at {row['started_at']}, before it was due at {row['due_at']}"
    yield from _attempts(order, row)
    yield from _starts_when_quiet(order, row)


def _attempts(order: Order, row: Row) -> Iterator[str]:
    attempts = row["attempts"]
    if [attempt["number"] for attempt in attempts] != list(range(1, len(attempts) + 1)):
        yield "its attempts are not numbered from 1 on"
    if len(attempts) > order.max_attempts + 1:
        yield f"has {len(attempts)} attempts"
    for attempt in attempts[:-1]:
        if attempt["outcome"] in {None, "succeeded"} or not attempt["error"]:
            yield f"attempt {attempt['number']} has no reason, and another came after it"
    for before, after in pairwise(attempts):
        yield from _handover(order, before, after)


def _handover(order: Order, before: Row, after: Row) -> Iterator[str]:
    """Between two attempts of one run: fences rise, and the earlier one's lease was over."""
    if after["fence"] <= before["fence"]:
        yield f"attempt {after['number']} has fence {after['fence']} after {before['fence']}"
    began = instant(after["started_at"])
    lease_end = instant(before["started_at"]) + (order.timeout_seconds + LEASE_MARGIN_SECONDS) * SECOND
    free_at = lease_end if before["outcome"] == "lost" else instant(before["finished_at"])
    if began < free_at:
        yield f"attempt {after['number']} started {free_at - began} ms before the lease of the one before was over"


def _starts_when_quiet(order: Order, row: Row) -> Iterator[str]:
    stretches = list(order.quiet)
    if order.ended is not None:
        stretches.append((order.ended[1], 1 << 60))
    if row["cause"] != "schedule":
        return
    for attempt in row["attempts"]:
        # One that ended before its target was called has started nothing; of one whose worker died nobody can tell.
        if attempt["outcome"] in {"not_started", "lost"}:
            continue
        for begin, end in stretches:
            if begin + order.tolerance < instant(attempt["started_at"]) < end - order.tolerance:
                yield f"attempt {attempt['number']} started at {attempt['started_at']}, while nothing was to start"


def _overlaps(order: Order, rows: Sequence[Row]) -> Iterator[str]:
    if order.may_overlap:
        return
    ran = sorted((row for row in rows if row["status"] in EXECUTED), key=lambda row: row["started_at"])
    for earlier, later in pairwise(ran):
        if instant(later["started_at"]) < instant(earlier["finished_at"]):
            yield f"{later['run_id']} started before {earlier['run_id']} had ended"


def witnesses(lines: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Complaints about what jobs themselves said in the functions' log: each attempt is executed once."""
    calls: Counter[tuple[str, int]] = Counter()
    bills: Counter[tuple[str, str]] = Counter()
    for line in lines:
        if line.get("message") == "beat":
            calls[line["run_id"], line["attempt"]] += 1
        elif line.get("message") == "billed":
            bills[line["run_id"], line["account"]] += 1
    for (run_id, attempt), times in calls.items():
        if times > 1:
            yield f"{run_id}: attempt {attempt} was executed {times} times"
    for (run_id, account), times in bills.items():
        if times > 1:
            yield f"{run_id}: {account} was billed {times} times"


def lags(rows: Iterable[Row], since: int, until: int) -> list[float]:
    """The lags, in seconds and sorted, of what was due in [since, until)."""
    return sorted(
        row["lag_seconds"] for row in rows if row["lag_seconds"] is not None and since <= instant(row["due_at"]) < until
    )


def _text(moment: int) -> str:
    return datetime.fromtimestamp(moment / SECOND).astimezone().isoformat()
