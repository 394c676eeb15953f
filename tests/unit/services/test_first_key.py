"""The first key: a platform admin's, made by whoever has AWS rights; and put back, as often as one likes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cronfleet import bootstrap, first_key
from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.api_key import ApiKey, digest_of
from cronfleet.domain.errors import Conflict, Invalid
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import Tenant, TenantStatus
from cronfleet.ports.job_store import NoAnswer
from cronfleet.services.access import Access
from cronfleet.services.first_key import FirstKey
from tests.support.faults import Crash, FaultAt, Faulty
from tests.support.settable_clock import NOON, CountingIds, SettableClock

KEY = "cf_0a1b2c3d_0123456789abcdef0123456789abcdef"


class Zeros:
    """Secrets that are none."""

    def secret(self, size: int) -> bytes:
        return bytes(size)


@pytest.fixture
def store() -> MemoryJobStore:
    return MemoryJobStore(SettableClock())


def service(store: Any, first_id: int = 1) -> FirstKey:
    return FirstKey(store=store, clock=SettableClock(), ids=CountingIds(first_id), secrets=Zeros())


def role_of(store: MemoryJobStore, key: str) -> Role | None:
    credential = Access(store=store, clock=SettableClock()).credential_of(f"Bearer {key}")
    return None if credential is None else credential.role


def test_it_makes_the_tenant_and_a_platform_admins_key_and_audits_both(store: MemoryJobStore) -> None:
    key = service(store).make("operations")
    assert role_of(store, key) is Role.PLATFORM_ADMIN
    assert store.get_tenant("operations") == Tenant(
        "operations", created_at=NOON, updated_at=NOON, rev=1, change_id=f"{1:026}"
    )
    entries = sorted(store.state.audit.values(), key=lambda one: one.entry_id)
    assert [(one.tenant, one.actor, one.credential, one.action) for one in entries] == [
        ("operations", "operator", "aws", "create_tenant"),
        ("operations", "operator", "aws", "make_key"),
    ]
    assert key not in str(store.state)


def test_a_key_that_is_there_is_left_as_it_is(store: MemoryJobStore) -> None:
    service(store).make("demo", KEY)
    before = repr(store.state)
    assert service(store).make("demo", KEY) == KEY
    assert repr(store.state) == before


@pytest.mark.parametrize(
    "lost",
    [
        {"role": Role.TENANT_ADMIN},
        {"revoked_at": NOON - 1},
        {"expires_at": NOON},
    ],
)
def test_a_key_that_may_do_less_or_has_ended_is_put_back(store: MemoryJobStore, lost: dict[str, Any]) -> None:
    store.put_api_key(replace(ApiKey("0a1b2c3d", digest_of(KEY), Tenant("demo")), **lost))
    service(store).make("demo", KEY)
    assert role_of(store, KEY) is Role.PLATFORM_ADMIN


def test_a_second_first_key_of_a_tenant_is_the_way_back_in(store: MemoryJobStore) -> None:
    service(store).make("demo", KEY)
    other = service(store, 100).make("demo")
    assert other != KEY
    assert role_of(store, other) is role_of(store, KEY) is Role.PLATFORM_ADMIN


def test_somebody_elses_key_is_not_taken_over(store: MemoryJobStore) -> None:
    store.put_api_key(ApiKey("0a1b2c3d", "1" * 64, Tenant("demo"), Role.VIEWER))
    with pytest.raises(Conflict):
        service(store).make("demo", KEY)
    store.put_api_key(ApiKey("0a1b2c3d", digest_of(KEY), Tenant("rival"), Role.VIEWER))
    with pytest.raises(Conflict):
        service(store).make("demo", KEY)


@pytest.mark.parametrize("status", [TenantStatus.DELETING, TenantStatus.DELETED])
def test_a_tenant_that_goes_gets_no_key(store: MemoryJobStore, status: TenantStatus) -> None:
    store.state.tenants["demo"] = Tenant("demo", status=status, rev=3)
    with pytest.raises(Conflict, match=status):
        service(store).make("demo")


@pytest.mark.parametrize(("tenant", "key"), [("", ""), ("a#b", ""), ("demo", "cf_short_1"), ("demo", "whatever")])
def test_what_is_no_id_or_no_key_is_refused(store: MemoryJobStore, tenant: str, key: str) -> None:
    with pytest.raises(Invalid):
        service(store).make(tenant, key)
    assert not store.state.tenants


def test_it_is_done_whole_or_not_at_all_wherever_it_dies() -> None:
    count = FaultAt(None)
    service(Faulty(MemoryJobStore(SettableClock()), count)).make("demo", KEY)
    for step in range(len(count.moments)):
        store = MemoryJobStore(SettableClock())
        with pytest.raises(Crash):
            service(Faulty(store, FaultAt(step))).make("demo", KEY)
        assert bool(store.state.tenants) == bool(store.state.api_keys) == bool(store.state.audit)
        assert service(store).make("demo", KEY) == KEY
        assert len(store.state.audit) == 2


# --- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def command(store: MemoryJobStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(bootstrap, "_store", lambda _: store)
    return ["--tenant", "demo"]


def test_the_command_prints_the_key(command: list[str], store: MemoryJobStore, capsys: Any) -> None:
    assert first_key.main(command) == 0
    assert role_of(store, capsys.readouterr().out.strip()) is Role.PLATFORM_ADMIN


def test_the_command_keeps_the_key_in_a_file_that_its_owner_alone_can_read(
    command: list[str], store: MemoryJobStore, capsys: Any, tmp_path: Path
) -> None:
    path = tmp_path / "key"
    assert first_key.main([*command, "--key-file", str(path)]) == 0
    key = path.read_text(encoding="utf-8")
    assert role_of(store, key) is Role.PLATFORM_ADMIN
    assert path.stat().st_mode & 0o077 == 0
    assert first_key.main([*command, "--key-file", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == key
    assert capsys.readouterr().out == ""
    assert len(store.state.api_keys) == 1


def test_the_command_says_in_a_line_why_it_failed(
    command: list[str], store: MemoryJobStore, capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("no key", encoding="utf-8")
    assert first_key.main([*command, "--key-file", str(tmp_path / "key")]) == 1
    assert capsys.readouterr().err.startswith("first_key: key: is no key")

    def silent(_when: str, _name: str) -> None:
        raise NoAnswer("the store said nothing")

    monkeypatch.setattr(bootstrap, "_store", lambda _: Faulty(store, silent))
    assert first_key.main(command) == 1
    assert capsys.readouterr().err == "first_key: the store said nothing\n"
    with pytest.raises(SystemExit):
        first_key.main(["--tenant", "a b"])
