"""Breakers: replaced only by who has read them, with the noticeboard in one transaction, and listed by tenant."""

from dataclasses import replace

import pytest

from cronfleet.domain.breaker import Breaker, BreakerKind, Guarded, State
from cronfleet.domain.instant import MINUTE
from cronfleet.domain.noticeboard import Topic, posted, sheet_of
from cronfleet.ports.breakers import PutBreaker
from cronfleet.ports.job_store import Refused
from cronfleet.ports.noticeboard import PutSheet
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

WEBHOOK = Guarded("acme", BreakerKind.WEBHOOK, "https://example.com/hook")
OPEN = Breaker(
    WEBHOOK,
    State.OPEN,
    failures=10,
    failed_at=NOON,
    error="503",
    opened_at=NOON,
    try_at=NOON + MINUTE,
    cooldown=MINUTE,
    rev=1,
    change_id="c1",
)
RECOVERING = replace(OPEN, state=State.RECOVERING, step=3, permits=5, rev=2, change_id="c2")
PROBING = replace(OPEN, state=State.PROBING, probe="run#2", rev=3, change_id="c3")


def test_a_breaker_is_kept_as_it_was_put(engine: Engine) -> None:
    store = engine.store
    assert store.get_breaker(WEBHOOK) == Breaker(WEBHOOK)
    assert store.find_breaker("acme", WEBHOOK.breaker_id) is None
    for breaker in (OPEN, RECOVERING, PROBING):
        assert store.put_breaker(breaker)
        assert store.get_breaker(WEBHOOK) == breaker
        assert store.find_breaker("acme", WEBHOOK.breaker_id) == breaker


def test_a_breaker_is_replaced_only_by_who_has_read_it(engine: Engine) -> None:
    store = engine.store
    assert store.put_breaker(OPEN)
    assert store.put_breaker(OPEN), "its own write, whose reply was lost"
    assert not store.put_breaker(replace(OPEN, failures=3, change_id="c9"))
    with pytest.raises(Refused) as refused:
        store.commit([PutBreaker(replace(PROBING, rev=4))])
    assert refused.value.stored == OPEN
    sheet = posted(
        store.get_sheet(Topic.BREAKERS, sheet_of(WEBHOOK.notice)), WEBHOOK.notice, OPEN.notice, now=NOON, change_id="c2"
    )
    store.commit([PutBreaker(RECOVERING), PutSheet(sheet)])
    assert store.get_notices().about(Topic.BREAKERS, WEBHOOK.notice, NOON) == OPEN.notice
    assert store.get_breaker(WEBHOOK) == RECOVERING


def test_a_tenants_breakers_are_listed_page_by_page(engine: Engine) -> None:
    store = engine.store
    names = [Guarded("acme", BreakerKind.HANDLER, f"job-{number}") for number in range(5)]
    for one in (*names, Guarded("other", BreakerKind.HANDLER, "job-0")):
        store.put_breaker(Breaker(one, failures=1, failed_at=NOON, rev=1))
    found, cursor = [], None
    for _ in range(5):
        page = store.list_breakers("acme", cursor=cursor, limit=2)
        found += [one.guarded for one in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(found, key=lambda one: one.name) == names
