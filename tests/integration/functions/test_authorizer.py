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
from cronfleet.services.door import Door
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


SHOWN = "what only the edge knows"


class Known:
    """The secret between edge and API."""

    def accepted(self):
        return (SHOWN, "the one before")


@pytest.fixture
def behind_an_edge(wire, store, monkeypatch):
    wire(store)
    monkeypatch.setattr(bootstrap, "door", lambda _: Door(Known()))
    handler._door.cache_clear()
    yield
    handler._door.cache_clear()


def ask_showing(shown, authorization):
    event = copy.deepcopy(RECORDED)
    sources = {"authorization": authorization, settings.EDGE_HEADER: shown}
    event["headers"] |= {name: value for name, value in sources.items() if value is not None}
    if authorization is None:
        del event["headers"]["authorization"]
    event["identitySource"] = [value for value in sources.values() if value is not None]
    return handler.handle(event, None)


@pytest.mark.parametrize("shown", [SHOWN, "the one before"])
@pytest.mark.usefixtures("behind_an_edge")
def test_who_comes_through_the_edge_with_a_key_gets_in(shown):
    assert ask_showing(shown, f"Bearer {KEY}")["context"]["tenant"] == "acme"


@pytest.mark.parametrize("shown", ["", "guessed", SHOWN.upper(), "schlüssel"])
@pytest.mark.usefixtures("behind_an_edge")
def test_who_comes_around_the_edge_gets_in_with_no_key(shown):
    assert ask_showing(shown, f"Bearer {KEY}") == {"isAuthorized": False}
    assert ask_showing(shown, None) == {"isAuthorized": False}


@pytest.mark.usefixtures("behind_an_edge")
def test_the_edge_alone_opens_the_routes_that_need_no_key_and_makes_nobody_anyone():
    assert ask_showing(SHOWN, None) == {"isAuthorized": True}
    assert ask_showing(SHOWN, "Bearer cf_demo_wrong") == {"isAuthorized": False}


def test_without_an_edge_nobody_has_to_show_anything(wire, store):
    wire(store)
    handler._door.cache_clear()
    assert ask(f"Bearer {KEY}")["isAuthorized"]
