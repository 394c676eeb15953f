"""The doomed: a tenant that runs like any other, until a platform admin deletes it in the middle of everything."""

import random
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from cronfleet.domain.tenant import Tenant
from cronfleet.services.access import Caller
from cronfleet.services.tenant_life import TenantLife
from simulator import population
from simulator.faults import MINUTE
from simulator.history import Call, Request
from simulator.loop import Process
from simulator.world import World

DOOMED: Final = "doomed"
PLATFORM: Final = "platform"
SCHEDULES: Final = 6
ASKED_AGAIN: Final = 2 * MINUTE
"""A platform admin that heard nothing, or that it did not work, asks again after this."""


@dataclass
class Doom:
    """What happened to it, from outside: its requests and calls, and when its deletion returned."""

    deleted_at: int | None = None
    requests: list[Request] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


def doom(world: World, rng: random.Random, begun_at: int, calm_at: int) -> Doom:
    """Let the tenant live in `world`, which has just begun, and be deleted before the calm."""
    told = Doom()
    for tenant in (DOOMED, PLATFORM):
        world.store.state.tenants[tenant] = Tenant(tenant, rev=1, change_id=f"made-{tenant}")
    for number in range(SCHEDULES):
        at = begun_at + rng.randint(0, 2 * MINUTE)
        name, spec = f"doomed-{number}", population.drawn_spec(rng, at)
        world.loop.at(at, partial(world.ask, DOOMED, name, "create", population.create(spec)))
        if rng.random() < 0.3:
            # What was deleted before is removed as well.
            gone_at = rng.randint(at + MINUTE, calm_at)
            world.loop.at(gone_at, partial(world.ask, DOOMED, name, "cancel", population.delete()))
    world.loop.at(rng.randint(begun_at + 5 * MINUTE, calm_at), partial(_delete, world, told))
    return told


def _delete(world: World, told: Doom) -> None:
    """Ask for the deletion, until it is said that it has begun."""
    if told.deleted_at is not None:
        return
    request = Request(f"delete-{world.loop.now}", PLATFORM, "", "delete_tenant", world.loop.now)
    world.history.requests.append(request)
    home = Caller(Tenant(PLATFORM), "root", request.request_id)
    caller = Caller(Tenant(DOOMED), home.credential, home.request_id, home_tenant=PLATFORM)

    def body(process: Process) -> Any:
        life = TenantLife(store=world.wired(process), clock=process, ids=world.ids)
        return life.delete(caller, DOOMED, "contract ended")

    def heard(process: Process) -> None:
        world.answered(request, process)
        if process.error is None and told.deleted_at is None:
            told.deleted_at = world.loop.now

    world.functions.invoke("api", body, heard)
    world.loop.after(ASKED_AGAIN, partial(_delete, world, told))


def set_apart(world: World, told: Doom) -> None:
    """Take what was noted of the tenant out of the history: other promises are about what is still there."""
    history = world.history
    told.requests += [one for one in history.requests if one.tenant == DOOMED]
    told.calls += [one for one in history.calls if one.tenant == DOOMED]
    history.requests[:] = [one for one in history.requests if one.tenant != DOOMED]
    history.calls[:] = [one for one in history.calls if one.tenant != DOOMED]
    history.row_writes[:] = [one for one in history.row_writes if not one[1].startswith(f"{DOOMED}~")]
    for rows in history.noted_by.values():
        rows.difference_update([run_id for run_id in rows if run_id.startswith(f"{DOOMED}~")])
    for won in history.won.values():
        for name in [name for name in won if f"/{DOOMED}~" in name]:
            del won[name]
    # A dead message of it has no row to end in.
    world.runs.dead[:] = [one for one in world.runs.dead if one[1].key.tenant != DOOMED]
