"""A frozen schedule, lived through: what starts, what is noted, what waits for the thaw, and what is said of it."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.attempt import Result
from cronfleet.domain.errors import Conflict, Forbidden, Invalid, NotFound
from cronfleet.domain.freeze import OBEYED_AFTER
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant, to_text
from cronfleet.domain.late import Cause
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.reason import Code
from cronfleet.domain.role import Role
from cronfleet.domain.run import Run, RunStatus
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.target import Call, Pulse
from cronfleet.ports.tenants import PutTenant
from cronfleet.services.access import Caller
from cronfleet.services.freezing import Asked, FreezePatch, Freezing, Labels, WholeTenant, WholeTier
from tests.support.builders import at, cron
from tests.support.lived import ACME, ID, LivedWorld, spec

TWO = at("2026-12-01 02:00")
PLATFORM = replace(ACME, role=Role.PLATFORM_ADMIN)
OTHER = Caller(Tenant("other"), "eve", "request-2")
NEWEST = Misfire(MisfirePolicy.FIRE_ONCE)


class FrozenWorld(LivedWorld):
    """A lived world with somebody in it who freezes."""

    def __init__(self, seconds: int = 60, labels: dict[str, str] | None = None, **changes: Any) -> None:
        super().__init__(TWO - 10 * SECOND)
        self.called: list[Instant] = []
        self.freezing = Freezing(store=self.store, clock=self.clock, ids=self.ids)
        self.put(replace(spec(seconds, **changes), labels=labels or {}))

    def call(self, call: Call, pulse: Pulse) -> Result:
        self.called.append(self.clock.now())
        return super().call(call, pulse)

    def freeze(self, asked: Asked = WholeTenant(), caller: Caller = ACME, **said: Any) -> str:  # noqa: B008 - frozen
        return str(self.freezing.freeze(caller, asked, reason="the ledger moves", **said).form["id"])

    def thaw(self, freeze_id: str, caller: Caller = ACME) -> None:
        self.freezing.thaw(caller, freeze_id, "it has moved")

    @property
    def rows(self) -> list[Run]:
        return sorted(self.store.state.runs.values(), key=lambda row: (row.key.nominal_at, row.key.cause))

    def nominals(self, *statuses: RunStatus) -> list[Instant]:
        return [row.key.nominal_at for row in self.rows if row.status in statuses]

    @property
    def ran(self) -> list[Instant]:
        return self.nominals(RunStatus.SUCCEEDED)

    def count(self, status: RunStatus, seconds: int) -> int:
        """How many nominals the rows of `status` stand for."""
        found = [row for row in self.rows if row.status is status]
        return sum((row.last_nominal_at - row.key.nominal_at) // (seconds * SECOND) + 1 for row in found)


def frozen_at(world: FrozenWorld, minutes: int, **said: Any) -> str:
    world.live(minutes * 60)
    return world.freeze(**said)


# --- what starts, and what is noted ------------------------------------------------------------------------------


def test_nothing_starts_after_a_freeze_has_returned_and_every_fire_is_in_the_ledger() -> None:
    world = FrozenWorld()
    frozen_at(world, 3)
    returned_at = world.clock.now()
    world.live(10 * 60)
    assert max(world.called) < returned_at
    assert world.ran == [TWO, TWO + MINUTE, TWO + 2 * MINUTE]
    assert world.count(RunStatus.FROZEN, 60) == 10
    assert {row.reason.code for row in world.rows if row.reason is not None} == {Code.FROZEN}


def test_a_freeze_leaves_the_schedule_itself_as_it_is() -> None:
    world = FrozenWorld()
    before = world.schedules.get(ACME, ID)
    frozen_at(world, 1)
    after = world.schedules.get(ACME, ID)
    assert (after.form["status"], after.etag) == ("active", before.etag)
    assert before.form["frozen"] is None
    assert after.form["frozen"]["reason"] == "the ledger moves"


def test_a_thaw_finds_every_later_fire_in_place() -> None:
    world = FrozenWorld()
    freeze_id = frozen_at(world, 3)
    world.live(5 * 60)
    world.thaw(freeze_id)
    thawed_at = world.clock.now()
    world.live(3 * 60)
    later = [nominal for nominal in world.ran if nominal > TWO + 3 * MINUTE]
    assert later == [nominal for nominal in range(TWO, thawed_at + 3 * MINUTE, MINUTE) if nominal > thawed_at]
    lags = [row.lag_ms or 0 for row in world.rows if row.key.nominal_at > thawed_at]
    assert max(lags) <= 5 * SECOND


def test_a_freeze_with_an_end_ends_without_a_write() -> None:
    world = FrozenWorld()
    world.live(3 * 60)
    until = TWO + 8 * MINUTE
    world.freeze(until=until)
    rev = world.store.get_freeze_directory().rev
    world.live(10 * 60)
    assert world.ran[3:] == [until + minutes * MINUTE for minutes in range(5)]
    assert world.count(RunStatus.FROZEN, 60) == 5
    assert world.store.get_freeze_directory().rev == rev


@pytest.mark.parametrize("thawed_after", [7, 31, 65, 119])
def test_a_schedule_of_every_second_is_on_again_within_three_ticks_of_a_thaw(thawed_after: int) -> None:
    world = FrozenWorld(1)
    freeze_id = frozen_at(world, 2)
    world.live(thawed_after)
    world.thaw(freeze_id)
    ended_at = world.clock.now()
    world.live(60)
    late = [row for row in world.rows if row.status is RunStatus.SUCCEEDED and row.key.nominal_at > ended_at]
    assert late[0].key.nominal_at <= ended_at + SECOND
    assert max(row.lag_ms or 0 for row in late) <= 15 * SECOND
    nominals = sorted(
        nominal for row in world.rows for nominal in range(row.key.nominal_at, row.last_nominal_at + 1, SECOND)
    )
    assert nominals == list(range(nominals[0], nominals[-1] + 1, SECOND)), "each fire once, none missing"


def every_second(world: FrozenWorld) -> list[Instant]:
    """The seconds that the ledger names, each as often as it does."""
    return sorted(
        nominal for row in world.rows for nominal in range(row.key.nominal_at, row.last_nominal_at + 1, SECOND)
    )


@pytest.mark.parametrize(
    ("changes", "until", "beside"),
    [
        ({"after_pause": NEWEST}, None, None),
        ({}, TWO + DAY, None),
        ({}, None, TWO + DAY),
        ({}, None, TWO + 2 * MINUTE + 30 * SECOND),
    ],
    ids=["what it wants waits", "it had an end far ahead", "another ends later", "another ends soon"],
)
def test_a_thaw_is_noticed_whatever_else_the_tenant_has_frozen(
    changes: dict[str, Any], until: Instant | None, beside: Instant | None
) -> None:
    """What a freeze had put off by a minute once stayed so, where a later end stood in the directory's mark."""
    world = FrozenWorld(1, **changes)
    freeze_id = frozen_at(world, 2, until=until)
    if beside is not None:
        world.freeze(Labels({"system": "another"}), until=beside)
    world.live(31)
    world.thaw(freeze_id)
    ended_at = world.clock.now()
    world.live(60)
    late = [row for row in world.rows if row.status is RunStatus.SUCCEEDED and row.key.nominal_at > ended_at]
    assert late[0].key.nominal_at <= ended_at + SECOND
    assert max(row.lag_ms or 0 for row in late) <= 15 * SECOND
    nominals = every_second(world)
    assert len(set(nominals)) == len(nominals)


@pytest.mark.parametrize("changes", [{}, {"after_pause": NEWEST}])
def test_what_came_due_between_a_thaw_and_an_edit_runs(changes: dict[str, Any]) -> None:
    """The timer still said what the freeze had put it off to, and all but the first such fire were lost."""
    world = FrozenWorld(1, **changes)
    freeze_id = frozen_at(world, 2)
    world.live(65)
    world.thaw(freeze_id)
    ended_at = world.clock.now()
    world.clock.advance(4 * SECOND)
    world.put(spec(600))
    world.live(60)
    nominals = every_second(world)
    assert nominals == list(range(nominals[0], ended_at + 4 * SECOND + 1, SECOND)), "each fire once, none missing"
    assert [at for at in world.ran if at > ended_at] == [ended_at + seconds * SECOND for seconds in range(1, 5)]


def test_an_hour_of_every_second_is_one_entry_a_minute() -> None:
    world = FrozenWorld(1)
    frozen_at(world, 1)
    world.live(3_600)
    assert 55 <= len([row for row in world.rows if row.status is RunStatus.FROZEN and row.until_nominal_at]) <= 65


def test_a_daily_schedule_is_claimed_once_a_day_while_it_is_frozen() -> None:
    world = FrozenWorld(86_400)
    frozen_at(world, 1)
    before = len(world.store.state.batches)
    world.live(3_600)
    assert len(world.store.state.batches) == before


# --- what is frozen ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "is_frozen"),
    [
        (WholeTenant(), True),
        (WholeTier("standard"), True),
        (WholeTier("priority"), False),
        (Labels({"team": "billing"}), True),
        (Labels({"team": "billing", "env": "prod"}), True),
        (Labels({"team": "billing", "env": "test"}), False),
        (Labels({"team": "other"}), False),
    ],
)
def test_a_freeze_holds_what_its_scope_says_and_nothing_else(asked: Asked, is_frozen: bool) -> None:
    world = FrozenWorld(labels={"team": "billing", "env": "prod", "x": "y"})
    frozen_at(world, 1, asked=asked, caller=PLATFORM)
    world.live(3 * 60)
    assert len(world.ran) == (1 if is_frozen else 4)


@pytest.mark.parametrize(("tier", "ran"), [("standard", 4), ("priority", 1)])
def test_the_freeze_of_a_tier_goes_by_the_tenants_record_and_not_by_old_timers(tier: str, ran: int) -> None:
    world = FrozenWorld()
    moved = Tenant("acme", tier="priority", rev=1, change_id="moved")
    world.store.commit([PutTenant(moved, world.store.get_tenant("acme"))])
    frozen_at(world, 1, asked=WholeTier(tier), caller=PLATFORM)
    world.live(3 * 60)
    assert world.timer(ID).tier == "standard"
    assert len(world.ran) == ran


def test_a_frozen_tier_holds_what_was_dispatched_before_its_tenant_came_to_it() -> None:
    """Dispatchers go by a record that may be half a minute old, and a message may lie in its queue for longer."""
    world = FrozenWorld(600)
    world.tick()
    assert [message.tier for message in world.sent] == ["standard"]
    moved = Tenant("acme", tier="priority", rev=1, change_id="moved")
    world.store.commit([PutTenant(moved, world.store.get_tenant("acme"))])
    freeze_id = world.freeze(WholeTier("priority"), PLATFORM)
    world.live(60)
    assert (world.called, world.nominals(RunStatus.FROZEN)) == ([], [TWO])
    world.thaw(freeze_id, PLATFORM)


def test_another_tenants_freeze_holds_nothing_here() -> None:
    world = FrozenWorld()
    frozen_at(world, 1, caller=OTHER)
    world.live(3 * 60)
    assert len(world.ran) == 4


def test_a_timer_that_is_older_than_the_hashes_is_frozen_by_what_its_definition_says() -> None:
    world = FrozenWorld(labels={"team": "billing"})
    world.store.state.timers["acme", ID] = replace(world.timer(ID), labels=None)
    world.store.state.due_index.put(
        ("acme#nightly", "TIMER"), world.timer(ID).shard, world.timer(ID).due_at or 0, world.timer(ID)
    )
    frozen_at(world, 1, asked=Labels({"team": "billing"}))
    world.live(3 * 60)
    assert world.timer(ID).labels is None
    assert world.ran == [TWO]


def test_a_label_that_an_edit_takes_away_lets_the_schedule_go() -> None:
    world = FrozenWorld(labels={"team": "billing"})
    frozen_at(world, 1, asked=Labels({"team": "billing"}))
    world.live(2 * 60)
    world.put(spec(60))
    world.live(2 * 60)
    assert world.ran[-1] > TWO + 2 * MINUTE


# --- what was under way ------------------------------------------------------------------------------------------


def test_a_fire_that_was_claimed_when_the_freeze_came_ends_frozen() -> None:
    world = FrozenWorld()
    world.tick()  # claims what is due in ten seconds
    world.freeze()
    world.live(60)
    row = world.rows[0]
    assert (row.key.nominal_at, row.status, row.until_nominal_at) == (TWO, RunStatus.FROZEN, None)
    assert world.explain(TWO)["text"].startswith("was claimed and not started; tenant acme is frozen by ada")


def test_a_retry_waits_for_the_thaw_and_then_runs() -> None:
    world = FrozenWorld(3_600)
    world.fails = True
    world.live(15)
    assert world.rows[0].status is RunStatus.WAITING
    freeze_id = world.freeze()
    world.live(300)
    assert (world.rows[0].status, len(world.rows[0].attempts)) == (RunStatus.WAITING, 1)
    assert world.explain(TWO)["detail"]["held_back"] == "frozen"
    world.fails = False
    world.thaw(freeze_id)
    world.live(120)
    assert (world.rows[0].status, len(world.rows[0].attempts)) == (RunStatus.SUCCEEDED, 2)


def test_run_now_is_refused_while_frozen_and_names_the_freeze() -> None:
    world = FrozenWorld(3_600)
    freeze_id = world.freeze()
    with pytest.raises(Conflict, match=f"tenant acme is frozen by ada .*{freeze_id}"):
        world.runs.run_now(ACME, ID)


def test_a_manual_run_that_was_asked_for_before_waits_for_the_thaw() -> None:
    world = FrozenWorld(86_400)
    world.runs.run_now(ACME, ID)
    freeze_id = world.freeze()
    world.live(180)
    manual = next(row for row in world.rows if not row.key.is_scheduled)
    assert (manual.status, manual.attempts) == (RunStatus.WAITING, ())
    world.thaw(freeze_id)
    world.live(120)
    manual = next(row for row in world.rows if not row.key.is_scheduled)
    assert (manual.status, manual.attempt) == (RunStatus.SUCCEEDED, 1)
    assert manual.late is not None
    assert manual.late.cause is Cause.FREEZE


# --- what the policy for pauses wants ----------------------------------------------------------------------------


def test_of_what_a_freeze_held_back_the_newest_runs_after_the_thaw_if_the_policy_wants_it() -> None:
    world = FrozenWorld(600, after_pause=NEWEST)
    world.live(15)
    freeze_id = world.freeze()
    world.live(45 * 60)
    assert world.ran == [TWO]
    assert world.explain(TWO + 40 * MINUTE)["code"] == "catching_up"
    world.thaw(freeze_id)
    world.live(16 * 60)
    assert TWO + 40 * MINUTE in world.ran
    assert world.nominals(RunStatus.FROZEN) == [TWO + minutes * MINUTE for minutes in (10, 20, 30)]
    caught = next(row for row in world.rows if row.key.nominal_at == TWO + 40 * MINUTE)
    assert caught.late is not None
    assert caught.late.cause is Cause.FREEZE


def test_a_claimed_fire_that_is_wanted_is_put_off_and_runs_after_a_short_freeze() -> None:
    world = FrozenWorld(3_600, after_pause=NEWEST)
    world.tick()
    freeze_id = world.freeze()
    world.live(60)
    assert world.rows[0].status is RunStatus.WAITING
    world.thaw(freeze_id)
    world.live(120)
    assert (world.rows[0].status, world.rows[0].attempt) == (RunStatus.SUCCEEDED, 1)


def test_a_claimed_fire_gives_way_to_newer_ones_of_which_as_many_are_wanted() -> None:
    world = FrozenWorld(60, after_pause=NEWEST)
    world.tick()
    freeze_id = world.freeze()
    world.live(10 * 60)
    world.thaw(freeze_id)
    world.live(5 * 60)
    frozen_time = [nominal for nominal in world.ran if nominal <= TWO + 9 * MINUTE]
    assert frozen_time == [TWO + 9 * MINUTE]
    assert world.rows[0].status is RunStatus.FROZEN


def test_a_backlog_of_an_outage_waits_for_the_thaw_too() -> None:
    world = FrozenWorld(60, misfire=Misfire(MisfirePolicy.CATCH_UP, max=100, grace_seconds=0, per_minute=6))
    world.live(15)
    world.outage(10 * 60)
    world.live(20)
    begun = len(world.ran)
    freeze_id = world.freeze()
    world.live(5 * 60)
    assert len(world.ran) <= begun + 1
    world.thaw(freeze_id)
    world.live(10 * 60)
    assert len(world.ran) > begun + 10


def test_a_one_shot_that_is_frozen_is_completed_and_noted() -> None:
    world = FrozenWorld()
    world.freeze()
    world.live(10)
    world.schedules.create(ACME, "once", lambda *_: replace(spec(60), trigger=cron("5 2 1 12 *"), end_at=TWO + HOUR))
    world.live(10 * 60)
    rows = [row for row in world.rows if row.key.schedule_id == "once"]
    assert [(row.key.nominal_at, row.status) for row in rows] == [(TWO + 5 * MINUTE, RunStatus.FROZEN)]


# --- together with pauses and edits ------------------------------------------------------------------------------


def test_a_pause_that_ends_while_frozen_ends_and_the_freeze_goes_on() -> None:
    world = FrozenWorld()
    world.live(60)
    world.schedules.pause(ACME, ID, reason="lunch", until=world.clock.now() + 3 * MINUTE)
    freeze_id = world.freeze()
    world.live(6 * 60)
    assert world.timer(ID).pause is None
    assert len(world.ran) == 1
    world.thaw(freeze_id)
    world.live(2 * 60)
    assert len(world.ran) == 3


def test_a_schedule_of_every_second_can_be_edited_while_it_is_frozen() -> None:
    world = FrozenWorld(1)
    world.live(60)
    world.freeze()
    world.live(50)
    edited_at = world.clock.now()
    world.put(spec(600))
    world.live(20 * 60)
    assert max(world.called) < edited_at - 45 * SECOND
    queued = [row for row in world.rows if row.status in (RunStatus.QUEUED, RunStatus.WAITING)]
    assert not queued


# --- what is said ------------------------------------------------------------------------------------------------


def test_past_present_and_future_of_a_freeze_are_explained() -> None:
    world = FrozenWorld(600)
    world.live(15)
    until = TWO + 2 * HOUR
    freeze_id = world.freeze(until=until)
    world.live(30 * 60)
    past, ahead, after = (world.explain(TWO + minutes * MINUTE) for minutes in (10, 60, 120))
    assert (past["code"], past["is_decided"], past["detail"]["freeze_id"]) == ("frozen", True, freeze_id)
    assert (ahead["code"], ahead["is_decided"]) == ("frozen", False)
    assert ahead["text"].startswith("will not start unless it is thawed before; tenant acme is frozen by ada since")
    assert ahead["detail"]["until_at"] == to_text(until)
    assert after["code"] == "not_due"


def test_the_ledger_says_once_what_a_freeze_will_hold_and_goes_on_after_its_end() -> None:
    world = FrozenWorld(600)
    world.live(15)
    until = TWO + 2 * HOUR
    world.freeze(until=until)
    world.live(15 * 60)
    said = [(entry["at"], entry["code"], entry["count"]) for entry in world.entries(TWO, TWO + 3 * HOUR)]
    assert said[:3] == [
        (to_text(TWO), "ran", 1),
        (to_text(TWO + 10 * MINUTE), "frozen", 1),
        (to_text(TWO + 20 * MINUTE), "frozen", 10),
    ]
    assert [code for _, code, _ in said[3:]] == ["not_due"] * 7


def test_the_fires_ahead_say_which_of_them_a_freeze_holds() -> None:
    world = FrozenWorld(600)
    world.freeze(until=TWO + HOUR)
    fires = world.schedules.fires(ACME, ID, from_at=None, to_at=None, limit=8)
    assert [fire.is_frozen for fire in fires] == [True] * 6 + [False] * 2


# --- who may, and what is kept -----------------------------------------------------------------------------------


def test_the_freeze_of_a_tier_takes_a_platform_admin() -> None:
    world = FrozenWorld()
    with pytest.raises(Forbidden):
        world.freeze(WholeTier("standard"))
    freeze_id = world.freeze(WholeTier("standard"), PLATFORM)
    with pytest.raises(Forbidden):
        world.thaw(freeze_id)
    world.thaw(freeze_id, PLATFORM)


def test_another_tenants_freeze_is_not_found() -> None:
    world = FrozenWorld()
    freeze_id = world.freeze()
    for call in (
        lambda: world.freezing.get(OTHER, freeze_id),
        lambda: world.freezing.thaw(OTHER, freeze_id),
        lambda: world.freezing.edit(OTHER, freeze_id, FreezePatch("mine")),
    ):
        with pytest.raises(NotFound):
            call()
    assert world.freezing.list(OTHER) == []


def test_every_change_of_a_freeze_is_in_the_audit_log() -> None:
    world = FrozenWorld()
    freeze_id = world.freeze()
    world.freezing.edit(ACME, freeze_id, FreezePatch("it takes longer", moves_end=True, until=TWO + DAY))
    world.thaw(freeze_id)
    said = [
        (entry.action, entry.subject, entry.reason)
        for entry in world.store.state.audit.values()
        if entry.subject.startswith("freeze:")
    ]
    assert said == [
        ("freeze", f"freeze:{freeze_id}", "the ledger moves"),
        ("edit_freeze", f"freeze:{freeze_id}", "it takes longer"),
        ("thaw", f"freeze:{freeze_id}", "it has moved"),
    ]


def test_a_thaw_is_over_when_it_returns_and_can_be_asked_for_again() -> None:
    world = FrozenWorld()
    freeze_id = world.freeze()
    first = world.freezing.thaw(ACME, freeze_id).form
    assert first["status"] == "ended"
    assert world.freezing.get(ACME, freeze_id)["status"] == "ended"
    assert world.freezing.thaw(ACME, freeze_id).form == first
    with pytest.raises(Conflict, match="ended at"):
        world.freezing.edit(ACME, freeze_id, FreezePatch("again"))


def test_a_freeze_needs_an_end_that_is_still_to_come() -> None:
    world = FrozenWorld()
    with pytest.raises(Invalid, match="until"):
        world.freeze(until=world.clock.now() + OBEYED_AFTER)


def test_there_are_only_so_many_freezes_at_once() -> None:
    world = FrozenWorld()
    ids = [world.freeze(Labels({"n": str(number)})) for number in range(20)]
    with pytest.raises(Conflict, match="20 freezes are in force"):
        world.freeze()
    world.thaw(ids[0])
    world.freeze()
