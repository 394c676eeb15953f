"""A process learns from the store's Date header how far its clock is off."""

import pytest
import time_machine

from cronfleet.adapters.dynamodb.job_store import DynamoJobStore, dynamodb_client
from cronfleet.adapters.dynamodb.skew import judged
from cronfleet.domain.instant import SECOND
from tests.support.moto import mocked_aws
from tests.support.settable_clock import NOON, SettableClock
from tests.support.tables import create_tables


@pytest.mark.parametrize(
    ("sent", "received", "skew"),
    [
        (0, 50, 0),
        (999, 1_200, 0),
        (-300, 20, 0),
        (-400, -100, -100),
        (1_000, 1_050, 0),
        (1_001, 1_050, 1),
        (4_000, 4_100, 3_000),
        (-5_000, -4_900, -4_900),
        (-60_000, 60_000, 0),
    ],
)
def test_the_skew_is_the_least_that_explains_the_header(sent: int, received: int, skew: int) -> None:
    """The header names the second from `NOON` on; the request was sent and answered at these distances from it."""
    assert judged(NOON + sent, NOON + received, NOON) == skew


def test_every_answer_tells_the_store_the_time() -> None:
    clock = SettableClock()
    with mocked_aws(), time_machine.travel(NOON / SECOND, tick=False):
        client = dynamodb_client()
        create_tables(client, "test")
        store = DynamoJobStore("test", client, clock)
        assert store.skew_ms() is None, "nothing was asked yet"
        store.get_lease(0)
        assert store.skew_ms() == 0
        clock.advance(3_500)
        store.get_lease(0)
        assert store.skew_ms() == 2_500
        clock.advance(-63_500)
        store.get_lease(0)
        assert store.skew_ms() == -60_000


def test_a_refusal_tells_the_time_as_well_as_an_answer() -> None:
    clock = SettableClock(NOON - 10 * SECOND)
    with mocked_aws(), time_machine.travel(NOON / SECOND, tick=False):
        client = dynamodb_client()
        create_tables(client, "test")
        store = DynamoJobStore("test", client, clock)
        store.release_gate("acme", "nightly", "nobody", NOON)
        assert store.skew_ms() == -10_000
