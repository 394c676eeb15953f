"""The authorizer with recorded gateway events: who gets in, and as whom."""

import copy
import json
from hashlib import sha256

import pytest

from cronfleet import bootstrap, settings
from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.api_key import ApiKey
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import NoAnswer
from functions.authorizer import handler
from tests.support.api import EVENTS
from tests.support.faults import Faulty
from tests.support.settable_clock import SettableClock

KEY = "cf_demo_0123456789abcdef"
RECORDED = json.loads((EVENTS / "authorizer.json").read_text(encoding="utf-8"))


@pytest.fixture
def store():
    made = MemoryJobStore(SettableClock())
    made.put_api_key(ApiKey("demo", sha256(KEY.encode()).hexdigest(), Tenant("acme", "priority")))
    return made


@pytest.fixture
def wire(monkeypatch):
    def wire(store):
        monkeypatch.setenv(settings.TABLE_PREFIX, "cronfleet")
        monkeypatch.setattr(bootstrap, "_store", lambda _: store)
        handler._service.cache_clear()

    return wire


def ask(authorization):
    event = copy.deepcopy(RECORDED)
    event["headers"]["authorization"] = authorization
    return handler.handle(event, None)


@pytest.mark.parametrize("header", [f"Bearer {KEY}", f"bearer {KEY}", f"BEARER  {KEY}"])
def test_a_valid_key_gets_in_as_its_tenant(wire, store, header):
    wire(store)
    assert ask(header) == {
        "isAuthorized": True,
        "context": {
            "tenant": "acme",
            "tier": "priority",
            "key_id": "demo",
            "role": "tenant_admin",
            "actor": "demo",
            "ends_at": "",
        },
    }


@pytest.mark.parametrize(
    "header",
    [
        "",
        KEY,
        f"Basic {KEY}",
        f"Bearer {KEY}x",
        f"Bearer {KEY[:-1]}",
        f"Bearer {KEY.upper()}",
        f"Bearer  {KEY} ",
        f"Bearer {KEY}\n",
        f"Bearer {KEY}, Bearer {KEY}",
        "Bearer cf_demo_",
        "Bearer cf_other_0123456789abcdef",
        "Bearer cf__0123456789abcdef0",
        f"Bearer {sha256(KEY.encode()).hexdigest()}",
        "Bearer " + "cf_demo_" + "a" * 10_000,
        "Bearer cf_démo_0123456789abcdef",
    ],
)
def test_anything_else_does_not(wire, store, header):
    wire(store)
    assert ask(header) == {"isAuthorized": False}


def test_a_request_without_headers_does_not_get_in(wire, store):
    wire(store)
    assert handler.handle({**RECORDED, "headers": None}, None) == {"isAuthorized": False}


def test_a_silent_store_is_an_error_and_no_permission(wire, store):
    def silent(_when, _name):
        raise NoAnswer

    wire(Faulty(store, silent))
    with pytest.raises(NoAnswer):
        ask(f"Bearer {KEY}")
