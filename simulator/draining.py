"""Drains in a world: the installation is held in the middle of everything, and released; nothing is announced then."""

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from cronfleet.domain.errors import Conflict
from cronfleet.domain.hold import Mode
from cronfleet.domain.hold_form import RUNNING
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import Tenant
from cronfleet.services.access import Caller
from cronfleet.services.holds import Holds
from simulator import population
from simulator.checkers.violation import Violation
from simulator.faults import MINUTE, SECOND
from simulator.history import Request
from simulator.loop import Process
from simulator.world import World

DRAINS_PER_HOUR: Final = 6
SHORTEST: Final = 30 * SECOND
LONGEST: Final = 6 * MINUTE
HOUR: Final = 60 * MINUTE

FOREVER: Final = 1 << 62


def drain_some(world: World, rng: random.Random, begun_at: int, calm_at: int) -> None:
    """Let an operator drain the installation now and then, and release it before the calm."""
    at = begun_at + 3 * MINUTE
    for _ in range(max(1, round((calm_at - begun_at) / HOUR * DRAINS_PER_HOUR))):
        at += rng.randint(MINUTE, 8 * MINUTE)
        until = at + rng.randint(SHORTEST, LONGEST)
        if until >= calm_at:
            break
        world.loop.at(at, partial(_drain, world, until))
        at = until
    # In the end somebody sees to it.
    world.loop.at(calm_at + SECOND, partial(_release, world))


def _drain(world: World, until: int) -> None:
    _asked(world, "hold", lambda holds, caller: holds.hold(caller, Mode.DRAIN, reason="drawn"))
    world.loop.at(until, partial(_release, world))


def _release(world: World) -> None:
    """An operator who has not heard that it is released asks again."""
    request = _asked(world, "release", _let_go)

    def look() -> None:
        if request.answer not in ("accepted", "refused"):
            _release(world)

    world.loop.after(MINUTE, look)


def _let_go(holds: Holds, caller: Caller) -> None:
    if holds.read()["status"] == RUNNING:
        raise Conflict("it is released already: an earlier request was carried out, and its answer lost")
    holds.release(caller, reason="drawn")


def _asked(world: World, action: str, change: Callable[[Holds, Caller], Any]) -> Request:
    tenant = population.TENANTS[0]
    request = Request(f"{action}-{world.loop.now}", tenant, "", action, world.loop.now)
    world.history.requests.append(request)
    caller = Caller(Tenant(tenant), "operator", request.request_id, role=Role.PLATFORM_ADMIN)

    def body(process: Process) -> Any:
        return change(Holds(store=world.wired(process), clock=process, ids=world.ids, shards=world.shards), caller)

    world.functions.invoke("api", body, lambda process: world.answered(request, process))
    return request


def check_drained(world: World) -> Iterator[Violation]:
    """After a hold that was accepted, and until any release is asked for, no shard's newest batch is another."""
    asked = [one for one in world.history.requests if one.action == "release" and not one.schedule_id]
    for request in world.history.requests:
        if request.action != "hold" or request.schedule_id or request.answer != "accepted":
            continue
        answered_at = request.answered_at or 0
        # One that was under way when this hold was asked for may have ended it.
        later = [one.asked_at for one in asked if (one.answered_at or FOREVER) > request.asked_at]
        until = min(later, default=FOREVER)
        for at, batch_id in world.history.announced:
            if answered_at < at < until:
                text = f"batch {batch_id} was announced; the hold returned at {answered_at}"
                yield Violation(at, "a hold was not obeyed", text)
