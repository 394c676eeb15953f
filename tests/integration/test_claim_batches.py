"""Claims in batches on a real engine: they do what single claims do, and of many hands exactly one wins each."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from cronfleet.adapters.dynamodb import database, schema
from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.domain.backlog import Backlog, Stretch
from cronfleet.domain.claim import BatchId, Claim, ClaimOutcome, RunClaim, ScheduleClaim, SkippedRange
from cronfleet.domain.claiming import Claiming
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.rate import Pace
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.schedule import Hold, Shadow, Status, Timer
from cronfleet.domain.zone_stamp import ZoneStamp
from cronfleet.ports.job_store import CreateTimer, InsertRunTimer
from cronfleet.ports.rates import Draw
from tests.support import stores
from tests.support.emulator import client
from tests.support.examples import TENANT, WHY, claim_of, run_timer, waiting
from tests.support.flawed_batches import FlawedBatches, answering
from tests.support.races import race
from tests.support.settable_clock import NOON, SettableClock

WON, LOST = ClaimOutcome.WON, ClaimOutcome.LOST
OURS, THEIRS = BatchId(0, 1, 1), BatchId(0, 2, 1)
HANDS = 8
HERD = 60

LATE = Late(Cause.OUTAGE, NOON - 3 * HOUR, NOON - MINUTE, NOON + 345)
BACKLOG = Backlog((Stretch(NOON - 2 * HOUR, NOON - HOUR, LATE, 60, 86_400),), turn_at=NOON + 123)
PLACE = NOON + 90 * SECOND
NOTED = SkippedRange(NOON, NOON, Reason(Code.SHADOW, "noted"))


def of_every_form() -> Iterator[tuple[Timer, ScheduleClaim]]:
    """A timer for each form of claim that there is, and that claim."""
    plain = waiting("plain", deferred=WHY, reserved_at=NOON)
    yield plain, claim_of(plain)
    last = waiting("last", zone_data=ZoneStamp("2026f", 3_600))
    yield last, claim_of(last, following=None)
    zoned = waiting("zoned")
    yield zoned, replace(claim_of(zoned), zone_data=ZoneStamp("2026f", 19_800))
    held = waiting("shadow", status=Status.HELD, hold=Hold("ops@acme", NOON, Shadow("dev@acme", NOON + 1)))
    yield held, replace(claim_of(held, following=None), fires=(), skipped=(NOTED,))
    moved = waiting("moved")
    claim = claim_of(moved)
    assert claim.following is not None
    moved_on = replace(claim, following=replace(claim.following, due_at=PLACE), reserved_at=PLACE)
    yield moved, replace(moved_on, deferred=WHY)
    kept = waiting("kept", deferred=WHY, reserved_at=PLACE)
    yield kept, replace(moved_on, schedule_id="kept")
    begins = waiting("begins")
    yield begins, replace(claim_of(begins), backlog=BACKLOG)
    goes_on = waiting("goes-on", NOON, nominal_at=NOON, backlog=BACKLOG)
    yield goes_on, replace(claim_of(goes_on), backlog_at=BACKLOG.next_at, backlog=BACKLOG)
    ends = waiting("ends", NOON, nominal_at=NOON, backlog=BACKLOG)
    yield ends, replace(claim_of(ends), backlog_at=BACKLOG.next_at)
    alone = waiting("alone", NOON, nominal_at=None, backlog=BACKLOG)
    rest = replace(claim_of(replace(alone, nominal_at=NOON)), fires=(), nominal_at=None, backlog_at=BACKLOG.next_at)
    yield alone, replace(rest, following=None, backlog=BACKLOG)


TIMERS = [timer for timer, _ in of_every_form()]
CLAIMS: list[Claim] = [*(claim for _, claim in of_every_form()), RunClaim(run_timer())]
MISREAD: list[Claim] = [
    *(
        replace(claim, schedule_id=claim.schedule_id, **read)
        for _, claim in of_every_form()
        for read in ({"rev": 2}, {"due_at": NOON - SECOND}, {"nominal_at": NOON - MINUTE})
    ),
    RunClaim(run_timer(due_at=NOON + 1)),
]
"""The same, each as a stale page of the index might have shown it."""


@pytest.fixture(params=["metered", pytest.param("emulator", marks=pytest.mark.emulator)])
def engines(request: pytest.FixtureRequest) -> Iterator[list[stores.Engine]]:
    """Two installations on one kind of engine: one that claims one by one, and one in batches."""
    if request.param == "metered":
        batched, single = stores.metered_engine(), stores.metered_engine()
        single.store = DynamoJobStore(single.prefix, single.client, single.clock)
        yield [single, batched]
        return
    dynamodb = request.getfixturevalue("emulator_dynamodb")
    with stores.dynamodb_engine(dynamodb) as single, stores.dynamodb_engine(dynamodb, claiming=Claiming.BATCHED) as two:
        yield [single, two]


def items_of(engine: stores.Engine) -> list[Any]:
    """All that is stored of schedules and their runs' timers."""
    key = {"KeyConditionExpression": "#pk = :pk", "ExpressionAttributeNames": {"#pk": "pk"}}
    found = []
    for name in sorted({timer.schedule_id for timer in TIMERS} | {run_timer().key.schedule_id}):
        answer = engine.client.query(
            TableName=f"{engine.prefix}-{schema.SCHEDULES.name}",
            **key,
            ExpressionAttributeValues={":pk": {"S": f"{TENANT}#{name}"}},
            ScanIndexForward=True,
            ConsistentRead=True,
            Limit=100,
        )
        found += answer["Items"]
    return found


def test_both_ways_of_claiming_do_the_same_to_the_same_items(engines: list[stores.Engine]) -> None:
    heard = []
    for engine in engines:
        engine.store.commit([*map(CreateTimer, TIMERS), InsertRunTimer(run_timer())])
        outcomes = [list(engine.store.claim(OURS, MISREAD)), list(engine.store.claim(OURS, CLAIMS))]
        before = items_of(engine)
        outcomes += [list(engine.store.claim(batch, CLAIMS)) for batch in (OURS, THEIRS)]
        assert items_of(engine) == before, "what is claimed again moves nothing"
        heard.append((outcomes, before))
    assert heard[0] == heard[1]
    assert [set(outcomes) for outcomes in heard[0][0]] == [{LOST}, {WON}, {WON}, {LOST}]


def test_an_update_of_what_is_not_there_fails_its_condition_and_makes_nothing(engines: list[stores.Engine]) -> None:
    for engine in engines:
        assert set(engine.store.claim(OURS, CLAIMS)) == {LOST}
        assert items_of(engine) == []


# --- many hands ----------------------------------------------------------------------------------------------------


@pytest.fixture
def emulated(emulator_dynamodb: Any) -> Iterator[stores.Engine]:
    with stores.dynamodb_engine(emulator_dynamodb) as engine:
        yield engine


@pytest.fixture
def hands(emulated: stores.Engine, emulator_endpoint: str) -> list[DynamoJobStore]:
    """As many stores as there are hands, each with its own client; one in four claims one by one."""
    ways = [Claiming.BATCHED, Claiming.BATCHED, Claiming.BATCHED, Claiming.SINGLE] * (HANDS // 4)
    clients = [client("dynamodb", emulator_endpoint) for _ in ways]
    return [
        DynamoJobStore(emulated.prefix, one, SettableClock(), claiming=way)
        for one, way in zip(clients, ways, strict=True)
    ]


def put_herd(store: DynamoJobStore, name: str = "herd") -> list[Claim]:
    """Claims of a herd of schedules and of timers of runs."""
    timers = [waiting(f"{name}-s{number:02}") for number in range(HERD // 2)]
    runs = [run_timer(schedule_id=f"{name}-r{number:02}") for number in range(HERD // 2)]
    store.commit([*map(CreateTimer, timers), *map(InsertRunTimer, runs)])
    return [*map(claim_of, timers), *map(RunClaim, runs)]


def owner_of(store: DynamoJobStore, claim: Claim) -> str | None:
    if isinstance(claim, ScheduleClaim):
        timer = store.get_timer(TENANT, claim.schedule_id)
        return None if timer is None else timer.claim_batch
    assert store.find_run_timer(claim.timer.key, claim.timer.attempt) is None, "it waits no more"
    return None


@pytest.mark.emulator
def test_of_eight_hands_that_claim_the_same_herd_exactly_one_wins_each(hands: list[DynamoJobStore]) -> None:
    claims = put_herd(hands[0])

    def act(store: DynamoJobStore, hand: int) -> list[ClaimOutcome]:
        # Each begins elsewhere, so that batches of different cuts cross.
        order = [(place + hand * 7) % HERD for place in range(HERD)]
        outcomes = store.claim(BatchId(0, hand, 1), [claims[place] for place in order])
        return [outcome for _, outcome in sorted(zip(order, outcomes, strict=True))]

    answers = race(hands, act)

    for place, claim in enumerate(claims):
        outcomes = [answer[place] for answer in answers]
        assert sorted(outcomes) == [LOST] * (HANDS - 1) + [WON]
        owner = owner_of(hands[0], claim)
        assert owner in (None, f"0.{outcomes.index(WON)}.1")


@pytest.mark.emulator
def test_hands_that_finish_the_same_batch_win_the_same_claims(hands: list[DynamoJobStore]) -> None:
    """A dispatcher that lost its lease lives on beside its successor, under the same batch id."""
    claims = put_herd(hands[0])
    assert set(hands[1].claim(THEIRS, claims[::3])) == {WON}
    answers = race(hands, lambda store, _: store.claim(OURS, claims))
    assert answers == [[LOST if place % 3 == 0 else WON for place in range(HERD)]] * HANDS


CODES = (
    "DuplicateItem",
    "InternalServerError",
    "ItemCollectionSizeLimitExceeded",
    "ProvisionedThroughputExceeded",
    "RequestLimitExceeded",
    "SomethingNew",
    "ThrottlingError",
    "TransactionConflict",
    "ValidationError",
)


@pytest.mark.emulator
@pytest.mark.parametrize("carried_out", [False, True], ids=["not carried out", "carried out"])
def test_whatever_statements_are_answered_each_claim_is_won_once(
    emulated: stores.Engine, monkeypatch: pytest.MonkeyPatch, carried_out: bool
) -> None:
    monkeypatch.setattr(database.time, "sleep", lambda _: None)
    flawed: Any = FlawedBatches(emulated.client)
    store = DynamoJobStore(emulated.prefix, flawed, emulated.clock, claiming=Claiming.BATCHED)
    for code in CODES:
        claims = put_herd(emulated.store, code)
        flawed.flaws += [answering(code, range(0, 25, 2), carried_out=carried_out)] * 2
        assert list(store.claim(OURS, claims)) == [WON] * HERD, code
        assert list(emulated.store.claim(THEIRS, claims)) == [LOST] * HERD, code


@pytest.mark.emulator
def test_of_eight_hands_that_draw_from_the_same_lines_none_is_given_a_place_twice_or_past_the_ceiling(
    hands: list[DynamoJobStore],
) -> None:
    """As the shards of an installation do at a full hour, with three lines that are at rest."""
    pace = Pace(spacing=100_000, burst=30)
    floor, ceiling = pace.floor(NOON), pace.ceiling(NOON)
    for line in ("a", "b", "c"):
        hands[0].draw(line, pace.span(1), floor=pace.floor(NOON - HOUR))
    draws = [Draw(line, pace.span(4), floor, ceiling) for line in ("a", "b", "c")]

    moved = race(hands, lambda store, _: [list(store.draw_all(draws)) for _ in range(3)])

    for draw in draws:
        given = sum(one.count(draw.line) for each in moved for one in each)
        stands_at = hands[0].draw(draw.line, pace.span(1), floor=floor).start
        assert stands_at == floor + given * draw.span
        assert 1 <= given <= 7, "seven times four of thirty places"
