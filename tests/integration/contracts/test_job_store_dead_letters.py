"""What every job store promises about dead letters, and about messages that nobody can read."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from cronfleet.domain.dead_letter import settled
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run, RunStatus
from cronfleet.domain.settlement import How
from cronfleet.domain.undelivered import Delivery, UnreadableMessage
from cronfleet.ports.dead_letters import Died, SettleUnreadable, redriven_by
from cronfleet.ports.job_store import Refused
from tests.support.examples import TENANT, run
from tests.support.settable_clock import NOON

ALL = Died()


def dead(number: int, status: RunStatus = RunStatus.DEAD, **changes: Any) -> Run:
    """A run that was due at noon or some minutes later, and is dead a second after it was due."""
    at = NOON + number * MINUTE
    row = replace(run(at), status=RunStatus.RUNNING, due_at=at, **changes)
    return row.ended(status, at + SECOND, Reason(Code.ATTEMPTS, "all 3 attempts failed"))


def stored(store: Any, *rows: Run) -> None:
    for row in rows:
        assert store.insert_run(row) is None


def ids(store: Any, died: Died = ALL, *, limit: int = 100, oldest_first: bool = False) -> list[str]:
    """Of every page, in order."""
    page = store.list_letters(TENANT, died, cursor=None, limit=limit, oldest_first=oldest_first)
    found = [letter.key.run_id for letter in page.items]
    while page.cursor is not None:
        page = store.list_letters(TENANT, died, cursor=page.cursor, limit=limit, oldest_first=oldest_first)
        found += [letter.key.run_id for letter in page.items]
    return found


def test_a_dead_row_is_a_letter_that_says_when_it_died_why_and_when_it_goes(store: Any) -> None:
    row = dead(0)
    stored(store, row)
    (letter,) = store.list_letters(TENANT, ALL, cursor=None, limit=10).items
    assert (letter.key, letter.status, letter.died_at) == (row.key, RunStatus.DEAD, NOON + SECOND)
    assert (letter.signature, letter.reason) == (row.signature, row.reason)
    assert abs(letter.expires_at - (NOON + 30 * DAY)) <= MINUTE
    assert store.get_run(row.key) == row, "with its signature"


@pytest.mark.parametrize(
    ("status", "is_letter"),
    [(status, status in (RunStatus.DEAD, RunStatus.REFUSED)) for status in RunStatus],
)
def test_of_all_rows_those_that_are_dead_or_refused_are_letters(store: Any, status: RunStatus, is_letter: bool) -> None:
    row = replace(run(), status=status, finished_at=NOON)
    stored(store, row)
    assert ids(store) == ([row.key.run_id] if is_letter else [])


def test_a_refused_stretch_of_time_is_no_letter(store: Any) -> None:
    stored(store, replace(dead(0, RunStatus.REFUSED), until_nominal_at=NOON + DAY))
    assert ids(store) == []


def test_a_settled_letter_leaves_the_view_and_its_row_says_what_became_of_it(store: Any) -> None:
    row = dead(0)
    stored(store, row)
    done = settled(row, How.DISCARDED, "key-1", NOON + MINUTE, reason="the customer is gone")
    assert store.replace_run(done) is None
    assert ids(store) == []
    kept = store.get_run(row.key)
    assert (kept.status, kept.settled) == (RunStatus.DEAD, done.settled)


def test_a_redriven_letter_stands_among_those_of_the_operation_that_redrove_it(store: Any) -> None:
    rows = [dead(number) for number in range(4)]
    stored(store, *rows)
    for row in rows[:3]:
        done = settled(row, How.REDRIVEN, "key-1", NOON + HOUR, run_id="its run", operation="o1")
        assert store.replace_run(done) is None
        assert store.get_run(row.key) == done
    assert ids(store) == [rows[3].key.run_id]
    read = partial(store.list_letters, redriven_by(TENANT, "o1"), ALL, limit=2, oldest_first=True)
    first = read(cursor=None)
    assert [letter.key for letter in (*first.items, *read(cursor=first.cursor).items)] == [row.key for row in rows[:3]]
    assert list(store.list_letters(redriven_by(TENANT, "o2"), ALL, cursor=None, limit=5).items) == []


def test_letters_come_newest_first_or_oldest_first_page_by_page_each_once(store: Any) -> None:
    rows = [dead(number) for number in range(7)]
    stored(store, *rows)
    newest = [row.key.run_id for row in reversed(rows)]
    for limit in (1, 3, 7, 8):
        assert ids(store, limit=limit) == newest
        assert ids(store, limit=limit, oldest_first=True) == newest[::-1]


def test_letters_that_died_in_the_same_moment_come_once_each(store: Any) -> None:
    rows = [replace(dead(number), finished_at=NOON) for number in range(5)]
    stored(store, *rows)
    for limit in (1, 2, 3):
        assert sorted(ids(store, limit=limit)) == sorted(row.key.run_id for row in rows)


def test_a_stretch_of_time_includes_its_beginning_and_not_its_end(store: Any) -> None:
    rows = [dead(number) for number in range(4)]
    stored(store, *rows)
    first, second, third, _ = (row.key.run_id for row in rows)
    died = Died(NOON + MINUTE + SECOND, NOON + 3 * MINUTE + SECOND)
    assert ids(store, died) == [third, second]
    assert ids(store, Died(until_at=NOON + 2 * SECOND)) == [first]
    assert ids(store, Died(NOON + DAY, NOON)) == [], "a stretch that ends before it begins"


def test_a_tenants_letters_are_its_own(store: Any) -> None:
    stored(store, dead(0))
    assert list(store.list_letters("another", ALL, cursor=None, limit=10).items) == []


def test_a_cursor_of_another_list_is_refused(store: Any) -> None:
    stored(store, dead(0), dead(1))
    cursor = store.list_letters(TENANT, ALL, cursor=None, limit=1).cursor
    for wrong in ("WyJhIl0", "%", cursor[:-3]):
        with pytest.raises(Invalid):
            store.list_letters(TENANT, ALL, cursor=wrong, limit=1)
    with pytest.raises(Invalid):
        store.list_letters("another", ALL, cursor=cursor, limit=1)


def unreadable(number: int) -> UnreadableMessage:
    delivery = Delivery("runs-standard-dead", f"message-{number}", 6, NOON + number * SECOND)
    return UnreadableMessage(delivery, "{not json", "message: is not JSON", NOON + MINUTE)


def test_messages_that_nobody_can_read_are_kept_once_and_listed_newest_first(store: Any) -> None:
    messages = [unreadable(number) for number in range(3)]
    for message in [*messages, replace(messages[0], came_at=NOON + DAY)]:
        store.keep_unreadable(message)
    page = store.list_unreadable(cursor=None, limit=2)
    rest = store.list_unreadable(cursor=page.cursor, limit=2)
    assert [*page.items, *rest.items] == messages[::-1]
    assert rest.cursor is None


def test_a_message_that_is_discarded_leaves_the_list_once_and_does_not_come_back(store: Any) -> None:
    messages = [unreadable(number) for number in range(3)]
    for message in messages:
        store.keep_unreadable(message)
    gone = messages[1].discarded("key-1", NOON + DAY, "sent by another program")
    store.commit([SettleUnreadable(gone)])
    store.commit([SettleUnreadable(gone)])
    with pytest.raises(Refused):
        store.commit([SettleUnreadable(messages[1].discarded("key-2", NOON + DAY, "me too"))])
    with pytest.raises(Refused):
        store.commit([SettleUnreadable(unreadable(7).discarded("key-1", NOON, "was never there"))])
    store.keep_unreadable(messages[1])
    assert list(store.list_unreadable(cursor=None, limit=5).items) == [messages[2], messages[0]]
    assert store.get_unreadable(gone.delivery.sent_at, gone.delivery.message_id) == gone
    assert store.get_unreadable(NOON, "absent") is None
