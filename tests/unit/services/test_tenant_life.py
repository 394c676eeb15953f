"""Tenants suspended, resumed and deleted: what starts, what is left, what is said of it, whatever dies meanwhile."""

import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.audit import AuditEntry, schedule_subject
from cronfleet.domain.deletion import SETTLES_AFTER, Stage, certificate
from cronfleet.domain.errors import Conflict, Invalid, NotFound
from cronfleet.domain.instant import DAY, MINUTE, SECOND
from cronfleet.domain.reason import Code
from cronfleet.domain.role import Role
from cronfleet.domain.run import Run, RunKey, RunMessage, RunStatus
from cronfleet.domain.schedule import Change
from cronfleet.domain.tenant import Tenant, TenantStatus
from cronfleet.ports.job_store import InsertAudit, NoAnswer, PutTenant
from cronfleet.services import deletions
from cronfleet.services.access import Caller
from cronfleet.services.deletions import Deletions
from cronfleet.services.tenant_life import TenantLife
from cronfleet.services.worker import Worker
from tests.support.builders import definition, every, timer
from tests.support.settable_clock import NOON
from tests.support.world import World

ROOT = Caller(Tenant("home", rev=1), "rootkey", "request-1", Role.PLATFORM_ADMIN)
ACTING = replace(ROOT, tenant=Tenant("acme", rev=1), home_tenant="home")


class Life(World):
    """A world with two tenants, one of which is looked after by a platform admin of the other."""

    def __init__(self) -> None:
        super().__init__(NOON)
        for tenant in ("home", "acme", "beta"):
            self.store.commit([PutTenant(Tenant(tenant, rev=1, change_id=f"made-{tenant}"), None)])
        self.life = TenantLife(store=self.store, clock=self.clock, ids=self.ids)

    def jobs(self, store: Any = None) -> Deletions:
        return Deletions(store=store or self.store, clock=self.clock, ids=self.ids, telemetry=self.notes)

    def furnish(self, tenant: str, schedules: int = 3, runs: int = 4) -> None:
        """Schedules that the tenant's log names, each with runs."""
        for number in range(schedules):
            name = f"s{number}"
            made = timer(every(60), NOON + MINUTE, tenant=tenant, schedule_id=name, change_id=f"{tenant}-{name}")
            self.add(made, replace(definition(made.trigger, name), tenant=tenant))
            entry = self.life_entry(tenant, name)
            self.store.commit([entry])
            for minute in range(runs):
                key = RunKey(tenant, name, 1, NOON - (minute + 1) * MINUTE)
                row = Run(key, RunStatus.SUCCEEDED, due_at=key.nominal_at, tier="standard", version=1)
                self.store.insert_run(row)

    def life_entry(self, tenant: str, name: str) -> InsertAudit:
        entry_id = self.ids.unique()
        filed = schedule_subject(name)
        return InsertAudit(AuditEntry(tenant, entry_id, NOON, "ada", Change.CREATE, filed, f"r-{entry_id}"))

    def status(self, tenant: str = "acme") -> TenantStatus:
        found = self.store.get_tenant(tenant)
        assert found is not None
        return found.status

    def delete(self) -> Any:
        return self.life.delete(ACTING, "acme", "contract ended")

    def sweep_until_done(self, tenant: str = "acme") -> None:
        for _ in range(20):
            self.jobs().advance(self.clock.now() + MINUTE)
            if self.status(tenant) is TenantStatus.DELETED:
                return
            self.clock.advance(MINUTE)
        raise AssertionError("the deletion does not come to an end")

    def left(self, tenant: str = "acme") -> list[str]:
        """Every place that still names the tenant, but for its tombstone and what the platform's log says."""
        state = self.store.state
        held = {name: getattr(state, name) for name in ("timers", "definitions", "runs", "history", "freeze_lists")}
        held |= {"audit": {key: entry for key, entry in state.audit.items() if key[0] == tenant}}
        return [name for name, one in held.items() if tenant in repr(one)]


@pytest.fixture
def life() -> Life:
    return Life()


# --- suspending --------------------------------------------------------------------------------------------------


def test_a_suspension_is_the_status_and_a_freeze_in_one_transaction_and_is_audited(life: Life) -> None:
    said = life.life.suspend(ACTING, "unpaid")
    assert (said["status"], said["reason"]) == ("suspended", "unpaid")
    assert life.status() is TenantStatus.SUSPENDED
    [freeze] = life.store.get_freeze_list("acme").freezes
    assert freeze.suspends
    assert (freeze.reason, freeze.until, freeze.by) == ("unpaid", None, "rootkey")
    assert life.store.get_freeze_directory().may_hold("acme", life.clock.now())
    [entry] = life.store.state.audit.values()
    assert (entry.tenant, entry.home_tenant) == ("acme", "home")
    assert (entry.subject, entry.action) == ("tenant", "suspend_tenant")
    assert (entry.before["status"], entry.after["status"]) == ("active", "suspended")


def test_a_suspension_returns_when_everybody_has_read_it(life: Life) -> None:
    life.life.suspend(ACTING, "unpaid")
    assert life.clock.now() >= NOON + 2 * SECOND


def test_a_suspension_asked_for_again_changes_nothing(life: Life) -> None:
    life.life.suspend(ACTING, "unpaid")
    before = life.store.get_tenant("acme")
    assert life.life.suspend(ACTING, "still unpaid")["reason"] == "unpaid"
    assert life.store.get_tenant("acme") == before
    assert len(life.store.get_freeze_list("acme").freezes) == 1


def test_a_resumption_ends_the_freeze_and_says_so(life: Life) -> None:
    life.life.suspend(ACTING, "unpaid")
    said = life.life.resume(ACTING, "paid")
    assert (said["status"], said["reason"]) == ("active", "")
    [freeze] = life.store.get_freeze_list("acme").freezes
    assert freeze.has_ended(life.clock.now())
    assert freeze.thawed is not None
    assert freeze.thawed.reason == "paid"
    assert life.life.resume(ACTING, "paid twice")["status"] == "active"


def test_a_suspension_that_loses_the_race_is_decided_anew(life: Life) -> None:
    """Another freeze was written while this one was decided: both are there."""
    commit = life.store.commit
    others = iter([True])

    def race(writes: Any) -> None:
        if next(others, False):
            life.life.suspend(ACTING, "somebody else was faster")
        commit(writes)

    life.store.commit = race  # type: ignore[method-assign]  # the port itself is what races
    assert life.life.suspend(ACTING, "unpaid")["reason"] == "somebody else was faster"
    assert len(life.store.get_freeze_list("acme").freezes) == 1


def test_what_a_suspension_holds_back_is_noted_with_its_reason_and_starts_nothing(life: Life) -> None:
    life.add(timer(every(60), NOON + MINUTE, tenant="acme", schedule_id="s0", change_id="acme-s0"))
    life.life.suspend(ACTING, "unpaid")
    life.clock.set(NOON + 3 * MINUTE + 30 * SECOND)
    life.tick()
    assert life.sent == []
    [row] = life.store.state.runs.values()
    assert (row.status, row.key.nominal_at, row.until_nominal_at) == (
        RunStatus.FROZEN,
        NOON + MINUTE,
        NOON + 3 * MINUTE,
    )
    assert row.reason is not None
    assert row.reason.code is Code.TENANT_SUSPENDED
    assert "suspended by rootkey" in row.reason.text
    assert row.reason.detail["why"] == "unpaid"
    life.life.resume(ACTING, "paid")
    for second in range(0, 30, 5):
        life.clock.set(NOON + 5 * MINUTE + second * SECOND)
        life.tick()
    assert {message.key.nominal_at for message in life.sent} == {NOON + 4 * MINUTE, NOON + 5 * MINUTE}


def test_a_claimed_fire_of_a_tenant_that_was_suspended_meanwhile_is_not_started(life: Life) -> None:
    life.add(timer(every(60), NOON, tenant="acme", schedule_id="s0", change_id="acme-s0"))
    life.tick()
    [sent] = life.sent
    life.life.suspend(ACTING, "unpaid")
    worker(life).handle(sent)
    [row] = life.store.state.runs.values()
    assert row.status is RunStatus.FROZEN
    assert row.reason is not None
    assert row.reason.code is Code.TENANT_SUSPENDED


def test_a_tenant_that_is_suspended_again_before_the_first_suspension_has_ended_stays_suspended(life: Life) -> None:
    life.life.suspend(ACTING, "unpaid")
    life.clock.wait_until = lambda _: None  # type: ignore[method-assign]  # two requests right after each other
    life.life.resume(ACTING, "paid")
    life.life.suspend(ACTING, "the cheque bounced")
    life.clock.advance(MINUTE)
    [freeze] = [one for one in life.store.get_freeze_list("acme").freezes if one.covers(life.clock.now())]
    assert freeze.reason == "the cheque bounced"


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("change", ["suspend", "resume", "delete"])
def test_a_change_that_dies_at_any_moment_is_made_whole_or_not_at_all(change: str, after: bool, silent: bool) -> None:
    for at in range(1, 9):
        life = Life()
        if change == "resume":
            life.life.suspend(ACTING, "unpaid")
        store = Dying(life.store, at, after=after, silent=silent)
        made = TenantLife(store=store, clock=life.clock, ids=life.ids)
        with suppress(Died):
            _change(made, change)
        life.clock.advance(MINUTE)  # what has an end has ended by then
        frozen = [one for one in life.store.get_freeze_list("acme").freezes if not one.has_ended(life.clock.now())]
        is_shut = life.status() is not TenantStatus.ACTIVE
        assert len(frozen) == is_shut, at
        assert (life.store.get_deletion("acme") is not None) == (life.status() is TenantStatus.DELETING), at
        if silent:  # It was asked again at once, and done once.
            assert is_shut == (change != "resume"), at


def _change(life: TenantLife, change: str) -> None:
    if change == "delete":
        life.delete(ACTING, "acme", "x")
    else:
        getattr(life, change)(ACTING, "x")


@pytest.mark.parametrize("change", ["suspend", "delete"])
def test_nobody_shuts_the_door_of_the_tenant_that_the_key_lives_in(life: Life, change: str) -> None:
    with pytest.raises(Conflict, match="home of the key"):
        life.life.suspend(ROOT, "x") if change == "suspend" else life.life.delete(ROOT, "home", "x")
    assert life.status("home") is TenantStatus.ACTIVE


def test_what_is_deleted_can_be_neither_suspended_nor_resumed(life: Life) -> None:
    life.delete()
    for change in (life.life.suspend, life.life.resume):
        with pytest.raises(Conflict, match="never used again"):
            change(ACTING, "x")


# --- deleting ----------------------------------------------------------------------------------------------------


def test_a_deletion_wants_the_id_repeated(life: Life) -> None:
    with pytest.raises(Invalid, match="repeated"):
        life.life.delete(ACTING, "acm", "")
    assert life.status() is TenantStatus.ACTIVE


def test_a_deletion_shuts_the_tenant_at_once_and_is_filed_in_both_logs(life: Life) -> None:
    life.furnish("acme")
    said = life.delete()
    assert (said["status"], said["stage"], said["certificate"]) == ("deleting", "keys", None)
    assert life.status() is TenantStatus.DELETING
    assert life.store.get_freeze_list("acme").freezes[0].suspends
    filed = [(entry.tenant, entry.subject) for entry in life.store.state.audit.values() if "delete" in entry.action]
    assert sorted(filed) == [("acme", "tenant"), ("home", "tenant:acme")]


def test_a_deletion_asked_for_again_says_how_far_it_is(life: Life) -> None:
    life.furnish("acme")
    life.delete()
    life.jobs().advance(life.clock.now() + MINUTE)
    said = life.delete()
    assert said["removed"]["runs"] == 12
    life.clock.advance(SETTLES_AFTER)
    life.sweep_until_done()
    assert life.delete()["certificate"]["removed"]["schedules"] == 3


def test_a_deletion_removes_everything_says_what_it_was_and_leaves_others_alone(life: Life) -> None:
    life.furnish("acme")
    life.furnish("beta")
    others = repr([life.store.state.runs, life.store.state.timers]).count("beta")
    life.delete()
    life.sweep_until_done()
    assert life.left() == []
    assert repr([life.store.state.runs, life.store.state.timers]).count("beta") == others
    form = life.life.deletion(ACTING)
    assert (form["status"], form["stage"]) == ("deleted", None)
    said = form["certificate"]
    assert said["removed"] == {
        "schedules": 3,
        "versions": 3,
        "runs": 12,
        "freeze_lists": 1,
        "audit_entries": 4,
        "audit_chains": 4,
    }
    assert (said["requested_by"], said["home_tenant"], said["reason"]) == ("rootkey", "home", "contract ended")


def test_the_certificate_is_filed_where_it_was_asked_for_and_its_digest_can_be_worked_out_again(
    life: Life,
) -> None:
    life.delete()
    life.sweep_until_done()
    said = life.life.deletion(ACTING)["certificate"]
    [entry] = [one for one in life.store.state.audit.values() if one.action == deletions.DELETED]
    assert (entry.tenant, entry.subject, entry.after) == ("home", "tenant:acme", said)
    rest = {name: value for name, value in said.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    assert said["digest"] == hashlib.sha256(text.encode()).hexdigest()


def test_the_second_look_waits_until_all_that_was_under_way_is_over(life: Life) -> None:
    life.furnish("acme")
    life.delete()
    life.jobs().advance(life.clock.now() + MINUTE)
    job = life.store.get_deletion("acme")
    assert job is not None
    assert job.stage is Stage.AGAIN
    # A dispatcher that had claimed before writes the row of what it skipped.
    late = Run(RunKey("acme", "s1", 1, NOON), RunStatus.SKIPPED, due_at=NOON, tier="standard", version=1)
    life.store.insert_run(late)
    life.clock.advance(SETTLES_AFTER - SECOND)
    life.jobs().advance(life.clock.now() + MINUTE)
    assert life.store.get_run(late.key) == late
    life.clock.advance(SECOND)
    life.jobs().advance(life.clock.now() + MINUTE)
    assert life.store.get_run(late.key) is None
    assert life.life.deletion(ACTING)["certificate"]["removed"]["runs"] == 13


def test_a_small_tenant_does_not_wait_for_a_large_one(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "MAX_PAGE", 2)
    life.furnish("acme", schedules=10, runs=10)
    life.furnish("beta", schedules=1, runs=1)
    life.delete()
    life.life.delete(replace(ACTING, tenant=Tenant("beta", rev=1)), "beta", "")
    monkeypatch.setattr(deletions, "MAX_STEPS", 30)
    life.jobs().advance(life.clock.now() + MINUTE)
    small = life.store.get_deletion("beta")
    large = life.store.get_deletion("acme")
    assert small is not None
    assert large is not None
    assert (small.stage, large.stage) == (Stage.AGAIN, Stage.SCHEDULES)


def test_nothing_is_known_of_a_deletion_that_nobody_asked_for(life: Life) -> None:
    with pytest.raises(NotFound):
        life.life.deletion(ACTING)


def test_a_sweep_without_deletions_asks_once_and_writes_nothing(life: Life) -> None:
    assert life.jobs().advance(life.clock.now() + MINUTE).jobs == 0


def test_a_sweep_whose_time_is_up_leaves_the_rest_to_the_next(life: Life) -> None:
    life.furnish("acme")
    life.delete()
    life.jobs().advance(life.clock.now())
    assert life.life.deletion(ACTING)["removed"] == {}


# --- dying at any moment -----------------------------------------------------------------------------------------


class Dying:
    """A store whose process dies before, or right after, its call number `at`; with `silent`, the reply is lost."""

    def __init__(self, store: Any, at: int, *, after: bool, silent: bool = False) -> None:
        self._store, self._at, self._after, self._silent = store, at, after, silent
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._store, name)
        if name == "skew_ms":
            return call

        def stopping(*args: Any, **more: Any) -> Any:
            self.calls += 1
            if self.calls != self._at:
                return call(*args, **more)
            if self._after:
                call(*args, **more)
            raise NoAnswer("lost") if self._silent else Died

        return stopping


class Died(BaseException):
    """The process is gone."""


def counted_calls() -> int:
    life = Life()
    life.furnish("acme", schedules=2, runs=1)
    life.delete()
    life.clock.advance(SETTLES_AFTER)
    store = Dying(life.store, -1, after=False)
    life.jobs(store).advance(life.clock.now() + MINUTE)
    life.clock.advance(SETTLES_AFTER)
    life.jobs(store).advance(life.clock.now() + MINUTE)
    assert life.status() is TenantStatus.DELETED
    return store.calls


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("after", [False, True])
def test_a_deletion_that_dies_at_any_moment_ends_with_the_same_counts(
    monkeypatch: pytest.MonkeyPatch, after: bool, silent: bool
) -> None:
    monkeypatch.setattr(deletions, "MAX_PAGE", 3)
    for at in range(1, counted_calls() + 1):
        life = Life()
        life.furnish("acme", schedules=2, runs=1)
        life.delete()
        store = Dying(life.store, at, after=after, silent=silent)
        for _ in range(6):
            with suppress(Died, NoAnswer):
                life.jobs(store).advance(life.clock.now() + MINUTE)
            life.clock.advance(SETTLES_AFTER)
        assert life.left() == [], at
        assert life.store.open_deletions(10) == [], at
        removed = life.life.deletion(ACTING)["certificate"]["removed"]
        assert removed == {
            "schedules": 2,
            "versions": 2,
            "runs": 2,
            "freeze_lists": 1,
            "audit_entries": 3,
            "audit_chains": 3,
        }, at
        filed = [one for one in life.store.state.audit.values() if one.action == deletions.DELETED]
        assert len(filed) == 1, at


def test_two_sweeps_that_carry_on_one_deletion_side_by_side_count_nothing_twice(life: Life) -> None:
    life.furnish("acme")
    life.delete()
    find = life.store.owned
    others = iter([True, True])

    def race(*args: Any) -> Any:
        found = find(*args)
        if next(others, False):
            life.jobs().advance(life.clock.now() + MINUTE)
        return found

    life.store.owned = race  # type: ignore[method-assign]  # the port itself is what races
    life.jobs().advance(life.clock.now() + MINUTE)
    life.clock.advance(SETTLES_AFTER)
    life.sweep_until_done()
    assert life.life.deletion(ACTING)["certificate"]["removed"]["runs"] == 12


# --- what was under way ------------------------------------------------------------------------------------------


def worker(life: Life) -> Worker:
    return Worker(
        store=life.store,
        run_queue=life.run_queue,
        targets=None,  # type: ignore[arg-type]  # nothing may be called
        clock=life.clock,
        ids=life.ids,
        telemetry=life.notes,
    )


def message(life: Life) -> RunMessage:
    key = RunKey("acme", "s0", 1, NOON)
    return RunMessage(key, "standard", 1, NOON, claimed_at=NOON, batch="0.1.1", version=1, timeout_seconds=60)


@pytest.mark.parametrize("done", [False, True])
def test_a_message_of_a_deleted_tenant_does_nothing_and_leaves_no_row(life: Life, done: bool) -> None:
    life.furnish("acme")
    life.delete()
    life.jobs().advance(life.clock.now() + MINUTE)
    if done:
        life.clock.advance(SETTLES_AFTER)
        life.sweep_until_done()
    worker(life).handle(message(life))
    assert life.store.state.runs == {}
    assert life.notes.events[-1][0] == "message_dropped"
    assert life.notes.events[-1][1]["reason"] == Code.TENANT_DELETED


def test_a_message_of_a_schedule_that_is_gone_in_a_tenant_that_lives_is_noted_as_before(life: Life) -> None:
    worker(life).handle(message(life))
    [row] = life.store.state.runs.values()
    assert row.is_terminal


def test_an_attempt_that_ends_after_its_row_is_gone_says_nothing_more(life: Life) -> None:
    row = Run(RunKey("acme", "s0", 1, NOON), RunStatus.RUNNING, due_at=NOON, tier="standard", version=1)
    assert worker(life)._finishing.replace(row) is None
    assert life.notes.events[-1][0] == "row_gone"


def test_the_sweeper_sends_nothing_again_that_is_a_deleted_tenant_s(life: Life) -> None:
    life.add(timer(every(60), NOON, tenant="acme", schedule_id="s0", change_id="acme-s0"))
    life.tick()
    assert len(life.sent) == 1
    life.run_queue.tier("standard").lose(lambda _: True)
    life.delete()
    life.jobs().advance(life.clock.now() + MINUTE)
    life.clock.advance(SETTLES_AFTER)
    life.sweep_until_done()
    for _ in range(3):
        life.clock.advance(10 * MINUTE)
        life.sweep()
    assert life.sent == []
    life.clock.advance(20 * DAY)
    life.sweep()
    assert life.store.state.runs == {}


def test_a_certificate_of_what_is_not_over_is_refused(life: Life) -> None:
    life.delete()
    job = life.store.get_deletion("acme")
    assert job is not None
    with pytest.raises(ValueError, match="not over"):
        certificate(job)
