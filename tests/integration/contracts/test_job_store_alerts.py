"""What every job store promises about alerts: kept exactly, moved on from what was read, found by what they are."""

from dataclasses import replace

import pytest

from cronfleet.domain.errors import Invalid
from cronfleet.domain.incident import Incident, IncidentKind, Standing
from cronfleet.ports.alerts import PutAlert
from cronfleet.ports.job_store import Refused
from tests.support.alert_examples import (
    CHANNEL,
    EMAIL,
    ENDED,
    EXAMPLES,
    HELD,
    INCIDENT,
    NOTICE,
    OFF,
    SLACK,
    STANDING,
    SUMMARY,
    WATCH,
    WEBHOOK,
)
from tests.support.stores import Engine

KIND = IncidentKind.STARTS_WITHIN


def test_all_are_kept_as_they_were_put(engine: Engine) -> None:
    store = engine.store
    store.commit([PutAlert(one) for one in EXAMPLES])
    assert [store.get_incident("acme", one.incident_id) for one in (INCIDENT, ENDED)] == [INCIDENT, ENDED]
    assert store.get_standing("acme", "schedule:nightly", KIND) == STANDING
    assert [store.get_channel("acme", one.name) for one in (CHANNEL, WEBHOOK, EMAIL, SLACK)] == [
        CHANNEL,
        WEBHOOK,
        EMAIL,
        SLACK,
    ]
    assert [store.get_notice("acme", one.notice_id) for one in (NOTICE, HELD, SUMMARY)] == [NOTICE, HELD, SUMMARY]
    assert store.get_watch("acme", "nightly") == WATCH
    assert store.get_watch("acme", "hourly") == OFF


def test_what_is_not_there_is_nobodys(engine: Engine) -> None:
    store = engine.store
    store.commit([PutAlert(one) for one in EXAMPLES])
    assert store.get_incident("other", INCIDENT.incident_id) is None
    assert store.get_channel("other", "night") is None
    assert store.get_notice("acme", "n9") is None
    assert store.get_watch("other", "nightly") is None
    assert store.get_standing("acme", "schedule:nightly", IncidentKind.SHARD_STOPPED) == Standing(
        "acme", "schedule:nightly", IncidentKind.SHARD_STOPPED
    )
    assert store.list_channels("other") == []
    assert store.list_incidents("other", cursor=None, limit=5).items == []


def test_each_moves_on_from_the_revision_that_was_read_alone(engine: Engine) -> None:
    store = engine.store
    store.commit([PutAlert(one) for one in EXAMPLES])
    for one in EXAMPLES:
        with pytest.raises(Refused):
            store.commit([PutAlert(replace(one, rev=3))])
        store.commit([PutAlert(replace(one, rev=2))])
    with pytest.raises(Refused) as refused:
        store.commit([PutAlert(replace(WATCH, judged_until=7, rev=2))])
    assert refused.value.stored == replace(WATCH, rev=2)


def test_a_write_whose_reply_was_lost_is_recognised(engine: Engine) -> None:
    engine.store.commit([PutAlert(INCIDENT), PutAlert(STANDING)])
    engine.store.commit([PutAlert(INCIDENT), PutAlert(STANDING)])
    with pytest.raises(Refused):
        engine.store.commit([PutAlert(replace(STANDING, incident_id="another"))])


def test_incidents_are_listed_newest_first_page_by_page(engine: Engine) -> None:
    incidents = [replace(INCIDENT, incident_id=f"01k{number:023}") for number in range(5)]
    engine.store.commit([PutAlert(one) for one in (*incidents, replace(INCIDENT, tenant="other"), CHANNEL, NOTICE)])
    seen: list[Incident] = []
    cursor = None
    for _ in range(4):
        page = engine.store.list_incidents("acme", cursor=cursor, limit=2)
        seen += page.items
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == incidents[::-1]
    with pytest.raises(Invalid):
        engine.store.list_incidents("acme", cursor="nonsense", limit=2)


def test_open_ones_are_found_by_their_standings(engine: Engine) -> None:
    hourly = replace(STANDING, subject="schedule:nightly-2", incident_id="i2")
    over = replace(STANDING, kind=IncidentKind.PING_WITHIN, incident_id=None)
    engine.store.commit([PutAlert(one) for one in (STANDING, hourly, over)])
    assert list(engine.store.list_standings("acme", cursor=None, limit=9).items) == [STANDING, hourly]
    of_one = engine.store.list_standings("acme", subject="schedule:nightly", cursor=None, limit=9)
    assert list(of_one.items) == [STANDING]
    first = engine.store.list_standings("acme", cursor=None, limit=1)
    assert first.cursor is not None
    found = list(first.items)
    rest = engine.store.list_standings("acme", cursor=first.cursor, limit=9)
    assert [*found, *rest.items] == [STANDING, hourly]


def test_channels_are_listed_without_deleted_ones_and_notices_in_the_order_asked_for(engine: Engine) -> None:
    gone = replace(EMAIL, is_deleted=True)
    engine.store.commit([PutAlert(one) for one in (SLACK, CHANNEL, gone, NOTICE, HELD)])
    assert list(engine.store.list_channels("acme")) == [CHANNEL, SLACK]
    assert engine.store.get_channel("acme", "mail") == gone
    assert list(engine.store.list_notices("acme", ["n2", "n7", "n1"])) == [HELD, NOTICE]
    assert list(engine.store.list_notices("acme", [])) == []
