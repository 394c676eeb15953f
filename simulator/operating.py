"""Operations in a world: callers ask for backfills in the middle of everything, and pause, resume and cancel them."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from cronfleet.domain.backfill import Mode, Order
from cronfleet.domain.errand import ErrandKind
from cronfleet.domain.lease import SLOT
from cronfleet.domain.operation import Kind, Status, Verb
from cronfleet.domain.schedule import Status as ScheduleStatus
from cronfleet.domain.tenant import Tenant
from cronfleet.services.access import Caller
from cronfleet.services.backfill_source import BackfillSource
from cronfleet.services.backfills import AskedBackfill, Backfills
from cronfleet.services.operation_doer import OperationDoer
from cronfleet.services.operations import Operations
from simulator.faults import MINUTE, SECOND
from simulator.history import Request
from simulator.loop import Process
from simulator.world import World

HOUR: Final = 60 * MINUTE
BACKFILLS_PER_HOUR: Final = 20
VERBS_PER_HOUR: Final = 12
LONGEST: Final = 30 * MINUTE
"""Of the past that is run again."""

PATIENCE: Final = 10 * MINUTE
"""Of callers, once calm. A tenant whose live runs take all that it may have runs no backfill as long as they do."""


def operate(world: World, rng: random.Random, begun_at: int, calm_at: int) -> None:
    """Let callers ask for backfills, twice each, and turn those that there are; once calm, all of them go on."""
    world.doers[ErrandKind.OPERATION] = partial(_doer, world)
    first_at = begun_at + 4 * MINUTE
    hours = (calm_at - begun_at) / HOUR
    for _ in range(max(2, round(hours * BACKFILLS_PER_HOUR))):
        at = rng.randint(first_at, max(first_at, calm_at - MINUTE))
        world.loop.at(at, partial(_ask_for_some, world, random.Random(rng.random()), at))
    for _ in range(round(hours * VERBS_PER_HOUR)):
        at = rng.randint(first_at, max(first_at, calm_at))
        verb = rng.choice([Verb.PAUSE, Verb.RESUME, Verb.CANCEL])
        world.loop.at(at, partial(_turn_one, world, random.Random(rng.random()), verb))
    world.loop.at(calm_at + MINUTE, partial(_resume_all, world))
    world.loop.at(calm_at + PATIENCE, partial(_cancel_what_yields, world))


def _ask_for_some(world: World, rng: random.Random, at: int) -> None:
    known = sorted(
        key for key, timer in world.store.state.timers.items() if timer.status is not ScheduleStatus.CANCELLED
    )
    if not known:
        return
    tenant, name = rng.choice(known)
    asked = _drawn(rng, name, at)
    for delay in (0, rng.randint(0, 5 * MINUTE)):
        world.loop.after(delay, partial(_ask_for, world, tenant, asked))


def _drawn(rng: random.Random, name: str, at: int) -> AskedBackfill:
    to_at = at - at % SECOND - 30 * SECOND
    return AskedBackfill(
        to_at - rng.randint(MINUTE, LONGEST) // SECOND * SECOND,
        to_at,
        name,
        order=rng.choice(list(Order)),
        mode=rng.choice(list(Mode)),
        max_concurrent=rng.choice([2, 10, 50]),
        rate_per_minute=rng.choice([None, None, 120]),
    )


def _doer(world: World, process: Process) -> OperationDoer:
    store = world.wired(process)
    sources: dict[Kind, Any] = {Kind.BACKFILL: BackfillSource(store)}
    return OperationDoer(store=store, clock=process, ids=world.ids, telemetry=world.notes, sources=sources)


def _ask_for(world: World, tenant: str, asked: AskedBackfill) -> None:
    def change(process: Process, caller: Caller) -> Any:
        store = world.wired(process)
        return Backfills(store=store, clock=process, ids=world.ids, shards=world.shards).create(caller, asked)

    _ask(world, tenant, "backfill", change)


def _turn_one(world: World, rng: random.Random, verb: Verb) -> None:
    known = sorted(world.store.state.operations)
    if known:
        _turn(world, *rng.choice(known), verb)


def _resume_all(world: World) -> None:
    for (tenant, operation_id), operation in sorted(world.store.state.operations.items()):
        if operation.status is Status.PAUSED:
            _turn(world, tenant, operation_id, Verb.RESUME)


def _cancel_what_yields(world: World) -> None:
    """Callers whose tenants have little more than live runs need give up; everybody else's come to their ends."""
    is_tight = world.rate.burst < world.rate.per_second * SLOT // SECOND
    for (tenant, operation_id), operation in sorted(world.store.state.operations.items()):
        if not operation.is_over and (is_tight or tenant in world.limits):
            _turn(world, tenant, operation_id, Verb.CANCEL)


def _turn(world: World, tenant: str, operation_id: str, verb: Verb) -> None:
    def change(process: Process, caller: Caller) -> Any:
        store = world.wired(process)
        operations = Operations(store=store, clock=process, ids=world.ids, shards=world.shards, sources={})
        return operations.turn(caller, operation_id, verb)

    _ask(world, tenant, f"{verb}_operation", change)


def _ask(world: World, tenant: str, action: str, change: Callable[[Process, Caller], Any]) -> None:
    number = len(world.history.requests)
    request = Request(f"{action}-{number}-{world.loop.now}", tenant, "", action, world.loop.now)
    world.history.requests.append(request)
    caller = Caller(Tenant(tenant), "key", request.request_id)
    body = partial(_carry_out, change, caller)
    world.functions.invoke("api", body, lambda process: world.answered(request, process))


def _carry_out(change: Callable[[Process, Caller], Any], caller: Caller, process: Process) -> Any:
    return change(process, caller)
