"""Shadow comparison: what a schedule would have fired, beside what another system's job said of itself.

Pure: nominal times and pings in, one verdict and an entry for each of them out. A ping of the end may come long after
the fire that started the job, so a nominal time and a run are paired within a tolerance, one to one and in order: as
many pairs as there can be, and among those the ones that lie closest together in sum.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Final

from cronfleet.domain.errors import Invalid
from cronfleet.domain.heartbeat import Ping, PingState
from cronfleet.domain.instant import DAY, MINUTE, SECOND, Instant, to_text

DEFAULT_TOLERANCE: Final = 5 * MINUTE
MAX_TOLERANCE: Final = DAY
LONGEST_RUN: Final = 2 * DAY
"""A start that has not been followed by an end for longer than this is not ended by what comes then."""

MAX_PAIRS: Final = 1_000_000
"""Pairs of a nominal time and a run within the tolerance that are weighed; more is refused."""


class State(StrEnum):
    """What became of one nominal time, or of one run elsewhere."""

    MATCHED = "matched"
    """The job ran elsewhere, near its nominal time."""
    FAILED = "failed"
    """The same, and it said that it failed: the time is right all the same."""
    MISSING = "missing"
    """Nothing was heard of it within the tolerance."""
    PENDING = "pending"
    """Nothing was heard of it yet, and the tolerance is not over."""
    UNEXPECTED = "unexpected"
    """A run elsewhere that no nominal time explains."""


class Verdict(StrEnum):
    """What the comparison comes to."""

    SAFE = "safe"
    """Every fire was seen, and nothing else."""
    DIFFERS = "differs"
    """A fire is missing, or a run was unexpected."""
    NO_PINGS = "no_pings"
    """Fires were due, and no ping has come at all."""
    NOTHING_DUE = "nothing_due"
    """No fire was due whose tolerance is over."""


@dataclass(frozen=True, slots=True)
class Outing:
    """One run of the job elsewhere, as its pings tell it. `state` is `start` while it has not said how it ended."""

    at: Instant
    state: PingState
    ended_at: Instant | None = None
    exit_code: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """A nominal time, a run elsewhere, or both, and a sentence on them."""

    state: State
    text: str
    nominal_at: Instant | None = None
    outing: Outing | None = None

    @property
    def at(self) -> Instant:
        """Where it stands in the order of time."""
        return self.nominal_at if self.nominal_at is not None else self.outing.at if self.outing else 0

    @property
    def lag_ms(self) -> int | None:
        """How much later than its nominal time the first ping came; negative: earlier."""
        if self.nominal_at is None or self.outing is None:
            return None
        return self.outing.at - self.nominal_at


@dataclass(frozen=True, slots=True)
class Summary:
    """The comparison in numbers. `fires` are those whose tolerance is over or that were seen; `seen` holds `failed`."""

    fires: int
    seen: int
    failed: int
    missing: int
    pending: int
    unexpected: int
    median_lag_ms: int | None
    largest_lag_ms: int | None
    """The lag that is furthest from zero."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every entry, oldest first, and what they come to."""

    entries: Sequence[Compared]
    summary: Summary
    verdict: Verdict
    text: str


def compare(
    nominals: Sequence[Instant],
    pings: Sequence[Ping],
    *,
    first_at: Instant,
    last_at: Instant,
    now: Instant,
    tolerance: int,
) -> Comparison:
    """What stands between `first_at` and `last_at`, both included.

    `nominals` and `pings`, both oldest first, may reach beyond: what lies there can explain what lies inside.
    """
    outings = outings_of(pings)
    pairs = paired(nominals, [outing.at for outing in outings], tolerance)
    partner = dict(pairs)
    taken = set(partner.values())
    entries = [
        _of_nominal(at, outings[partner[i]] if i in partner else None, now, tolerance) for i, at in enumerate(nominals)
    ]
    entries += [_unexpected(outing, nominals, tolerance) for j, outing in enumerate(outings) if j not in taken]
    inside = sorted((entry for entry in entries if first_at <= entry.at <= last_at), key=lambda entry: entry.at)
    summary = _summary(inside)
    return Comparison(inside, summary, *_verdict(summary))


# --- runs elsewhere --------------------------------------------------------------------------------------------


def outings_of(pings: Sequence[Ping]) -> list[Outing]:
    """The runs that `pings`, oldest first, tell of, by when each was first heard of.

    A start and the next end are one run; of several that are open the latest ends first, since one that died without a
    word must not end all that come after it. An end without a start is a run of its own.
    """
    found: list[Outing] = []
    open_places: list[int] = []
    for ping in pings:
        while open_places and ping.at - found[open_places[0]].at > LONGEST_RUN:
            open_places.pop(0)
        if ping.state is PingState.START:
            open_places.append(len(found))
            found.append(Outing(ping.at, ping.state, message=ping.message))
        elif open_places:
            place = open_places.pop()
            found[place] = Outing(found[place].at, ping.state, ping.at, ping.exit_code, ping.message)
        else:
            found.append(Outing(ping.at, ping.state, ping.at, ping.exit_code, ping.message))
    return found


# --- pairing ---------------------------------------------------------------------------------------------------


def paired(nominals: Sequence[Instant], times: Sequence[Instant], tolerance: int) -> list[tuple[int, int]]:
    """Positions in `nominals` and `times`, both ascending: each at most once, in order, no further than `tolerance`.

    As many pairs as possible; of those, the least sum of distances. `Invalid` when more than `MAX_PAIRS` come into
    question.
    """
    lows = [bisect_left(times, at - tolerance) for at in nominals]
    highs = [bisect_right(times, at + tolerance) for at in nominals]
    if sum(high - low for low, high in zip(lows, highs, strict=True)) > MAX_PAIRS:
        raise Invalid("tolerance_seconds", "is too wide for so many fires and pings; write less, or a shorter stretch")
    # A pair more is worth any distance that all pairs could have in sum.
    worth = (len(nominals) + 1) * (tolerance + 1)
    choices = _weighed(nominals, times, lows, highs, worth)
    return _traced(choices, lows, highs)


_SKIP_NOMINAL, _SKIP_TIME, _PAIR = range(3)


def _weighed(
    nominals: Sequence[Instant], times: Sequence[Instant], lows: Sequence[int], highs: Sequence[int], worth: int
) -> list[bytearray]:
    """For each nominal, and each count of times from its low to its high, the last choice of the best pairing."""
    choices: list[bytearray] = []
    before, before_low = [0], 0
    for at, low, high in zip(nominals, lows, highs, strict=True):
        row, chosen = list[int](), bytearray()
        for count in range(low, high + 1):
            best, choice = before[min(count - before_low, len(before) - 1)], _SKIP_NOMINAL
            if count > low:
                if row[-1] > best:
                    best, choice = row[-1], _SKIP_TIME
                place = min(count - 1 - before_low, len(before) - 1)
                together = before[place] + worth - abs(times[count - 1] - at)
                if together > best:
                    best, choice = together, _PAIR
            row.append(best)
            chosen.append(choice)
        choices.append(chosen)
        before, before_low = row, low
    return choices


def _traced(choices: Sequence[bytearray], lows: Sequence[int], highs: Sequence[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    count = highs[-1] if highs else 0
    for place in range(len(choices) - 1, -1, -1):
        count = min(count, highs[place])
        while choices[place][count - lows[place]] == _SKIP_TIME:
            count -= 1
        if choices[place][count - lows[place]] == _PAIR:
            count -= 1
            found.append((place, count))
    return found[::-1]


# --- entries and verdict ---------------------------------------------------------------------------------------


def _of_nominal(at: Instant, outing: Outing | None, now: Instant, tolerance: int) -> Compared:
    if outing is None:
        until = to_text(at + tolerance)
        if at + tolerance >= now:
            return Compared(State.PENDING, f"nothing was heard of it yet; it counts as missing after {until}", at)
        return Compared(State.MISSING, f"nothing was heard of it by {until}", at)
    lag = (outing.at - at) / SECOND
    said = f"heard of {abs(lag):g} s {'before' if lag < 0 else 'after'} its time"
    if outing.state is PingState.FAIL:
        code = "" if outing.exit_code is None else f" with exit code {outing.exit_code}"
        return Compared(State.FAILED, f"{said}; it failed there{code}", at, outing)
    if outing.state is PingState.START:
        said += "; it has not said how it ended"
    return Compared(State.MATCHED, said, at, outing)


def _unexpected(outing: Outing, nominals: Sequence[Instant], tolerance: int) -> Compared:
    place = bisect_left(nominals, outing.at)
    near = min(nominals[max(0, place - 1) : place + 1], key=lambda at: abs(at - outing.at), default=None)
    text = "this schedule names no time near it"
    if near is not None:
        taken = abs(near - outing.at) <= tolerance
        text = f"the nearest time that this schedule names is {to_text(near)}" + (
            ", and another ping goes with that" if taken else ""
        )
    return Compared(State.UNEXPECTED, text, outing=outing)


def _summary(entries: Sequence[Compared]) -> Summary:
    counts = Counter(entry.state for entry in entries)
    lags = [entry.lag_ms for entry in entries if entry.lag_ms is not None]
    seen = counts[State.MATCHED] + counts[State.FAILED]
    return Summary(
        fires=seen + counts[State.MISSING],
        seen=seen,
        failed=counts[State.FAILED],
        missing=counts[State.MISSING],
        pending=counts[State.PENDING],
        unexpected=counts[State.UNEXPECTED],
        median_lag_ms=round(median(lags)) if lags else None,
        largest_lag_ms=max(lags, key=abs) if lags else None,
    )


def _verdict(summary: Summary) -> tuple[Verdict, str]:
    said = f"{summary.seen} of {summary.fires} fires seen"
    failed = f"; {summary.failed} of them failed there" if summary.failed else ""
    if summary.missing or summary.unexpected:
        if not summary.seen and not summary.unexpected:
            return Verdict.NO_PINGS, f"{said}: no ping has come; does the old job call the schedule's heartbeat URL?"
        wrong = [f"{number} {word}" for number, word in _wrong(summary) if number]
        return Verdict.DIFFERS, f"{said}, {' and '.join(wrong)}{failed}: find out why before you turn it on"
    if not summary.fires:
        return Verdict.NOTHING_DUE, "no fire was due yet that could be compared"
    return Verdict.SAFE, f"{said}{failed}; safe to turn on"


def _wrong(summary: Summary) -> tuple[tuple[int, str], ...]:
    return (summary.missing, "missing"), (summary.unexpected, "unexpected")
