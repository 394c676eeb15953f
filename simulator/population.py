"""Who uses the world: schedules of every kind, and callers who change them."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from cronfleet.domain.calendar import LAST_DAY, CalendarRule, Mode
from cronfleet.domain.calendar_form import parse_content
from cronfleet.domain.clock_policy import Gap, Repeat
from cronfleet.domain.instant import Instant
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.spread import Spread
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.trigger import CronTrigger, IntervalTrigger, OneShotTrigger, Trigger
from cronfleet.services.access import Caller
from cronfleet.services.calendars import Calendars
from cronfleet.services.runs import Runs
from cronfleet.services.schedules import Schedules
from simulator.faults import SECOND
from simulator.guarding import guarded

TENANTS: Final = ("acme", "globex", "initech")
CRONS: Final = (
    "* * * * *",
    "*/5 * * * *",
    "*/7 * * * *",
    "3-59/4 * * * *",
    "0,30 0-23 * * *",  # fixed-time: what is chosen for changes of the clock counts
    "15 * * * *",
    "0 */2 * * *",
)
ZONES: Final = ("UTC", "Asia/Kolkata", "America/New_York", "Australia/Lord_Howe")
CHOSEN: Final = {"America/New_York": (Gap.SKIP, Repeat.BOTH), "Australia/Lord_Howe": (None, Repeat.SECOND)}
"""What is chosen for changes of the clock, by zone."""
INTERVALS: Final = (5, 10, 13, 30, 60, 90, 300)
"""Seconds."""

SPREAD_SECONDS: Final = 7
"""Who has a jitter of so many is spread instead, over as many: one offset for all its fires."""

CREW: Final = "crew"
CREWS: Final = ("blue", "red")
"""A label that every schedule has, and its values."""

CALENDAR: Final = "days"
"""The name of each tenant's calendar."""
CALENDARS: Final[Mapping[str, Mapping[str, Any]]] = {
    "plain": {"weekend": ["sunday"]},
    "monday off": {"holidays": ["2026-11-30"]},
    "monday frozen": {"holidays": ["2026-12-02"], "freezes": ["2026-11-30"]},
    "tuesday off": {"holidays": ["2026-12-01"]},
    "long holidays": {"holidays": [{"from": "2026-11-24", "to": "2026-11-30"}], "workdays": ["2026-11-29"]},
    "no weekend": {"weekend": []},
}
"""What a calendar may say around the days in which every world lies, by its description."""
CALENDAR_DAYS: Final[Mapping[Mode, tuple[str, ...]]] = {
    Mode.EXCLUDE: ("* * *", "30 * *", "L * *"),
    Mode.BUSINESS_DAYS: ("* * *", "30 * *", "* * mon"),
    Mode.ROLL_FORWARD: ("28 * *", "* * sun", "30 * *", "* * sat,sun"),
    Mode.ROLL_BACK: ("1 * *", "30 * *", "L * *"),
    Mode.NTH_BUSINESS_DAY: ("* * *",),
}
"""The days of each mode's crons: those that come to the day on which every world begins, by some calendar."""
CALENDAR_ZONES: Final = (*ZONES, "Pacific/Auckland", "Pacific/Honolulu")
"""Zones in which another day begins while the world goes on, or has begun."""

Change = Callable[[Schedules, Runs, Caller, str], Any]
"""What a caller does to the schedule of that id."""


def drawn_trigger(rng: random.Random, now: int) -> Trigger:
    """A trigger that fires within the hour."""
    kind = rng.random()
    if kind < 0.5:
        every = rng.choice(INTERVALS)
        return IntervalTrigger(every, now - now % SECOND - rng.randint(0, every) * SECOND)
    if kind < 0.85:
        expression, zone = rng.choice(CRONS), rng.choice(ZONES)
        return CronTrigger(expression, zone, *CHOSEN.get(zone, ()))
    at = now - now % SECOND + rng.randint(5, 1_800) * SECOND
    return OneShotTrigger(at, str(at), None)


def drawn_missed(rng: random.Random, policy: MisfirePolicy) -> Misfire:
    """What is wanted of missed time: some or all of it, however old or not, fast or slowly."""
    window = rng.choice([None, None, 120, 900])
    return Misfire(policy, rng.randint(1, 70), window_seconds=window, per_minute=rng.choice([2, 6, 20, 60, 600]))


def calendared_trigger(rng: random.Random) -> Trigger:
    """A cron whose days its tenant's calendar has a say in."""
    mode = rng.choice(list(CALENDAR_DAYS))
    nth = rng.choice([1, 2, -1, -2, 21]) if mode is Mode.NTH_BUSINESS_DAY else 0
    rule = CalendarRule(CALENDAR, 0, mode, nth, pinned=rng.random() < 0.15)
    times = rng.choice(["*/5 *", "*/7 *", "3-59/4 *", "0,30 *", "15 */2"])
    days = rng.choice(CALENDAR_DAYS[mode])
    return CronTrigger(f"{times} {days}", rng.choice(CALENDAR_ZONES), calendar=rule)


def put_calendar(description: str) -> Callable[[Calendars, Caller], Any]:
    """A new version of the tenant's calendar."""
    content = parse_content({**CALENDARS[description], "description": description}, covers_until=LAST_DAY)
    return lambda calendars, caller: calendars.put(caller, CALENDAR, lambda _now: content)


def drawn_spec(rng: random.Random, now: int) -> Spec:
    """A definition with policies of every kind."""
    policy = rng.choice(list(MisfirePolicy))
    misfire = replace(drawn_missed(rng, policy), grace_seconds=rng.choice([0, 30, 60, 300]))
    backoff = Backoff(rng.choice(list(BackoffKind)), rng.randint(1, 20), 120)
    retry = Retry(rng.randint(1, 4), backoff)
    overlap, jitter_seconds = rng.choice([Overlap.ALLOW, Overlap.ALLOW, Overlap.SKIP]), rng.choice([0, 0, 7, 40])
    policies = Policies(
        misfire,
        overlap,
        jitter_seconds=jitter_seconds,
        spread=Spread(jitter_seconds) if jitter_seconds == SPREAD_SECONDS else None,
        retry=retry,
        timeout_seconds=rng.choice([20, 60, 120]),
        after_pause=drawn_missed(rng, rng.choice([MisfirePolicy.SKIP, *MisfirePolicy])),
    )
    # Not drawn, so that what is drawn beside it stays as it was.
    labels = {CREW: CREWS[now // SECOND % 2]}
    return guarded(Spec(drawn_trigger(rng, now), HandlerTarget("sim.job"), policies=policies, labels=labels), now)


def always(spec: Spec) -> Callable[[Spec | None, Instant], Spec]:
    """A spec maker that has made up its mind."""
    return lambda _current, _now: spec


def create(spec: Spec) -> Change:
    """Put a schedule, whether it is there or not."""
    return lambda schedules, _runs, caller, name: schedules.put(caller, name, always(spec))


def hold(spec: Spec, *, shadow: bool) -> Change:
    """Register a schedule as held, whether it is there or not."""
    return lambda schedules, _runs, caller, name: schedules.put(caller, name, always(spec), held=True, shadow=shadow)


def shadow(is_on: bool) -> Change:
    """Have a held schedule note what it would fire, or no longer."""
    return lambda schedules, _runs, caller, name: schedules.shadow(caller, name, is_on=is_on)


def retime(trigger: Trigger) -> Change:
    """An edit of the trigger alone."""

    def made(current: Spec | None, _now: Instant) -> Spec:
        return replace(current, trigger=trigger) if current else Spec(trigger, HandlerTarget("sim.job"))

    return lambda schedules, _runs, caller, name: schedules.edit(caller, name, made)


def describe(text: str) -> Change:
    """An edit that does not touch the trigger."""

    def made(current: Spec | None, _now: Instant) -> Spec:
        return replace(current or Spec(CronTrigger("* * * * *", "UTC"), HandlerTarget("sim.job")), description=text)

    return lambda schedules, _runs, caller, name: schedules.edit(caller, name, made)


def repace(per_minute: int) -> Change:
    """An edit of how fast missed fires are caught up."""

    def made(current: Spec | None, _now: Instant) -> Spec:
        spec = current or Spec(CronTrigger("* * * * *", "UTC"), HandlerTarget("sim.job"))
        misfire = replace(spec.policies.misfire, per_minute=per_minute)
        return replace(spec, policies=replace(spec.policies, misfire=misfire))

    return lambda schedules, _runs, caller, name: schedules.edit(caller, name, made)


def label(text: str) -> Change:
    """An edit of the labels alone."""

    def made(current: Spec | None, _now: Instant) -> Spec:
        spec = current or Spec(CronTrigger("* * * * *", "UTC"), HandlerTarget("sim.job"))
        return replace(spec, labels={**spec.labels, "note": text})

    return lambda schedules, _runs, caller, name: schedules.edit(caller, name, made)


def roll_back(version: int) -> Change:
    """An earlier version, brought back."""
    return lambda schedules, _runs, caller, name: schedules.roll_back(caller, name, version, lambda _spec, _now: None)


def pause(until: int | None) -> Change:
    """A pause, with an end of its own or without."""
    return lambda schedules, _runs, caller, name: schedules.pause(caller, name, reason="maintenance", until=until)


@dataclass(frozen=True)
class Resume:
    """A resume that wants what `missed` says of the fires held back; `None`: what the schedule says."""

    missed: Misfire | None

    def __call__(self, schedules: Schedules, _runs: Runs, caller: Caller, name: str) -> Any:
        return schedules.resume(caller, name, missed=self.missed)


def delete() -> Change:
    """A cancellation."""
    return lambda schedules, _runs, caller, name: schedules.delete(caller, name)


def run_now() -> Change:
    """A run besides what the trigger names."""
    return lambda _schedules, runs, caller, name: runs.run_now(caller, name)


def drawn_change(rng: random.Random, now: int) -> tuple[str, Change]:
    """What a caller may come up with, and the word for it."""
    kind = rng.random()
    if kind < 0.25:
        return "pause", pause(now + rng.randint(5, 900) * SECOND if rng.random() < 0.4 else None)
    if kind < 0.50:
        policies = [None, MisfirePolicy.FIRE_ONCE, MisfirePolicy.CATCH_UP]
        policy = rng.choice(policies)
        return "resume", Resume(None if policy is None else drawn_missed(rng, policy))
    if kind < 0.65:
        return "retime", retime(drawn_trigger(rng, now))
    if kind < 0.70:
        return "edit", describe(f"edited at {now}")
    if kind < 0.75:
        return "edit", repace(rng.choice([3, 30]))
    if kind < 0.88:
        return "run", run_now()
    if kind < 0.94:
        return "cancel", delete()
    return "create", create(drawn_spec(rng, now))
