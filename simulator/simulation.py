"""One seed from beginning to end: a stretch of faults, then calm, then the checkers."""

import random
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from cronfleet.domain.rate import Rate
from cronfleet.domain.schedule import Timer
from cronfleet.domain.zone_release import ZoneRelease
from simulator import cancelling, doomed, draining, freezing, operating, population, quotas, zone_change
from simulator import faults as fault_kinds
from simulator.checkers.deletion import check_deletion
from simulator.checkers.dependencies import check_dependencies
from simulator.checkers.promises import Spans, first_violation
from simulator.checkers.statuses import TERMINAL
from simulator.checkers.violation import Violation
from simulator.checkers.zone_change import check_zone_change
from simulator.families import found_family
from simulator.faults import MINUTE, NONE, drawn
from simulator.world import START, World
from simulator.zone_change import Upgrade

HOUR: Final = 60 * MINUTE
CALM_STEP: Final = 15 * MINUTE
LONGEST_CALM: Final = 12 * HOUR
"""Calm in which everything must have settled: a message lost again and again comes at doubling intervals."""

LAST_STRETCH: Final = 20 * MINUTE
"""Once settled: a stretch in which lag is bounded and everything is on time."""

CALENDARED: Final = 0.4
"""How many schedules have a calendar, in the worlds that have calendars: half of them."""
CALENDAR_UPDATES: Final = 3

CHANGES_PER_HOUR: Final = 60
HELD_CHANGES_PER_HOUR: Final = 30
VERSIONS_PER_HOUR: Final = 120
"""Asked of any tenant's schedules: a third of them are there."""
MANY_CHANGES_PER_HOUR: Final = 600
"""Likewise, besides the others, in worlds of `many_changes`."""


FROZEN_WORLDS: Final = 0.6
CANCELLING_WORLDS: Final = 0.6
"""In so many worlds callers freeze and thaw."""

OPERATED_WORLDS: Final = 0.5
"""In so many worlds callers have dates of the past run again."""

WIDE_RATE: Final = Rate(100, 2_500)

ALWAYS: Final = frozenset({"tight_rate", "limits", "clocks_set_at_work", "many_changes"})
"""What a world can be asked to have: no tenant's rate is wide; some have a limit of runs at once; where clocks are set
at all, some are while jobs work.
"""


@dataclass
class Report:
    """What came of one seed."""

    seed: int
    digest: str
    violation: Violation | None
    faults: Counter[str]
    kinds: list[str]
    fires: int
    rows: Counter[str]
    reasons: Counter[str]
    requests: Counter[str]
    invocations: Counter[str]
    lags: list[int] = field(repr=False)
    calm_minutes: int = 0
    dead_letters: Counter[str] = field(default_factory=Counter)
    """Messages that came to a dead-letter queue, by the function that failed."""


def simulate(  # noqa: PLR0913 - what else may be in a world, each by its name
    seed: int,
    hours: float,
    schedules: int,
    allowed: Collection[str] = fault_kinds.KINDS,
    *,
    zone_release: bool = False,
    deletion: bool = False,
    families: bool = False,
    drains: bool = False,
    always: Collection[str] = (),
    longest_calm: int = LONGEST_CALM,
) -> Report:
    """Run the world of `seed` for `hours` of faults and as much calm as it needs; the same seed, the same report.

    With `zone_release` another release of the zone data is deployed meanwhile; with `deletion` a tenant more is there,
    and deleted meanwhile; with `families` one whose schedules run after one another; with `drains` the installation is
    drained now and then. What is `always` there, of `ALWAYS`, is not left to the dice. A world that does not settle
    within `longest_calm` (ms) is judged as it is then.
    """
    rng = random.Random(f"{seed}/plan")
    stormy = round(hours * HOUR)
    calm_at = START + stormy
    faults = drawn(rng, START, calm_at, allowed) if allowed else NONE
    rate = rng.choice([_tight_rate(schedules), WIDE_RATE])
    if "tight_rate" in always:
        rate = _tight_rate(schedules)
    if families:
        rate = WIDE_RATE  # A stall makes many wait that are due at different seconds: the pace is for other worlds.
    limits = _limits(random.Random(f"{seed}/limits"), schedules, every_world="limits" in always)
    world = World(seed, faults, rate, limits=limits)
    world.weather.sets_clocks_at_work = "clocks_set_at_work" in always
    _inhabit(world, rng, schedules, calm_at, stops_some=not zone_release)
    if "many_changes" in always:
        _change_often(world, random.Random(f"{seed}/changes"), schedules, calm_at)
    upgrade = zone_change.drawn(random.Random(f"{seed}/zones"), START, calm_at) if zone_release else None
    if upgrade is not None:
        _upgrade(world, upgrade)
    family = found_family(world, random.Random(f"{seed}/kin"), START, calm_at) if families else None
    if drains:
        draining.drain_some(world, random.Random(f"{seed}/drains"), START, calm_at)
    told = doomed.doom(world, random.Random(f"{seed}/doom"), START, calm_at) if deletion else None
    world.loop.run_until(calm_at)
    world.weather.calm()
    _let_all_go_on(world)
    settled_at = _settle(world, calm_at, longest_calm)
    end_at = world.loop.now + LAST_STRETCH
    world.loop.run_until(end_at)
    spans = Spans(calm_at, settled_at, end_at)
    wrongs = [] if told is None else _doom_of(world, told, end_at)
    wrongs += draining.check_drained(world)
    wrongs += [] if family is None else check_dependencies(world, family, settled_at)
    violation = min([one for one in (first_violation(world, spans), *wrongs) if one], default=None, key=_when)
    if upgrade is not None:
        broken = check_zone_change(world, upgrade, spans)
        found = [one for one in (violation, *broken) if one is not None]
        violation = min(found, default=None, key=lambda one: one.at)
    return _report(world, seed, violation, faults.kinds, (settled_at - calm_at) // MINUTE)


def _inhabit(world: World, rng: random.Random, schedules: int, calm_at: int, *, stops_some: bool) -> None:
    """Schedules and callers. With `stops_some` callers freeze, cancel and run the past again in some worlds: where the
    zone data changes every local time must run, and the oracle of dates knows one release alone.
    """
    seed = world.seed
    _populate(world, rng, schedules, calm_at)
    _limit_schedules(world, random.Random(f"{seed}/quotas"), schedules, calm_at)
    _populate_held(world, random.Random(f"{seed}/held"), schedules, calm_at)
    if (freezes := random.Random(f"{seed}/freezes")).random() < FROZEN_WORLDS and stops_some:
        freezing.freeze_some(world, freezes, START, calm_at)
    if (cancels := random.Random(f"{seed}/cancels")).random() < CANCELLING_WORLDS and stops_some:
        cancelling.cancel_some(world, cancels, START, calm_at)
    _bring_back(world, random.Random(f"{seed}/versions"), schedules, calm_at)
    if (asking := random.Random(f"{seed}/operations")).random() < OPERATED_WORLDS and stops_some:
        operating.operate(world, asking, START, calm_at)


def _limit_schedules(world: World, rng: random.Random, schedules: int, calm_at: int) -> None:
    """In half of the worlds tenants may not have all that they ask for; in half, they come from before counting."""
    if rng.random() < 0.5:
        quotas.limit_schedules(world, rng, dict.fromkeys(population.TENANTS, schedules // len(population.TENANTS) + 1))
    if rng.random() < 0.5:
        world.loop.at(rng.randint(START + 2 * MINUTE, calm_at), partial(quotas.forget_counting, world))


def _when(violation: Violation) -> int:
    return violation.at


def _doom_of(world: World, told: doomed.Doom, end_at: int) -> list[Violation]:
    """What is broken of the promises about the deleted tenant, which other promises are not about."""
    doomed.set_apart(world, told)
    return list(check_deletion(world, told, end_at))


def _tight_rate(schedules: int) -> Rate:
    """What a tenant's share of so many schedules needs on a good day, and little more."""
    return Rate(max(1, schedules // 10), 2)


def _limits(rng: random.Random, schedules: int, *, every_world: bool) -> dict[str, int]:
    """In half of the worlds some tenants have a limit of runs at once: what they need on a good day, or little more."""
    if rng.random() < 0.5 and not every_world:
        return {}
    limited = rng.sample(population.TENANTS, rng.randint(1, len(population.TENANTS)))
    return {tenant: max(2, rng.choice([schedules // 4, schedules // 2])) for tenant in limited}


def _upgrade(world: World, upgrade: Upgrade) -> None:
    """Another release comes, in one function after the other; schedules in its zone wait for it."""
    world.changes_zone_data = True
    world.store.state.zone_release = ZoneRelease(zone_change.BEFORE, START)
    world.functions.deployment = lambda run: upgrade.run(world.loop.now, run)
    for number in range(zone_change.MOVERS):
        at = START + number * 20_000
        spec = upgrade.spec(number)
        name = zone_change.name_of(number)
        world.loop.at(at, partial(world.ask, population.TENANTS[0], name, "create", population.create(spec)))


def _populate(world: World, rng: random.Random, schedules: int, calm_at: int) -> None:
    """Schedules are created in the first minutes; callers change them until the calm."""
    calendars = random.Random(f"{world.seed}/calendars")
    has_calendars = calendars.random() < 0.5
    names = [(rng.choice(population.TENANTS), f"job-{number:04}") for number in range(schedules)]
    for tenant, name in names:
        at = START + rng.randint(0, 2 * MINUTE)
        spec = population.drawn_spec(rng, at)
        if has_calendars and calendars.random() < CALENDARED:
            spec = replace(spec, trigger=population.calendared_trigger(calendars))
        world.loop.at(at, partial(world.ask, tenant, name, "create", population.create(spec)))
    if has_calendars:
        _put_calendars(world, calendars, calm_at)
    for _ in range(round((calm_at - START) / HOUR * CHANGES_PER_HOUR)):
        at = rng.randint(START + MINUTE, calm_at)
        tenant, name = rng.choice(names)
        action, change = population.drawn_change(rng, at)
        world.loop.at(at, partial(world.ask, tenant, name, action, change))


def _populate_held(world: World, rng: random.Random, schedules: int, calm_at: int) -> None:
    """Beside them, some that are registered as held, most of them in shadow; callers change and turn on those too."""
    names = [(rng.choice(population.TENANTS), f"held-{number:04}") for number in range(max(1, schedules // 4))]
    for tenant, name in names:
        at = START + rng.randint(0, 2 * MINUTE)
        spec = population.drawn_spec(rng, at)
        change = population.hold(spec, shadow=rng.random() < 0.8)
        world.loop.at(at, partial(world.ask, tenant, name, "hold", change))
    for _ in range(round((calm_at - START) / HOUR * HELD_CHANGES_PER_HOUR)):
        at = rng.randint(START + MINUTE, calm_at)
        tenant, name = rng.choice(names)
        action, change = _held_change(rng, at)
        world.loop.at(at, partial(world.ask, tenant, name, action, change))


def _held_change(rng: random.Random, now: int) -> tuple[str, population.Change]:
    kind = rng.random()
    if kind < 0.4:
        return "shadow", population.shadow(rng.random() < 0.7)
    if kind < 0.5:
        return "retime", population.retime(population.drawn_trigger(rng, now))
    if kind < 0.6:
        return "run", population.run_now()
    if kind < 0.7:
        return "resume", population.Resume(None)
    if kind < 0.85:
        return "cancel", population.delete()
    return "hold", population.hold(population.drawn_spec(rng, now), shadow=True)


def _bring_back(world: World, rng: random.Random, schedules: int, calm_at: int) -> None:
    """Callers change what schedules say, and bring earlier versions back."""
    for _ in range(round((calm_at - START) / HOUR * VERSIONS_PER_HOUR)):
        at = rng.randint(START + 3 * MINUTE, calm_at)
        tenant, name = rng.choice(population.TENANTS), f"job-{rng.randrange(schedules):04}"
        action, change = _version_change(rng, at)
        world.loop.at(at, partial(world.ask, tenant, name, action, change))


def _change_often(world: World, rng: random.Random, schedules: int, calm_at: int) -> None:
    """Callers change what is in the middle of something: of a pause, a catch-up, a deferral."""
    for _ in range(round((calm_at - START) / HOUR * MANY_CHANGES_PER_HOUR)):
        at = rng.randint(START + 3 * MINUTE, calm_at)
        tenant, name = rng.choice(population.TENANTS), f"job-{rng.randrange(schedules):04}"
        action, change = population.drawn_change(rng, at)
        world.loop.at(at, partial(world.ask, tenant, name, action, change))


def _version_change(rng: random.Random, now: int) -> tuple[str, population.Change]:
    kind = rng.random()
    if kind < 0.2:
        return "edit", population.label(f"at {now}")
    if kind < 0.4:
        return "retime", population.retime(population.drawn_trigger(rng, now))
    return "rollback", population.roll_back(rng.randint(1, 4))


def _put_calendars(world: World, rng: random.Random, calm_at: int) -> None:
    """Each tenant has a calendar from the beginning on, and puts new versions of it until the calm."""
    for tenant in population.TENANTS:
        first, *others = rng.sample(sorted(population.CALENDARS), 1 + CALENDAR_UPDATES)
        world.loop.at(START, partial(world.ask_calendar, tenant, population.put_calendar(first)))
        for description in others:
            at = rng.randint(START + MINUTE, calm_at)
            world.loop.at(at, partial(world.ask_calendar, tenant, population.put_calendar(description)))


def _let_all_go_on(world: World) -> None:
    """Callers resume what is paused, so that every nominal that was held back gets its entry."""
    for tenant, name in sorted(world.store.state.timers):
        world.loop.after(2 * MINUTE, partial(world.ask, tenant, name, "resume", population.Resume(None)))


def _settle(world: World, calm_at: int, longest_calm: int) -> int:
    """Let the calm last until all that was due before it has ended; the moment from which on all must be well."""
    deadline = calm_at + 3 * MINUTE
    while world.loop.now < calm_at + longest_calm:
        world.loop.run_until(world.loop.now + CALM_STEP)
        if not _is_unsettled(world, deadline):
            break
    return world.loop.now


def _is_unsettled(world: World, before: int) -> bool:
    """Whether a row from before has not ended, something is still to be caught up, or books owe what was claimed."""
    state = world.store.state
    if any(timer.backlog is not None or _waits(timer, before) for timer in state.timers.values()):
        return True
    if any(row.status.value not in TERMINAL and key.nominal_at <= before for key, row in world.rows.items()):
        return True
    owed = [state.batches[batch_id] for batch_id in state.batches if batch_id.shard in state.books]
    open_ids = {batch_id for books in state.books.values() for batch_id in books.open}
    return any(str(batch.batch_id) in open_ids and batch.claimed_at <= before for batch in owed)


def _waits(timer: Timer, before: int) -> bool:
    """Whether a fire from before waits for its place."""
    return timer.reserved_at is not None and timer.nominal_at is not None and timer.nominal_at <= before


def _report(world: World, seed: int, violation: Violation | None, kinds: list[str], calm_minutes: int) -> Report:
    rows, reasons = Counter[str](), Counter[str]()
    for row in world.rows.values():
        rows[row.status.value] += 1
        if row.reason is not None:
            reasons[row.reason.code.value] += 1
    lags = sorted(call.row_started_at - call.due_at for call in world.history.calls if call.attempt == 1)
    for key, row in sorted(world.rows.items()):
        world.history.note(key.run_id, row.status.value, row.fence, row.started_at)
    return Report(
        seed,
        world.history.digest,
        violation,
        world.history.faults,
        kinds,
        fires=world.history.counts["fires"],
        rows=rows,
        reasons=reasons,
        requests=Counter(f"{request.action} {request.answer}" for request in world.history.requests),
        invocations=world.history.invocations,
        lags=lags,
        calm_minutes=calm_minutes,
        dead_letters=world.history.dead_letters,
    )
