"""API keys: shown once, never above their maker, ended when they are said to end, and all of it in the audit log."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.api_key import USE_NOTED_EVERY, ApiKey, KeyStatus
from cronfleet.domain.audit import AuditEntry
from cronfleet.domain.errors import ClockSkewed, Conflict, Contended, Forbidden, Invalid, NotFound
from cronfleet.domain.instant import DAY, HOUR, SECOND
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import Tenant, TenantStatus
from cronfleet.ports.job_store import NoAnswer
from cronfleet.services.access import Access, Caller
from cronfleet.services.api_keys import MAX_KEYS, MAX_LIFE, ApiKeys, Wish
from tests.support.faults import Crash, FaultAt, Faulty
from tests.support.settable_clock import NOON, CountingIds, SettableClock

ACME = Tenant("acme", rev=1)
ADMIN = Caller(ACME, "boss", "request-1", Role.TENANT_ADMIN, "ada")
PLATFORM = Caller(ACME, "root", "request-2", Role.PLATFORM_ADMIN, "root", "platform")


class Numbers:
    """Secrets that a test can tell apart."""

    def __init__(self) -> None:
        self._drawn = 0

    def secret(self, size: int) -> bytes:
        self._drawn += 1
        return bytes([self._drawn]) * size


class World:
    def __init__(self, hook: Any = None) -> None:
        self.clock = SettableClock()
        self.store = MemoryJobStore(self.clock)
        self.store.put_api_key(ApiKey("boss", "0" * 64, ACME, Role.TENANT_ADMIN, change_id="c"))
        store: Any = self.store if hook is None else Faulty(self.store, hook)
        self.keys = ApiKeys(store=store, clock=self.clock, ids=CountingIds(), secrets=Numbers())
        self.access = Access(store=self.store, clock=self.clock)

    def make(self, role: Role = Role.EDITOR, caller: Caller = ADMIN, **wish: Any) -> dict[str, Any]:
        return dict(self.keys.make(caller, Wish(role, **wish)).form)

    def gets_in(self, form: dict[str, Any]) -> bool:
        return self.access.credential_of(f"Bearer {form['key']}") is not None

    @property
    def entries(self) -> list[AuditEntry]:
        return sorted(self.store.state.audit.values(), key=lambda one: one.entry_id)

    def listed(self) -> dict[str, dict[str, Any]]:
        page = self.keys.list(ADMIN, cursor=None, limit=MAX_KEYS)
        return {str(one["id"]): dict(one) for one in page.items}


@pytest.fixture
def world() -> World:
    return World()


def test_a_key_lets_its_bearer_in_as_what_was_asked_for(world: World) -> None:
    made = world.make(Role.OPERATOR, name="night shift")
    credential = world.access.credential_of(f"Bearer {made['key']}")
    assert credential is not None
    assert (credential.tenant.tenant_id, credential.role, credential.actor) == ("acme", Role.OPERATOR, "night shift")
    assert credential.name == made["id"]
    assert made["key"].startswith(made["prefix"])


def test_what_is_kept_says_nothing_of_the_key(world: World) -> None:
    made = world.make(name="night shift")
    secret = made["key"].removeprefix(made["prefix"])
    assert len(secret) == 43
    kept = f"{world.store.state.api_keys} {world.entries} {world.listed()}"
    assert secret not in kept
    assert world.store.state.api_keys[made["id"]].digest not in f"{world.entries} {world.listed()}"


def test_two_keys_of_one_moment_have_nothing_in_common(world: World) -> None:
    first, second = world.make(), world.make()
    assert first["id"] != second["id"]
    assert first["key"].split("_")[2] != second["key"].split("_")[2]


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.PLATFORM_ADMIN])
def test_a_tenant_admin_makes_keys_up_to_its_own_role(world: World, role: Role) -> None:
    assert world.make(role)["role"] == role


def test_nobody_makes_a_key_that_may_do_more_than_its_maker(world: World) -> None:
    with pytest.raises(Forbidden):
        world.make(Role.PLATFORM_ADMIN)
    assert world.make(Role.PLATFORM_ADMIN, PLATFORM)["role"] == "platform_admin"


def test_a_key_is_let_in_until_its_end_and_not_at_it(world: World) -> None:
    made = world.make(expires_at=NOON + HOUR)
    world.clock.set(NOON + HOUR - 1)
    assert world.gets_in(made)
    world.clock.set(NOON + HOUR)
    assert not world.gets_in(made)
    assert world.listed()[made["id"]]["status"] == "expired"


@pytest.mark.parametrize("expires_at", [NOON, NOON - 1, NOON + MAX_LIFE + 1])
def test_an_end_that_is_past_or_out_of_sight_is_refused(world: World, expires_at: int) -> None:
    with pytest.raises(Invalid, match="expires_at"):
        world.make(expires_at=expires_at)


def test_a_revoked_key_lets_nobody_in_and_stays_revoked(world: World) -> None:
    made = world.make()
    world.keys.revoke(ADMIN, made["id"], "lost")
    assert not world.gets_in(made)
    count = len(world.entries)
    world.keys.revoke(ADMIN, made["id"])
    assert len(world.entries) == count
    assert world.listed()[made["id"]]["status"] == "revoked"


def test_a_rotated_key_works_on_for_the_overlap_and_the_new_one_at_once(world: World) -> None:
    old = world.make(Role.VIEWER, name="dashboard")
    new = dict(world.keys.rotate(ADMIN, old["id"], 3_600).form)
    assert (new["role"], new["name"], new["expires_at"]) == ("viewer", "dashboard", None)
    assert world.gets_in(old)
    assert world.gets_in(new)
    assert world.listed()[old["id"]]["replaced_by"] == new["id"]
    world.clock.advance(HOUR)
    assert not world.gets_in(old)
    assert world.gets_in(new)


def test_without_an_overlap_the_old_key_ends_at_once(world: World) -> None:
    old = world.make()
    world.keys.rotate(ADMIN, old["id"], 0)
    assert not world.gets_in(old)


def test_an_overlap_makes_no_life_longer_and_the_new_key_lives_as_long_as_the_old_one_was_to(world: World) -> None:
    old = world.make(expires_at=NOON + 2 * DAY)
    world.clock.advance(DAY)
    new = dict(world.keys.rotate(ADMIN, old["id"], 30 * DAY // SECOND).form)
    stored = world.store.state.api_keys
    assert stored[old["id"]].expires_at == NOON + 2 * DAY
    assert stored[new["id"]].expires_at == NOON + 3 * DAY


def test_a_key_that_has_ended_or_been_replaced_is_not_rotated(world: World) -> None:
    old = world.make()
    new = world.keys.rotate(ADMIN, old["id"], 3_600).form
    with pytest.raises(Conflict, match=str(new["id"])):
        world.keys.rotate(ADMIN, old["id"], 3_600)
    world.keys.revoke(ADMIN, str(new["id"]))
    with pytest.raises(Conflict, match="revoked"):
        world.keys.rotate(ADMIN, str(new["id"]), 3_600)


def test_a_key_of_another_tenant_is_not_there(world: World) -> None:
    world.store.put_api_key(ApiKey("theirs", "1" * 64, Tenant("rival"), Role.VIEWER))
    for change in (lambda: world.keys.rotate(ADMIN, "theirs", 0), lambda: world.keys.revoke(ADMIN, "theirs")):
        with pytest.raises(NotFound):
            change()
    assert "theirs" not in world.listed()


def test_a_key_above_the_callers_role_is_neither_rotated_nor_revoked(world: World) -> None:
    made = world.make(Role.PLATFORM_ADMIN, PLATFORM)
    for change in (lambda: world.keys.rotate(ADMIN, made["id"], 0), lambda: world.keys.revoke(ADMIN, made["id"])):
        with pytest.raises(Forbidden):
            change()
    assert world.gets_in(made)


def test_a_key_does_not_revoke_itself_and_so_never_the_last_one(world: World) -> None:
    with pytest.raises(Conflict, match="itself"):
        world.keys.revoke(ADMIN, "boss")
    world.keys.revoke(PLATFORM, "boss")
    assert world.listed()["boss"]["status"] == "revoked"


def test_of_two_keys_that_revoke_each_other_at_once_one_is_left(world: World) -> None:
    """Each decides before either writes; whoever writes second sees that its own key is gone."""
    other = world.make(Role.TENANT_ADMIN)
    rival = replace(ADMIN, credential=other["id"])
    calls: list[str] = []

    def first_the_other(when: str, name: str) -> None:
        if (when, name) == ("before", "commit") and not calls:
            calls.append("once")
            world.keys.revoke(rival, "boss")

    keys = ApiKeys(
        store=Faulty(world.store, first_the_other), clock=world.clock, ids=CountingIds(900), secrets=Numbers()
    )
    with pytest.raises(Conflict, match="your own key is revoked"):
        keys.revoke(ADMIN, other["id"])
    assert world.gets_in(other)
    assert world.listed()["boss"]["status"] == "revoked"


def test_every_change_is_in_the_audit_log_with_who_made_it_and_for_whom(world: World) -> None:
    made = world.make(Role.VIEWER, PLATFORM, reason="for the dashboard")
    new = world.keys.rotate(ADMIN, made["id"], 60, "yearly").form
    world.keys.revoke(ADMIN, str(new["id"]), "lost")
    said = [(entry.action, entry.subject, entry.actor, entry.credential, entry.reason) for entry in world.entries]
    assert said == [
        ("make_key", f"key:{made['id']}", "root", "root", "for the dashboard"),
        ("rotate_key", f"key:{made['id']}", "ada", "boss", "yearly"),
        ("make_key", f"key:{new['id']}", "ada", "boss", "yearly"),
        ("revoke_key", f"key:{new['id']}", "ada", "boss", "lost"),
    ]
    assert [entry.home_tenant for entry in world.entries] == ["platform", "", "", ""]
    revoked = world.entries[-1]
    assert revoked.before is not None
    assert revoked.after is not None
    assert (revoked.before["revoked_at"], revoked.after["revoked_at"]) == (None, "2026-11-30T12:00:00Z")


def test_a_tenant_has_so_many_keys_and_no_more(world: World) -> None:
    for number in range(MAX_KEYS - 1):
        world.store.put_api_key(ApiKey(f"k{number}", "0" * 64, ACME))
    with pytest.raises(Conflict, match=str(MAX_KEYS)):
        world.make()
    with pytest.raises(Conflict, match=str(MAX_KEYS)):
        world.keys.rotate(ADMIN, "k1", 0)


@pytest.mark.parametrize("status", [TenantStatus.DELETING, TenantStatus.DELETED])
def test_nobody_gets_a_key_to_a_tenant_that_goes(world: World, status: TenantStatus) -> None:
    with pytest.raises(Conflict, match=status):
        world.make(caller=replace(PLATFORM, tenant=replace(ACME, status=status)))


@pytest.mark.parametrize("status", [TenantStatus.DELETING, TenantStatus.DELETED])
def test_the_keys_of_a_tenant_that_goes_let_nobody_in(world: World, status: TenantStatus) -> None:
    made = world.make()
    world.store.state.tenants["acme"] = replace(ACME, status=status)
    assert not world.gets_in(made)


def test_the_tier_is_the_tenants_of_today_and_not_that_of_the_keys_first_day(world: World) -> None:
    made = world.make()
    world.store.state.tenants["acme"] = replace(ACME, tier="priority", rev=2)
    credential = world.access.credential_of(f"Bearer {made['key']}")
    assert credential is not None
    assert credential.tenant.tier == "priority"


def test_a_use_is_noted_once_in_five_minutes_and_not_with_every_request(world: World) -> None:
    made = world.make()
    heard: list[str] = []
    access = Access(store=Faulty(world.store, lambda when, name: heard.append(name)), clock=world.clock)  # type: ignore[arg-type]  # it passes everything on
    for _ in range(10):
        access.credential_of(f"Bearer {made['key']}")
        world.clock.advance(USE_NOTED_EVERY // 10)
    assert heard.count("note_use") == 2
    assert world.listed()[made["id"]]["last_used_at"] == "2026-11-30T12:00:00Z"
    access.credential_of(f"Bearer {made['key']}")
    assert world.listed()[made["id"]]["last_used_at"] == "2026-11-30T12:05:00Z"


def test_a_use_that_cannot_be_noted_keeps_nobody_out(world: World) -> None:
    def silent(_when: str, name: str) -> None:
        if name == "note_use":
            raise NoAnswer

    made = world.make()
    access = Access(store=Faulty(world.store, silent), clock=world.clock)  # type: ignore[arg-type]  # it passes the rest on
    assert access.credential_of(f"Bearer {made['key']}") is not None


def test_a_clock_that_is_off_judges_no_end(world: World) -> None:
    made = world.make(expires_at=NOON + HOUR)
    world.store.state.skew_ms = 3_000
    with pytest.raises(ClockSkewed):
        world.gets_in(made)


# --- crash points --------------------------------------------------------------------------------------------------

CHANGES = {
    "make": lambda world: world.keys.make(ADMIN, Wish(Role.VIEWER)),
    "rotate": lambda world: world.keys.rotate(ADMIN, "old", 0),
    "revoke": lambda world: world.keys.revoke(ADMIN, "old"),
}


def _world(hook: Any) -> World:
    world = World(hook)
    world.store.put_api_key(ApiKey("old", "2" * 64, ACME, Role.VIEWER, created_at=NOON, change_id="c"))
    return world


def _keys(world: World) -> list[tuple[str, KeyStatus, bool]]:
    state = world.store.state
    keys = state.api_keys.values()
    return sorted((key.key_id, key.status(NOON), ("acme", key.key_id) in state.listed_keys) for key in keys)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_made_whole_or_not_at_all_wherever_the_api_dies(change: str) -> None:
    before, whole = _world(None), _world(None)
    CHANGES[change](whole)
    count = FaultAt(None)
    CHANGES[change](_world(count))
    for step in range(len(count.moments)):
        world = _world(FaultAt(step))
        with pytest.raises(Crash):
            CHANGES[change](world)
        done = bool(world.entries)
        wanted = whole if done else before
        assert _keys(world) == _keys(wanted)
        assert [entry.subject for entry in world.entries] == [entry.subject for entry in wanted.entries]


@pytest.mark.parametrize("change", CHANGES)
def test_a_lost_reply_makes_no_second_key_and_no_second_entry(change: str) -> None:
    whole = _world(None)
    CHANGES[change](whole)
    count = FaultAt(None)
    CHANGES[change](_world(count))
    for step, (_, name) in enumerate(count.moments):
        if name == "skew_ms":
            continue  # It asks this process alone.
        world = _world(FaultAt(step, NoAnswer))
        CHANGES[change](world)
        assert _keys(world) == _keys(whole)
        assert [entry.subject for entry in world.entries] == [entry.subject for entry in whole.entries]


def test_a_store_that_never_answers_is_said_to_be_silent() -> None:
    def silent(_when: str, _name: str) -> None:
        raise NoAnswer

    with pytest.raises(Contended):
        World(silent).make()
