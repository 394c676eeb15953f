"""The noticeboard: read whole by one request, beside the directory of freezes, and written sheet by sheet."""

import pytest

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.domain.freeze import Freeze, FreezeDirectory, TierScope, with_tier_freeze
from cronfleet.domain.instant import MINUTE
from cronfleet.domain.noticeboard import Notice, Notices, Sheet, Topic, posted, sheet_of
from cronfleet.ports.freezes import PutFreezeDirectory
from cronfleet.ports.job_store import JobStore, Refused
from cronfleet.ports.noticeboard import PutSheet
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

OPEN = Notice(NOON + MINUTE, NOON + 60 * MINUTE)


def post(store: JobStore, topic: Topic, name: str, notice: Notice | None, change_id: str = "c1") -> Sheet:
    sheet = posted(store.get_sheet(topic, sheet_of(name)), name, notice, now=NOON, change_id=change_id)
    store.commit([PutSheet(sheet)])
    return sheet


def test_an_empty_board_says_nothing_and_freezes_nothing(engine: Engine) -> None:
    for consistent in (True, False):
        assert engine.store.get_notices(consistent=consistent) == Notices(FreezeDirectory())
    assert engine.store.get_sheet(Topic.EVENTS, 3) == Sheet(Topic.EVENTS, 3)


def test_notices_are_kept_as_they_were_posted_beside_what_is_frozen(engine: Engine) -> None:
    directory = with_tier_freeze(
        FreezeDirectory(), Freeze("f", TierScope("standard"), "ada", NOON), now=NOON, change_id="f"
    )
    engine.store.commit([PutFreezeDirectory(directory)])
    post(engine.store, Topic.BREAKERS, "acme~webhook~example.com", OPEN)
    sheet = post(engine.store, Topic.EVENTS, "acme", Notice())
    read = engine.store.get_notices()
    assert read.directory == directory
    assert read.about(Topic.BREAKERS, "acme~webhook~example.com", NOON) == OPEN
    assert read.about(Topic.EVENTS, "acme", NOON) == Notice()
    assert read.about(Topic.EVENTS, "bolt", NOON) is None
    assert engine.store.get_sheet(Topic.EVENTS, sheet_of("acme")) == sheet


def test_a_sheet_is_replaced_only_by_who_has_read_it(engine: Engine) -> None:
    first = post(engine.store, Topic.EVENTS, "acme", Notice())
    with pytest.raises(Refused) as refused:
        engine.store.commit([PutSheet(Sheet(Topic.EVENTS, first.number, {}, 1, "another"))])
    assert refused.value.stored == first
    engine.store.commit([PutSheet(first)])  # Its own write, its reply lost.
    assert post(engine.store, Topic.EVENTS, "acme", None, "c2").notices == {}


def test_an_item_that_cannot_be_read_hides_no_other(engine: Engine) -> None:
    if engine.client is None:
        pytest.skip("nothing in memory can be unreadable")
    post(engine.store, Topic.EVENTS, "acme", Notice())
    spoilt = {"pk": {"S": keys.FREEZES}, "sk": {"S": keys.FREEZE_DIRECTORY}, "rev": {"N": "1"}}
    engine.client.put_item(TableName=f"{engine.prefix}-{schema.TENANTS.name}", Item=spoilt)
    read = engine.store.get_notices()
    assert read.directory is None
    assert len(read.unreadable) == 1
    assert read.about(Topic.EVENTS, "acme", NOON) == Notice()
