"""Holds: a switch for each region beside the noticeboard, and shards that are shut to whoever does not know of one."""

import pytest

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.domain.claim import BatchId
from cronfleet.domain.hold import Here, Hold, Mode, Switch, held, released
from cronfleet.domain.instant import SECOND
from cronfleet.domain.lease import SLOT
from cronfleet.domain.noticeboard import Notices
from cronfleet.ports.job_store import Refused
from cronfleet.ports.noticeboard import PutSwitch
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

WEST = Here("eu-west-1")
DRAIN = Hold("h1", Mode.DRAIN, "ada", NOON, "update")


def test_a_switch_is_kept_as_it_was_written_and_read_with_the_board_in_its_own_region_alone(engine: Engine) -> None:
    store = engine.store
    assert store.get_switch(WEST.region) == Switch(WEST.region)
    first = held(Switch(WEST.region), WEST, DRAIN, change_id="c1")
    store.commit([PutSwitch(first)])
    after = released(first, WEST, by="bo", now=NOON + SECOND, reason="done", change_id="c2")
    store.commit([PutSwitch(after)])
    again = held(after, WEST, Hold("h2", Mode.STANDBY, "ada", NOON + 2 * SECOND), change_id="c3")
    store.commit([PutSwitch(again)])
    assert store.get_switch(WEST.region) == again
    for consistent in (True, False):
        assert store.get_notices(consistent=consistent) == Notices(elsewhere=(again,))
    store.here = WEST
    assert store.get_notices() == Notices(switch=again)


def test_a_switch_is_replaced_only_by_who_has_read_it(engine: Engine) -> None:
    first = held(Switch(WEST.region), WEST, DRAIN, change_id="c1")
    engine.store.commit([PutSwitch(first)])
    with pytest.raises(Refused) as refused:
        engine.store.commit([PutSwitch(Switch(WEST.region, rev=1, change_id="another"))])
    assert refused.value.stored == first
    engine.store.commit([PutSwitch(first)])  # Its own write, its reply lost.


def test_a_switch_that_cannot_be_read_is_not_taken_for_a_release(engine: Engine) -> None:
    if engine.client is None:
        pytest.skip("nothing in memory can be unreadable")
    spoilt = {"pk": {"S": keys.FREEZES}, "sk": {"S": keys.hold(WEST.region)}, "rev": {"N": "1"}}
    engine.client.put_item(TableName=f"{engine.prefix}-{schema.TENANTS.name}", Item=spoilt)
    engine.store.here = WEST
    read = engine.store.get_notices()
    assert read.switch is None
    assert len(read.unreadable) == 1


def test_a_shard_that_is_shut_is_kept_from_whoever_does_not_know_why(engine: Engine) -> None:
    store = engine.store
    store.here = WEST
    sleeper = store.take_lease(0, NOON, "sleeper", NOON + SLOT, NOON)
    store.shut(0, 3)
    assert not store.announce(sleeper, BatchId(0, sleeper.fence, 1), NOON + SLOT)
    assert not store.release(sleeper, frozenset())
    following = NOON + SLOT
    assert store.take_lease(0, following, "unaware", following + SLOT, following, known=2) is None
    aware = store.take_lease(0, following, "aware", following + SLOT, following, known=3)
    assert aware is not None
    assert (aware.fence, aware.shut_rev, aware.shut_in) == (sleeper.fence + 2, 3, WEST.region)


def test_to_shut_a_shard_again_for_the_same_hold_or_an_older_one_changes_nothing(engine: Engine) -> None:
    store = engine.store
    store.here = WEST
    store.shut(0, 3)
    aware = store.take_lease(0, NOON, "aware", NOON + SLOT, NOON, known=3)
    for rev in (3, 2):
        store.shut(0, rev)
        assert store.get_lease(0) == aware
    store.shut(0, 5)
    assert store.get_lease(0).fence == aware.fence + 1


def test_a_shard_that_nobody_had_can_be_shut(engine: Engine) -> None:
    engine.store.here = WEST
    engine.store.shut(1, 3)
    assert engine.store.take_lease(1, NOON, "unaware", NOON + SLOT, NOON) is None
    assert engine.store.take_lease(1, NOON, "aware", NOON + SLOT, NOON, known=4) is not None


def test_what_one_region_has_shut_another_may_take(engine: Engine) -> None:
    engine.store.here = WEST
    engine.store.shut(0, 7)
    engine.store.here = Here("eu-central-1")
    assert engine.store.take_lease(0, NOON, "elsewhere", NOON + SLOT, NOON) is not None
