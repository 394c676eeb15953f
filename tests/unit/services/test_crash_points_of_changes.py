"""Every crash point of the callers' writes, with and without Idempotency-Key, alone and in pairs.

A write is all or nothing wherever the API dies; asked again with its key it gives the same answer and is done once;
and whatever dies with or after it, each nominal has exactly one entry, as `CrashingWorld` sums it up.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from cronfleet.domain.attempt import Result
from cronfleet.domain.errors import CronfleetError
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.run import Outcome, RunKey, RunStatus
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.ports.target import Call
from cronfleet.services.changing import Answer, Once
from cronfleet.services.runs import CANCEL_RUN, Override
from tests.support.builders import at, every
from tests.support.crashing import API, CrashingWorld, Moment, told
from tests.support.lived import ACME, ID

TWO = at("2026-12-01 02:00")
KEY = Once("key-1", "digest-1")
DIGESTION = 40 * SECOND
"""Within this every function has met what the write left."""

RETRY = Retry(max_attempts=6, backoff=Backoff(BackoffKind.FIXED, base_seconds=30))
NIGHTLY = Spec(
    every(30),
    HandlerTarget("billing.nightly"),
    policies=Policies(retry=RETRY, overlap=Overlap.SKIP, timeout_seconds=20),
    start_at=TWO,
)
ANOTHER = replace(NIGHTLY, start_at=None)

Prepare = Callable[[CrashingWorld], object]
Ask = Callable[[CrashingWorld, Once | None], Answer | None]


def fails_at_two(call: Call) -> Result:
    fails = call.key.nominal_at == TWO and call.attempt == 1
    return Result(Outcome.FAILED, "it was to fail") if fails else Result(Outcome.SUCCEEDED)


def world_of(prepare: Prepare) -> CrashingWorld:
    """Twenty-two seconds past two: the run of two o'clock waits for its retry and has the gate, the next is claimed."""
    world = CrashingWorld(TWO - 15 * SECOND, fails_at_two)
    world.schedules.create(ACME, ID, lambda *_: NIGHTLY)
    world.live(35)
    world.clock.advance(2 * SECOND)
    prepare(world)
    return world


def as_it_is(_: CrashingWorld) -> None: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A write that a caller asks for. `again`: what asking again does, once it is done: nothing, or the same anew."""

    ask: Ask
    prepare: Prepare = as_it_is
    takes_key: bool = True
    again: str = "refused"

    def with_keys(self) -> list[Once | None]:
        return [None, KEY] if self.takes_key else [None]


def edit(world: CrashingWorld, **changes: Any) -> Answer:
    return world.schedules.edit(ACME, ID, lambda *_: replace(NIGHTLY, **changes))


def pause(world: CrashingWorld, once: Once | None = None, seconds: int | None = None) -> Answer:
    until = None if seconds is None else TWO + seconds * SECOND
    return world.schedules.pause(ACME, ID, reason="month end", until=until, once=once)


def paused(world: CrashingWorld) -> None:
    pause(world)
    world.live(2 * MINUTE // SECOND)


def deleted(world: CrashingWorld) -> None:
    world.schedules.delete(ACME, ID)


def cancel(world: CrashingWorld, once: Once | None, status: RunStatus | None) -> Answer:
    """The run that has this status, or the one that is claimed and has no row."""
    found = [row.key for row in world.store.state.runs.values() if row.status is status]
    forms = [entry.after for entry in world.store.state.audit.values() if entry.action == CANCEL_RUN]
    done = [RunKey.parse(form["run_id"]) for form in forms if form is not None]
    key = [*done, *found, RunKey("acme", ID, 1, TWO + 30 * SECOND)][0]
    return world.runs.cancel(ACME, key.run_id, once=once)


def held(world: CrashingWorld, *, shadow: bool = True) -> None:
    """Its life goes on under the same id, held; two minutes of it are past."""
    deleted(world)
    world.schedules.create(ACME, ID, lambda *_: ANOTHER, held=True, shadow=shadow)
    world.live(2 * MINUTE // SECOND)


def shadow(world: CrashingWorld, once: Once | None, is_on: bool) -> Answer:
    return world.schedules.shadow(ACME, ID, is_on=is_on, once=once)


def resume(missed: Misfire | None) -> Asked:
    return Asked(lambda world, once: world.schedules.resume(ACME, ID, missed=missed, once=once), paused)


WRITES = {
    "create": Asked(lambda world, once: world.schedules.create(ACME, "another", lambda *_: ANOTHER, once)),
    "create anew": Asked(lambda world, once: world.schedules.create(ACME, ID, lambda *_: ANOTHER, once), deleted),
    "create as held": Asked(
        lambda world, once: world.schedules.create(ACME, "another", lambda *_: ANOTHER, once, held=True, shadow=True)
    ),
    "shadow on": Asked(
        lambda world, once: shadow(world, once, True), lambda world: held(world, shadow=False), again="nothing"
    ),
    "shadow off": Asked(lambda world, once: shadow(world, once, False), held, again="nothing"),
    "turn on from shadow": Asked(lambda world, once: world.schedules.resume(ACME, ID, once=once), held),
    "retime in shadow": Asked(lambda world, _: edit(world, trigger=every(20)), held, takes_key=False, again="nothing"),
    "delete in shadow": Asked(lambda world, _: world.schedules.delete(ACME, ID), held, takes_key=False),
    "put new": Asked(
        lambda world, _: world.schedules.put(ACME, "another", lambda *_: ANOTHER), takes_key=False, again="nothing"
    ),
    "put instead": Asked(
        lambda world, _: world.schedules.put(ACME, ID, lambda *_: replace(NIGHTLY, payload=1)),
        takes_key=False,
        again="nothing",
    ),
    "edit": Asked(lambda world, _: edit(world, payload=2), takes_key=False, again="nothing"),
    "retime": Asked(lambda world, _: edit(world, trigger=every(20)), takes_key=False, again="nothing"),
    "roll back": Asked(
        lambda world, once: world.schedules.roll_back(ACME, ID, 1, lambda *_: None, once=once),
        lambda world: edit(world, trigger=every(20), payload=2),
        again="nothing",
    ),
    "pause": Asked(pause, again="anew"),
    "pause until": Asked(lambda world, once: pause(world, once, 47), again="anew"),
    "resume": resume(None),
    "resume, skip": resume(Misfire(MisfirePolicy.SKIP)),
    "resume, fire once": resume(Misfire(MisfirePolicy.FIRE_ONCE)),
    "resume, catch up": resume(Misfire(MisfirePolicy.CATCH_UP, max=3)),
    "delete": Asked(lambda world, _: world.schedules.delete(ACME, ID), takes_key=False),
    "run now": Asked(lambda world, once: world.runs.run_now(ACME, ID, once=once), again="anew"),
    "run now, with payload": Asked(
        lambda world, once: world.runs.run_now(ACME, ID, override=Override(3), once=once), again="anew"
    ),
    "cancel a claimed run": Asked(lambda world, once: cancel(world, once, None)),
    "cancel a waiting run": Asked(lambda world, once: cancel(world, once, RunStatus.WAITING)),
    "cancel a queued run": Asked(
        lambda world, once: cancel(world, once, RunStatus.QUEUED), lambda world: world.runs.run_now(ACME, ID)
    ),
}
ALL = [
    pytest.param(write, key, id=name + (", key" if key else ""))
    for name, write in WRITES.items()
    for key in write.with_keys()
]


def asked(world: CrashingWorld, write: Asked, key: Once | None) -> tuple[bool, Answer | None]:
    """Whether the API lived to answer, and the answer; an answer may be an error."""
    answered = world.invoke(API, lambda: (True, write.ask(world, key)))
    return answered or (False, None)


def facts(world: CrashingWorld) -> dict[str, Any]:
    """All that a write may change, but the gate: it is let go afterwards, or taken from a run that is over."""
    tables = ("timers", "definitions", "runs", "run_timers", "audit", "audit_heads", "idempotency")
    return {table: dict(getattr(world.store.state, table)) for table in tables}


def undisturbed(write: Asked, key: Once | None, *, all_moments: bool) -> tuple[list[Moment], Any, Answer | None]:
    """The moments of the write, what it leaves, and its answer."""
    world = world_of(write.prepare)
    stops = world.plan(all_moments=all_moments)
    _, answer = asked(world, write, key)
    return stops.heard, facts(world), answer


@pytest.mark.parametrize(("write", "key"), ALL)
def test_a_write_is_whole_or_not_made_wherever_the_api_dies_and_made_once_when_it_is_asked_for_again(
    write: Asked, key: Once | None
) -> None:
    moments, whole, answer = undisturbed(write, key, all_moments=True)
    for moment in moments:
        world = world_of(write.prepare)
        nothing = facts(world)
        world.plan((API, moment.number), all_moments=True)
        with told(world):
            assert asked(world, write, key) == (False, None)
            left = facts(world)
            assert left in (nothing, whole), "half a write was left"
            world.live(3)
            _ask_again(world, write, key, left == whole, answer)
            doubles = left == whole and key is None and write.again == "anew"
            assert len(world.store.state.audit) == len(whole["audit"]) + doubles
            world.recover()
            world.check()


def _ask_again(world: CrashingWorld, write: Asked, key: Once | None, is_done: bool, answer: Answer | None) -> None:
    if is_done and key is None and write.again == "refused":
        with pytest.raises(CronfleetError):
            asked(world, write, key)
        return
    _, again = asked(world, write, key)
    if key is not None:
        assert answer == again or not is_done
        assert asked(world, write, key) == (True, again)
    elif write.again == "nothing" and is_done:
        assert answer is not None
        assert again is not None
        assert answer.etag == again.etag


@pytest.mark.parametrize(("write", "key"), ALL)
def test_a_write_may_die_anywhere_and_then_any_function_or_the_same_write_anywhere(
    write: Asked, key: Once | None
) -> None:
    for first in undisturbed(write, key, all_moments=False)[0]:
        for second in _insisting(write, key, first):
            _insisting(write, key, first, second)


def _insisting(write: Asked, key: Once | None, *stops: Moment) -> list[Moment]:
    """A caller asks until there is an answer; where anything can be stopped after that, until all is digested."""
    world = world_of(write.prepare)
    heard = world.plan(*((stop.function, stop.number) for stop in stops))
    began_at = world.clock.now()
    with told(world):
        for _ in range(len(stops) + 1):
            try:
                is_answered, _ = asked(world, write, key)
            except CronfleetError:
                assert key is None, "a request that is repeated with its key is not refused"
                break
            if is_answered:
                break
            world.live(3)
        while not heard.is_over:
            world.live(5)
        world.recover()
        world.check()
        if key is not None:
            assert len(world.store.state.idempotency) == 1
    return [one for one in heard.heard if one.at <= began_at + DIGESTION]


SAME_SCENE = [name for name, write in WRITES.items() if write.prepare is as_it_is]


@pytest.mark.parametrize("first", SAME_SCENE)
def test_a_write_may_die_anywhere_and_then_another_write_anywhere(first: str) -> None:
    for one in undisturbed(WRITES[first], None, all_moments=False)[0]:
        for second in SAME_SCENE:
            for two in undisturbed(WRITES[second], None, all_moments=False)[0]:
                _one_after_the_other(WRITES[first], one, WRITES[second], two)


def _one_after_the_other(first: Asked, one: Moment, second: Asked, two: Moment) -> None:
    world = world_of(first.prepare)
    stops = world.plan((API, one.number), (API, two.number))
    with told(world):
        for write in (first, second, second):
            try:
                asked(world, write, None)
            except CronfleetError:
                continue  # The first was made, and the second cannot follow it: it may end before its moment.
        stops.forgo()
        world.recover()
        world.check()
