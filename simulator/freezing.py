"""Freezes in a world: a tenant, a label or a tier is frozen in the middle of everything, and thawed, or ends."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from cronfleet.domain.role import Role
from cronfleet.domain.tenant import DEFAULT_TIER, Tenant
from cronfleet.services.access import Caller
from cronfleet.services.freezing import Asked, Freezing, Labels, WholeTenant, WholeTier
from simulator import population
from simulator.faults import MINUTE, SECOND
from simulator.history import Frozen, Request
from simulator.loop import Process
from simulator.world import World

FREEZES_PER_HOUR: Final = 12
SHORTEST: Final = 10 * SECOND
LONGEST: Final = 8 * MINUTE
HOUR: Final = 60 * MINUTE


def freeze_some(world: World, rng: random.Random, begun_at: int, calm_at: int) -> None:
    """Let callers freeze until the calm, by which every freeze has an end; half are thawed before."""
    for _ in range(max(1, round((calm_at - begun_at) / HOUR * FREEZES_PER_HOUR))):
        at = rng.randint(begun_at + 3 * MINUTE, max(begun_at + 3 * MINUTE, calm_at - MINUTE))
        until = at + rng.randint(SHORTEST, LONGEST)
        until = min(until - until % SECOND, calm_at - calm_at % SECOND)
        tenant, asked = rng.choice(population.TENANTS), _drawn_scope(rng)
        thawed_at = rng.randint(at, until) if rng.random() < 0.5 else None
        world.loop.at(at, partial(_freeze, world, tenant, asked, until, thawed_at))


def _drawn_scope(rng: random.Random) -> Asked:
    kind = rng.random()
    if kind < 0.4:
        return WholeTenant()
    if kind < 0.85:
        return Labels({population.CREW: rng.choice(population.CREWS)})
    return WholeTier(DEFAULT_TIER)


def _freeze(world: World, tenant: str, asked: Asked, until: int, thawed_at: int | None) -> None:
    frozen = Frozen(
        _request(world, tenant, "freeze"),
        None if isinstance(asked, WholeTier) else tenant,
        dict(asked.labels) if isinstance(asked, Labels) else None,
        until,
    )
    world.history.frozen.append(frozen)

    def change(freezing: Freezing, caller: Caller) -> None:
        frozen.freeze_id = freezing.freeze(caller, asked, reason="drawn", until=until).form["id"]

    _ask(world, frozen.request, change)
    if thawed_at is not None:
        world.loop.at(thawed_at, partial(_thaw, world, frozen))


def _thaw(world: World, frozen: Frozen) -> None:
    if not frozen.freeze_id:
        return  # Whoever asked for it has not heard that there is one.
    request = _request(world, frozen.request.tenant, "thaw")
    frozen.thaws.append(request)
    _ask(world, request, lambda freezing, caller: freezing.thaw(caller, frozen.freeze_id))


def _request(world: World, tenant: str, action: str) -> Request:
    request = Request(f"{action}-{len(world.history.frozen)}-{world.loop.now}", tenant, "", action, world.loop.now)
    world.history.requests.append(request)
    return request


def _ask(world: World, request: Request, change: Callable[[Freezing, Caller], Any]) -> None:
    caller = Caller(Tenant(request.tenant), "key", request.request_id, role=Role.PLATFORM_ADMIN)

    def body(process: Process) -> Any:
        return change(Freezing(store=world.wired(process), clock=process, ids=world.ids), caller)

    world.functions.invoke("api", body, lambda process: world.answered(request, process))
