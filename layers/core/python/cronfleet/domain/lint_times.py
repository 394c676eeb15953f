"""Checks of times: steps that start again, every minute, crowded minutes, fires far away, intervals that drift."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from cronfleet.domain.cron_words import duration_words, listed
from cronfleet.domain.crowded import names_midnight_sharp
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant, to_text
from cronfleet.domain.lint_cron import CronLook
from cronfleet.domain.trigger import IntervalTrigger, Trigger, fires
from cronfleet.domain.warning import Warning, WarningCode  # noqa: A004 - the word that callers see

FAR: Final = 366 * DAY
CALM_MINUTE: Final = "17"
"""What is suggested instead of minute 0; as good as any other, but that few choose it."""

_FIELDS: Final = (("minute", 0, 60, "hour", "m"), ("hour", 0, 24, "day", "h"), ("day of month", 1, 31, "month", "d"),
                  ("month", 1, 12, "year", ""), ("day of week", 0, 7, "week", ""))  # fmt: skip
_STEP: Final = re.compile(r"(\*|\d+(?:-\d+)?)/(\d+)", re.ASCII)


def steps(look: CronLook) -> Iterator[Warning]:
    """Steps over a whole field that do not divide it."""
    for (name, low, cycle, larger, unit), text in zip(_FIELDS, look.texts[:5], strict=True):
        for item in text.split(","):
            match = _STEP.fullmatch(item)
            if match and (said := _restarts(match[1], int(match[2]), low, cycle)):
                instead = f'; for every {match[2]}{unit}, whatever the {larger}, use {{"every": "{match[2]}{unit}"}}'
                useful = unit and int(match[2]) > 1
                yield Warning(
                    WarningCode.STEP_RESTARTS,
                    f"The step of {name} `{item}` starts again with each {larger}: {said}{instead if useful else ''}",
                )


def _restarts(start: str, step: int, low: int, cycle: int) -> str | None:
    """What happens at the end of the field; `None` where the step goes on over it, or the range ends early."""
    first, _, last = start.partition("-")
    begin = low if first == "*" else int(first)
    if last and (begin, int(last)) != (low, low + cycle - 1):
        return None
    found = range(begin, low + cycle, step)
    if step == 1 or (len(found) > 1 and cycle % step == 0):
        return None
    if len(found) == 1:
        return f"it is so large that {begin} is all it names"
    if (low, cycle) == (1, 31):
        return f"in some months the last of its days is less than {step} days before day {begin}"
    return f"after {found[-1]} comes {begin}, {begin + cycle - found[-1]} later and not {step}"


def every_minute(look: CronLook) -> Iterator[Warning]:
    """`* 2 * * *`: sixty times where one was meant, probably."""
    fields, hour, month_day = look.fields, look.texts[1], look.texts[2]
    if len(fields.minutes) < 60:
        return
    if len(fields.hours) < 24 and not re.search(r"\d-\d", hour):
        said = f"60 times in each hour that it names ({60 * len(fields.hours)} times a day)"
        meant = look.with_times("0")
    elif len(fields.hours) == 24 and month_day[0] not in "*?":
        said, meant = "1,440 times on each day that it names", look.with_times("0", "0")
    else:
        return
    yield Warning(
        WarningCode.EVERY_MINUTE,
        f"The minute is `{look.texts[0]}`, so it fires {said}; for once, write `{meant}`",
    )


def crowded(look: CronLook) -> Iterator[Warning]:
    """Midnight sharp."""
    if names_midnight_sharp(look.fields):
        yield Warning(
            WarningCode.CROWDED_TIME,
            "It fires at midnight sharp, as very many schedules do, so that what it calls is at its busiest then: "
            "set `policies.spread` to `auto`, or `policies.jitter_seconds`, or choose another minute, such as "
            f"`{look.with_times(CALM_MINUTE)}`",
        )


def far_away(trigger: Trigger, after: Instant) -> Iterator[Warning]:
    """The next fire is more than a year away."""
    nominal_at = trigger.next_after(after)
    if nominal_at is not None and nominal_at - after > FAR:
        yield Warning(WarningCode.FAR_AWAY, f"The next fire is more than a year away: {to_text(nominal_at)}")


def interval(trigger: IntervalTrigger, after: Instant) -> Iterator[Warning]:
    """Whole hours or more from a whole minute on look like fixed times, and are not where they do not divide a day."""
    every = trigger.every_seconds * SECOND
    meant_as_times = every >= HOUR and every % MINUTE == 0 and trigger.anchor_at % MINUTE == 0
    if meant_as_times and DAY % every and every % DAY:
        ahead = listed(to_text(nominal_at) for nominal_at in islice(fires(trigger, after), 3))
        yield Warning(
            WarningCode.INTERVAL_DRIFTS,
            f"Every {duration_words(trigger.every_seconds)} does not come at the same times each day, since it does "
            f"not divide a day; next at {ahead}. For fixed times of day use a cron expression",
        )
