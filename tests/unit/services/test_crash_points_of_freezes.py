"""Every crash point of a freeze: where it is written, where it is obeyed, and where a thaw lets everything go on.

A freeze is there whole or not at all; nothing starts while it lasts, whoever dies; and each nominal has one entry.
"""

from collections.abc import Callable

import pytest

from cronfleet.domain.freeze import FreezeList, TenantScope
from cronfleet.domain.instant import SECOND
from cronfleet.domain.lease import SLOT
from cronfleet.domain.misfire import NONE_AFTER_PAUSE, Misfire, MisfirePolicy
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.services.changing import Answer, Once
from cronfleet.services.freezing import FreezePatch, Freezing, WholeTenant
from tests.support.builders import TENANT, at, every
from tests.support.crashing import API, DISPATCHER, WORKER, CrashingWorld, Moment
from tests.support.lived import ACME, ID

TWO = at("2026-12-01 02:00")
KEY = Once("key-1", "digest-1")
STEPS = 4
"""Ticks in which every function has met the freeze, or its end."""


class FreezingWorld(CrashingWorld):
    """A schedule of every ten seconds, twenty-two seconds past two; what is due at thirty is claimed."""

    def __init__(self, after_pause: Misfire = NONE_AFTER_PAUSE) -> None:
        super().__init__(TWO - 15 * SECOND)
        self.freezing = Freezing(store=self._ports(API)["store"], clock=self.clock, ids=self.ids)
        policies = Policies(timeout_seconds=20, after_pause=after_pause)
        spec = Spec(every(10), HandlerTarget("billing.nightly"), policies=policies, start_at=TWO)
        self.schedules.create(ACME, ID, lambda *_: spec)
        self.live(35)
        self.clock.advance(2 * SECOND)
        self.held: list[tuple[int, int]] = []
        """From when to when nothing may start."""
        self.since: int | None = None
        """Since when it is frozen still."""

    def freeze(self, once: Once | None = None) -> Answer:
        return self.freezing.freeze(ACME, WholeTenant(), reason="the ledger moves", once=once)

    def freeze_for(self, seconds: int) -> str:
        """Frozen, and so much later."""
        freeze_id = str(self.freeze().form["id"])
        since = self.clock.now()
        self.live(seconds)
        self.held.append((since, self.clock.now()))
        return freeze_id

    def thaw_all(self) -> None:
        """An attempt whose worker died may have begun, and waits for the thaw."""
        if self.since is not None:
            self.held.append((self.since, self.clock.now()))
            self.freezing.thaw(ACME, self.kept.freezes[0].freeze_id)

    def step_on(self) -> None:
        self.step(self.clock.now() - self.clock.now() % SLOT + SLOT)

    @property
    def kept(self) -> FreezeList:
        return self.store.get_freeze_list(TENANT)

    def check(self) -> None:
        self.check_once()
        for since, until in self.held:
            assert not [made for made in self.targets.made if since < made.began_at < until]


def claimed() -> FreezingWorld:
    """A freeze came when a fire was claimed."""
    world = FreezingWorld()
    world.freeze()
    world.since = world.clock.now()
    return world


def frozen() -> FreezingWorld:
    """A freeze has lasted for a minute, and the next claim notes what it has held back since."""
    world = FreezingWorld()
    world.freeze_for(50)
    return world


def thawed() -> FreezingWorld:
    """A thaw has just returned."""
    world = FreezingWorld()
    world.freezing.thaw(ACME, world.freeze_for(100))
    return world


def thawed_and_wanted() -> FreezingWorld:
    """The same, and what the freeze held back is wanted."""
    world = FreezingWorld(Misfire(MisfirePolicy.CATCH_UP, max=3))
    world.freezing.thaw(ACME, world.freeze_for(100))
    return world


SCENES: dict[str, Callable[[], FreezingWorld]] = {
    "claimed": claimed,
    "frozen": frozen,
    "thawed": thawed,
    "thawed, and wanted": thawed_and_wanted,
}


def moments(scene: Callable[[], FreezingWorld], function: str) -> list[Moment]:
    world = scene()
    stops = world.plan(all_moments=True)
    for _ in range(STEPS):
        world.step_on()
    return [one for one in stops.heard if one.function == function]


@pytest.mark.parametrize("function", [DISPATCHER, WORKER])
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_whoever_dies_while_it_is_frozen_or_thawed_loses_and_starts_nothing(
    scene: Callable[[], FreezingWorld], function: str
) -> None:
    stopped = moments(scene, function)
    for one in stopped:
        world = scene()
        world.plan((function, one.number), all_moments=True)
        for _ in range(STEPS):
            world.step_on()
        world.thaw_all()
        world.recover()
        world.check()
    assert stopped or (function, scene) == (WORKER, frozen)


def api_moments(ask: Callable[[FreezingWorld], object], prepare: Callable[[FreezingWorld], object]) -> range:
    world = FreezingWorld()
    prepare(world)
    stops = world.plan(all_moments=True)
    world.invoke(API, lambda: ask(world))
    return range(len(stops.heard))


@pytest.mark.parametrize("once", [None, KEY], ids=["without a key", "with a key"])
def test_a_freeze_that_dies_anywhere_is_there_whole_or_not_at_all(once: Once | None) -> None:
    for number in api_moments(lambda world: world.freeze(once), lambda _: None):
        world = FreezingWorld()
        world.plan((API, number), all_moments=True)
        world.invoke(API, lambda world=world: world.freeze(once))
        freezes = world.kept.freezes
        assert world.store.get_freeze_directory().may_hold(TENANT, world.clock.now()) is bool(freezes)
        assert len([one for one in world.store.state.audit.values() if one.action == "freeze"]) == len(freezes)
        if once is not None:
            again = world.freeze(once)
            assert [one.freeze_id for one in world.kept.freezes] == [again.form["id"]]
        world.recover()
        world.check_once()


def test_a_thaw_that_dies_anywhere_is_asked_for_again_and_done_once() -> None:
    def prepare(world: FreezingWorld) -> str:
        return str(world.freeze().form["id"])

    ids = [prepare(FreezingWorld())]
    for number in api_moments(lambda world: world.freezing.thaw(ACME, ids[0]), prepare):
        world = FreezingWorld()
        freeze_id = prepare(world)
        world.plan((API, number), all_moments=True)
        world.invoke(API, lambda world=world, one=freeze_id: world.freezing.thaw(ACME, one))
        assert world.freezing.thaw(ACME, freeze_id).form["status"] == "ended"
        assert [one.scope for one in world.kept.freezes] == [TenantScope(TENANT)]
        assert len([one for one in world.store.state.audit.values() if one.action == "thaw"]) == 1
        world.recover()
        world.check_once()


def test_an_edit_that_dies_anywhere_changes_the_freeze_whole_or_not_at_all() -> None:
    patch = FreezePatch("it takes longer", moves_end=True, until=TWO + 600 * SECOND)

    def prepare(world: FreezingWorld) -> str:
        return str(world.freeze().form["id"])

    ids = [prepare(FreezingWorld())]
    for number in api_moments(lambda world: world.freezing.edit(ACME, ids[0], patch), prepare):
        world = FreezingWorld()
        freeze_id = prepare(world)
        world.plan((API, number), all_moments=True)
        world.invoke(API, lambda world=world, one=freeze_id: world.freezing.edit(ACME, one, patch))
        (freeze,) = world.kept.freezes
        assert (freeze.reason, freeze.until) in (("the ledger moves", None), (patch.reason, patch.until))
