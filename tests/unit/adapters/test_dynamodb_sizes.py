"""A write is charged by the size of the whole item: the hot ones stay under their limits, whatever the ids."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from cronfleet.adapters.dynamodb.items.calendars import calendar_item
from cronfleet.adapters.dynamodb.items.runs import run_item
from cronfleet.adapters.dynamodb.items.shards import batch_item, books_item
from cronfleet.adapters.dynamodb.items.timers import run_timer_item, timer_item
from cronfleet.adapters.dynamodb.schema import BY_TENANT, DUE, SCHEDULES
from cronfleet.domain.backlog import MAX_STRETCHES, Backlog, Stretch
from cronfleet.domain.books import MAX_OPEN_BATCHES, Books, Owed
from cronfleet.domain.calendar import MAX_ENTRIES, MAX_TEXT_BYTES, CalendarRule, Mode
from cronfleet.domain.calendar_form import parse_content
from cronfleet.domain.claim import MAX_BATCH_ENTRIES, MAX_FIRES_PER_CLAIM, Batch, BatchId, Fire, RunClaim, ScheduleClaim
from cronfleet.domain.cron_grammar import LONGEST_EXPRESSION
from cronfleet.domain.freeze import label_hashes
from cronfleet.domain.instant import DAY, MINUTE, SECOND
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.misfire import NONE_AFTER_PAUSE, Misfire, MisfirePolicy
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Attempt, Outcome, RunStatus
from cronfleet.domain.schedule import MAX_EPOCH_STARTS, Hold, Shadow, Status, Timer
from cronfleet.domain.zone_stamp import ZoneStamp
from tests.support.builders import cron
from tests.support.examples import claim_of, run, run_timer, waiting
from tests.support.settable_clock import NOON

KIB = 1024
LONGEST_ID = "x" * 64
HOLD = Hold("k" * 26, NOON, Shadow("k" * 26, NOON))


def size(item: Mapping[str, Any]) -> int:
    """As DynamoDB counts: names and values; a number is half a byte a digit, and one more."""
    return sum(len(name) + _value_size(*value.popitem()) for name, value in ((n, dict(v)) for n, v in item.items()))


def _value_size(kind: str, value: Any) -> int:
    if kind == "N":
        return (len(value.strip("-").rstrip("0")) + 1) // 2 + 1
    return len(value) if kind == "B" else len(value.encode())


def largest_timer() -> Timer:
    """Everything at its longest but what only a paused or parked timer has, which no claim ever rewrites."""
    expression = "0,5,10,15,20,25,30,35,40,45,50,55 0,2,4,6,8,10,12,14,16,18,20,22 1-31/2 1-12/2 mon,tue,wed,thu,fri"
    return replace(
        waiting(LONGEST_ID, tenant=LONGEST_ID, tier="priority", shard=1_023),
        trigger=replace(
            cron(expression, "America/Argentina/ComodRivadavia"),
            calendar=CalendarRule("c" * 32, 9_999, Mode.NTH_BUSINESS_DAY, -23, pinned=True),
        ),
        misfire=Misfire(MisfirePolicy.CATCH_UP, 1_000, 604_800, 31_622_400, 599),
        after_pause=Misfire(MisfirePolicy.CATCH_UP, 1_000, 604_800, 31_622_400, 599),
        overlap=Overlap.SKIP,
        jitter_seconds=86_399,
        timeout_seconds=840,
        version=999_999,
        epoch=999_999,
        epoch_starts=tuple(NOON + n for n in range(MAX_EPOCH_STARTS)),
        born_epoch=99_999,
        rev=9_999_999,
        nominal_at=NOON + 1,
        due_at=NOON + 1,
        start_at=NOON + 1,
        end_at=NOON + 1,
        caught_up_from=NOON + SECOND,
        zone_data=ZoneStamp("2026f", -43_200),
        claim_batch="1023.999999999999.999999",
        change_id="c" * 26,
        created_at=NOON + 1,
        updated_at=NOON + 1,
    )


def test_the_hot_item_of_a_schedule_stays_under_one_kilobyte() -> None:
    assert size(timer_item(waiting())) < 600
    assert size(timer_item(largest_timer())) <= KIB


def test_a_spread_makes_the_hot_item_no_larger() -> None:
    spread = replace(largest_timer(), is_spread=True)
    assert size(timer_item(spread)) < size(timer_item(largest_timer()))


def test_so_it_does_in_shadow_where_it_has_never_been_on() -> None:
    one_epoch = replace(largest_timer(), status=Status.HELD, hold=HOLD, epoch_starts=(NOON,), caught_up_from=None)
    assert size(timer_item(replace(one_epoch, tenant="x" * 32))) <= KIB


def test_so_it_does_with_as_many_labels_as_there_may_be_unless_its_ids_are_long() -> None:
    labels = label_hashes({f"label-{number}": "x" for number in range(16)})
    assert size(timer_item(replace(waiting(), labels=labels))) < 700
    assert size(timer_item(replace(largest_timer(), tenant="x" * 12, labels=labels))) <= KIB


def test_so_it_does_while_it_is_deferred() -> None:
    text = "the tenant has had 2500 fires in this tick; waits until 2026-12-01T02:00:00Z"
    brief = replace(largest_timer(), tenant="x" * 16, after_pause=NONE_AFTER_PAUSE)
    deferred = replace(brief, deferred=Reason(Code.TENANT_RATE, text, {"until": NOON}))
    assert size(timer_item(deferred)) <= KIB


def test_so_it_does_while_it_catches_up_unless_everything_about_it_is_at_its_longest() -> None:
    late = Late(Cause.OUTAGE, NOON - 30 * DAY, NOON, NOON + 1)
    stretches = [Stretch(NOON - 20 * n * DAY, NOON - 19 * n * DAY, late, 599, 31_622_400) for n in (4, 3, 2, 1)]
    assert len(stretches) == MAX_STRETCHES
    behind = replace(waiting(), backlog=Backlog(tuple(stretches), NOON + 1), caught_up_from=NOON)
    assert size(timer_item(behind)) < 700
    assert size(timer_item(replace(largest_timer(), backlog=behind.backlog))) < 2 * KIB


def test_an_index_entry_stays_under_one_kilobyte_with_the_longest_expression() -> None:
    longest = replace(largest_timer(), trigger=cron("0 " * (LONGEST_EXPRESSION // 2), "America/Argentina/Buenos_Aires"))
    names = {*DUE.projected, "pk", "sk", "due_shard", "due_at"}
    entry = {name: value for name, value in timer_item(longest).items() if name in names}
    assert size(entry) + 100 <= KIB, "DynamoDB adds 100 bytes to each entry"


def test_a_runs_timer_stays_under_one_kilobyte() -> None:
    timer = run_timer(20, schedule_id=LONGEST_ID, tier="priority", shard=1_023, claim_batch="1023.999999999.999")
    assert size(run_timer_item(timer)) <= KIB


def test_an_ordinary_row_stays_under_one_kilobyte() -> None:
    ended = Attempt(1, 1, "a" * 26, NOON + 1, NOON + 1, Outcome.SUCCEEDED)
    row = run(schedule_id=LONGEST_ID, status=RunStatus.SUCCEEDED, attempts=(ended,), finished_at=NOON + 1)
    assert size(run_item(replace(row, key=replace(row.key, tenant=LONGEST_ID)), NOON)) < 700
    failed = tuple(replace(ended, number=n, outcome=Outcome.FAILED, error="ValueError: no such bill") for n in (1, 2))
    manual = replace(row, attempts=(*failed, ended), status=RunStatus.DEAD, reason=Reason(Code.ATTEMPTS, "x" * 60))
    assert size(run_item(manual, NOON)) < KIB


def hex_id(number: int, length: int = 32) -> str:
    """An id that does not compress, as a UUID does not."""
    return hashlib.sha256(str(number).encode()).hexdigest()[:length]


def batch_of(claims: list[ScheduleClaim | RunClaim]) -> Batch:
    return Batch(BatchId(63, 1_234_567, 17), BatchId(63, 1_234_567, 16), NOON, tuple(claims))


def herd_claim(number: int, schedule_id: str, **changes: Any) -> ScheduleClaim:
    """One of a crowd: due in the same seconds, at different revs, followed by a jittered next fire."""
    following = NOON + DAY + number * 7 % 60 * SECOND
    timer = waiting(schedule_id, NOON + number % 10 * SECOND, nominal_at=NOON, rev=number % 7, **changes)
    return replace(claim_of(timer), following=Fire(NOON + DAY, following))


def test_a_full_batch_of_random_ids_costs_five_units_to_write_down() -> None:
    claims: list[Any] = [herd_claim(n, hex_id(n), tenant=f"tenant-{n % 9}") for n in range(MAX_BATCH_ENTRIES)]
    assert size(batch_item(batch_of(claims))) <= 5 * KIB


def test_a_full_batch_of_telling_ids_costs_less() -> None:
    claims: list[Any] = [herd_claim(n, f"billing-of-customer-{n * 7919}") for n in range(MAX_BATCH_ENTRIES)]
    assert size(batch_item(batch_of(claims))) <= 3 * KIB


def test_a_full_batch_of_retries_costs_no_more() -> None:
    claims: list[Any] = [RunClaim(run_timer(n % 5 + 2, schedule_id=hex_id(n))) for n in range(MAX_BATCH_ENTRIES)]
    assert size(batch_item(batch_of(claims))) <= 5 * KIB


def test_a_full_batch_stays_under_eight_kilobytes_when_every_tenant_and_schedule_is_random() -> None:
    claims: list[Any] = [herd_claim(n, hex_id(n), tenant=hex_id(-n - 1, 24)) for n in range(MAX_BATCH_ENTRIES)]
    assert size(batch_item(batch_of(claims))) <= 8 * KIB


def test_the_largest_batch_there_can_be_fits_an_item() -> None:
    fires = tuple(Fire(NOON + n * 1_013, NOON + n * 7_919) for n in range(MAX_FIRES_PER_CLAIM))
    claims: list[Any] = [
        replace(herd_claim(n, hex_id(n, 64), tenant=hex_id(-n - 1, 64)), fires=fires) for n in range(MAX_BATCH_ENTRIES)
    ]
    assert size(batch_item(batch_of(claims))) < 100 * KIB


def test_full_books_fit_an_item() -> None:
    owed = {
        f"63.{1_234_567 + n}.{n}": Owed(tuple(range(n % 3, 6_000, 3)), NOON + n * MINUTE, n)
        for n in range(MAX_OPEN_BATCHES)
    }
    assert size(books_item(Books(63, 1, None, owed))) < 400 * KIB


@pytest.mark.parametrize("index", SCHEDULES.indexes, ids=lambda index: index.name)
def test_an_index_projects_no_more_names_than_dynamodb_takes(index: Any) -> None:
    assert len(index.projected) <= 20


def test_an_index_projects_what_the_records_have() -> None:
    late = Late(Cause.OUTAGE, NOON, NOON, NOON)
    behind = Backlog((Stretch(NOON, NOON, late, 60),), NOON)
    names = set(timer_item(replace(largest_timer(), hold=HOLD, backlog=behind, labels=(), reserved_at=NOON))) | set(
        run_timer_item(run_timer())
    )
    assert set(DUE.projected) <= names
    assert set(BY_TENANT.projected) <= names


def test_the_largest_calendar_there_can_be_fits_an_item() -> None:
    """Labels of any script that do not compress."""
    longest = MAX_TEXT_BYTES // MAX_ENTRIES // 3
    entries = []
    for n in range(MAX_ENTRIES):
        month = f"{1970 + n // 12}-{n % 12 + 1:02}"
        label = "".join(chr(0x4E00 + byte * 80) for byte in hashlib.sha512(str(n).encode()).digest())[:longest]
        entries.append({"from": f"{month}-01", "to": f"{month}-02", "label": label})
    made = parse_content({"holidays": entries})
    largest = made.of(LONGEST_ID, "c" * 32, 999_999, author="k" * 64, reason="x" * 500)
    assert len(largest.dates) == MAX_ENTRIES
    assert size(calendar_item(largest)) < 400 * KIB


def test_a_row_is_forgotten_when_its_tenant_s_retention_is_over() -> None:
    ended = replace(run(), status=RunStatus.SUCCEEDED, lease_until=None, kept_days=400)
    assert int(run_item(ended, NOON)["expires_at"]["N"]) == (NOON + 400 * DAY) // SECOND
