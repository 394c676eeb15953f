"""Whatever happens to a schedule, every fire has exactly one explanation, and it is what the ledger's rows say."""

from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cronfleet.domain.explanation import DETAILS
from cronfleet.domain.instant import MINUTE, SECOND, Instant, to_text
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.reason import Code
from cronfleet.domain.run import RunStatus
from cronfleet.domain.time_text import parse_moment
from cronfleet.services.freezing import Freezing, WholeTenant
from tests.support.builders import at
from tests.support.lived import ACME, ID, LivedWorld, spec

START = at("2026-12-01 02:00:03")
SPECS = [
    spec(10),
    spec(30, jitter_seconds=20),
    spec(60, overlap=Overlap.SKIP),
    spec(15, misfire=Misfire(MisfirePolicy.SKIP, grace_seconds=30)),
    spec(20, misfire=Misfire(MisfirePolicy.CATCH_UP, max=3, grace_seconds=30)),
    spec(10, misfire=Misfire(MisfirePolicy.CATCH_UP, max=9, grace_seconds=10, window_seconds=120, per_minute=4)),
    spec(10, after_pause=Misfire(MisfirePolicy.CATCH_UP, max=7, window_seconds=200, per_minute=6)),
    spec(20, start_at=START + 5 * MINUTE, end_at=START + 15 * MINUTE),
]
ROW_CODES = {
    RunStatus.SUCCEEDED: {Code.RAN},
    RunStatus.RUNNING: {Code.RUNNING},
    RunStatus.WAITING: {Code.RETRYING},
    RunStatus.QUEUED: {Code.QUEUED, Code.RESENT},
    RunStatus.DEAD: {Code.ATTEMPTS, Code.PERMANENT},
    RunStatus.CANCELLED: {Code.CANCELLED},
    RunStatus.SKIPPED: {Code.SUPERSEDED, Code.PAUSED, Code.OVERLAP, Code.NOT_ON},
    RunStatus.MISSED: {Code.MISSED},
    RunStatus.PAUSED: {Code.PAUSED},
    RunStatus.HELD: {Code.NOT_ON},
    RunStatus.SHADOW: {Code.SHADOW},
    RunStatus.FROZEN: {Code.FROZEN},
    RunStatus.REFUSED: {Code.NOT_ON, Code.TOO_OLD},
}
WITHOUT_ROW = {
    Code.NOT_DUE,
    Code.DUE,
    Code.QUEUED,
    Code.RESENT,
    Code.PAUSED,
    Code.TENANT_RATE,
    Code.MISSED,
    Code.NOT_ON,
    Code.SHADOW,
    Code.CATCHING_UP,
    Code.FROZEN,
}


class Record:
    """The test's own record of what the schedule was since when; it knows nothing of epochs."""

    def __init__(self) -> None:
        self.since: list[Instant] = []
        self.specs: list[Any] = []

    def note(self, now: Instant, wanted: Any) -> None:
        self.since.append(now)
        self.specs.append(wanted)

    def names(self, nominal_at: Instant) -> bool:
        # A fire belongs to the latest change that came strictly before it.
        position = bisect_right(self.since, nominal_at - 1) - 1
        wanted = self.specs[position] if position >= 0 else None
        if wanted is None:
            return False
        inside = (wanted.start_at or 0) <= nominal_at <= (wanted.end_at or nominal_at)
        return inside and nominal_at % (wanted.trigger.every_seconds * SECOND) == 0


def play(world: LivedWorld, record: Record, story: list[tuple[str, int]]) -> None:
    for action, number in story:
        ACTIONS[action](world, record, number)


def put(world: LivedWorld, record: Record, number: int) -> None:
    wanted = SPECS[number % len(SPECS)]
    before = record.specs[-1] if record.specs else None
    made = world.try_to(lambda: world.put(wanted))
    if made and (before is None or timing(before) != timing(wanted)):
        record.note(world.clock.now(), wanted)


def roll_back(world: LivedWorld, record: Record, number: int) -> None:
    version = 1 + number % 5
    old = world.store.get_definition(ACME.tenant.tenant_id, ID, version)
    before = record.specs[-1]
    made = world.try_to(lambda: world.schedules.roll_back(ACME, ID, version, lambda *_: None))
    if made and old is not None and timing(before) != timing(old.spec):
        record.note(world.clock.now(), old.spec)


def hold(world: LivedWorld, record: Record, number: int) -> None:
    """Delete it, and register it anew as held."""
    delete(world, record, number)
    wanted = SPECS[number % len(SPECS)]
    in_shadow = number % 2 == 0
    if world.try_to(lambda: world.schedules.create(ACME, ID, lambda *_: wanted, held=True, shadow=in_shadow)):
        record.note(world.clock.now(), wanted)


def shadow(world: LivedWorld, _: Record, number: int) -> None:
    world.try_to(lambda: world.schedules.shadow(ACME, ID, is_on=bool(number % 2)))


def delete(world: LivedWorld, record: Record, _: int) -> None:
    if world.try_to(lambda: world.schedules.delete(ACME, ID, reason="no more")):
        record.note(world.clock.now(), None)


def pause(world: LivedWorld, _: Record, number: int) -> None:
    until = world.clock.now() + number * 20 * SECOND if number % 2 else None
    world.try_to(lambda: world.schedules.pause(ACME, ID, reason="lunch", until=until))


def resume(world: LivedWorld, _: Record, number: int) -> None:
    missed = [None, Misfire(MisfirePolicy.FIRE_ONCE), Misfire(MisfirePolicy.CATCH_UP, max=5, per_minute=3)][number % 3]
    world.try_to(lambda: world.schedules.resume(ACME, ID, missed=missed))


def freezing(world: LivedWorld) -> Freezing:
    return Freezing(store=world.store, clock=world.clock, ids=world.ids)


def freeze(world: LivedWorld, _: Record, number: int) -> None:
    until = world.clock.now() + number * 20 * SECOND if number % 2 else None
    world.try_to(lambda: freezing(world).freeze(ACME, WholeTenant(), reason="the ledger moves", until=until))


def thaw(world: LivedWorld, _record: Record, _number: int) -> None:
    for form in freezing(world).list(ACME):
        world.try_to(lambda one=form["id"]: freezing(world).thaw(ACME, one))


ACTIONS: dict[str, Callable[[LivedWorld, Record, int], object]] = {
    "live": lambda world, _, number: world.live(5 + 7 * number),
    "outage": lambda world, _, number: world.outage(20 * number),
    "put": put,
    "roll back": roll_back,
    "delete": delete,
    "hold": hold,
    "shadow": shadow,
    "pause": pause,
    "resume": resume,
    "freeze": freeze,
    "thaw": thaw,
    "run": lambda world, _record, _number: world.try_to(lambda: world.runs.run_now(ACME, ID)),
    "lose": lambda world, _record, _number: world.lose_messages(),
    "fail": lambda world, _, number: setattr(world, "fails", bool(number % 2)),
    "die": lambda world, _, number: setattr(world, "dies", bool(number % 2)),
    "crowd": lambda world, _, number: world.crowd(number),
}
"""What may happen; each is given a number to vary by."""


def timing(wanted: Any) -> Any:
    return wanted and (wanted.trigger, wanted.start_at, wanted.end_at)


OVERTAKEN_INSIDE_A_RANGE = [("live", 1), ("hold", 3), ("live", 2), ("delete", 0)]
"""A fire that was claimed ahead is cancelled; its time lies in the middle of what the next life of the id held back."""

STORIES = st.lists(st.tuples(st.sampled_from(sorted(ACTIONS)), st.integers(0, 15)), min_size=1, max_size=14)


def instant(text: str) -> Instant:
    return parse_moment(text, "at").instant("at")


def check(world: LivedWorld, record: Record, limit: int) -> None:
    from_at, to_at = START - MINUTE, world.clock.now() + 2 * MINUTE
    first = -(-from_at // SECOND) * SECOND
    nominals = [moment for moment in range(first, to_at + 1, SECOND) if record.names(moment)]
    entries = world.entries(from_at, to_at, limit)
    stretches = [(instant(e["at"]), instant(e["until_nominal_at"] or e["at"])) for e in entries]
    for (_, end), (start, _) in pairwise(stretches):
        assert end < start, "two entries for one time, or out of order"
    starts = [start for start, _ in stretches]
    counted = dict.fromkeys(range(len(entries)), 0)
    for nominal_at in nominals:
        position = bisect_right(starts, nominal_at) - 1
        assert position >= 0, f"no entry for {to_text(nominal_at)}"
        assert nominal_at <= stretches[position][1], f"no entry for {to_text(nominal_at)}"
        counted[position] += 1
        agrees(world, nominal_at, entries[position])
    for position, entry in enumerate(entries):
        assert entry["count"] == counted[position] or (counted[position] == 0 and entry["run"]), entry
        assert set(entry["detail"]) <= set(DETAILS[Code(entry["code"])].split()), entry
    every_row_is_shown(world, entries, to_at)


def agrees(world: LivedWorld, nominal_at: Instant, entry: dict[str, Any]) -> None:
    """One time, asked for alone, is explained as the ledger's entry does, and as its row does."""
    alone = world.explain(nominal_at)
    assert (alone["code"], alone["is_decided"]) == (entry["code"], entry["is_decided"])
    assert alone["is_named"]
    assert (alone["run"] or {}).get("run_id") == (entry["run"] or {}).get("run_id")
    if alone["run"] is None:
        assert alone["code"] in WITHOUT_ROW
    else:
        assert Code(alone["code"]) in ROW_CODES[RunStatus(alone["run"]["status"])]


def every_row_is_shown(world: LivedWorld, entries: list[dict[str, Any]], to_at: Instant) -> None:
    shown = [run["run_id"] for entry in entries for run in (entry["run"], *entry["others"]) if run]
    stored = [row.key for row in world.store.state.runs.values() if row.key.is_scheduled]
    assert sorted(shown) == sorted(key.run_id for key in stored if key.nominal_at <= to_at)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(story=STORIES, limit=st.sampled_from([1, 3, 50]))
@example(story=OVERTAKEN_INSIDE_A_RANGE, limit=1)
@example(story=OVERTAKEN_INSIDE_A_RANGE, limit=50)
def test_every_fire_has_exactly_one_explanation_that_agrees_with_the_ledger(
    story: list[tuple[str, int]], limit: int
) -> None:
    world, record = LivedWorld(START), Record()
    play(world, record, [("put", 0), ("live", 3), *story])
    check(world, record, limit)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(story=STORIES)
def test_once_calm_every_fire_that_is_past_is_decided(story: list[tuple[str, int]]) -> None:
    world, record = LivedWorld(START), Record()
    play(world, record, [("put", 0), ("live", 3), *story])
    world.fails = world.dies = False
    thaw(world, record, 0)
    settled_at = world.clock.now()
    world.live(20 * 60)
    check(world, record, 50)
    for entry in world.entries(START, settled_at):
        assert entry["is_decided"] or entry["code"] in (Code.PAUSED, Code.NOT_ON, Code.SHADOW), entry
        if entry["code"] == Code.SHADOW:
            # A claim in shadow comes five minutes after the one before at the latest.
            assert entry["is_decided"] or instant(entry["at"]) > world.clock.now() - 6 * MINUTE, entry
