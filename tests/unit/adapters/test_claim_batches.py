"""Claims in batches: what each answer of the API means, and what is asked again, alone, or looked up."""

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from cronfleet.adapters.dynamodb import claim_batches, database
from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.domain.claim import BatchId, ClaimOutcome, RunClaim
from cronfleet.domain.claiming import Claiming
from cronfleet.ports.claiming import CLAIMS_AT_ONCE
from cronfleet.ports.job_store import CreateTimer, InsertRunTimer
from tests.support.answers import SILENCES, Answers, error, name_of
from tests.support.examples import TENANT, claim_of, run_timer, waiting
from tests.support.flawed_batches import FlawedBatches, answering, carried_out_and, without_items
from tests.support.settable_clock import SettableClock
from tests.support.stores import Engine, metered_engine
from tests.support.world import Notes

WON, LOST = ClaimOutcome.WON, ClaimOutcome.LOST
UNANSWERED, IMPOSSIBLE = ClaimOutcome.UNANSWERED, ClaimOutcome.IMPOSSIBLE
OURS, THEIRS = BatchId(0, 1, 1), BatchId(0, 2, 1)

CODES = boto3.client("dynamodb", region_name="us-east-1").meta.service_model.shape_for("BatchStatementErrorCodeEnum")
FOR_NOW = {
    "InternalServerError",
    "ProvisionedThroughputExceeded",
    "RequestLimitExceeded",
    "ThrottlingError",
    "TransactionConflict",
}
BROKEN = {"AccessDenied", "ResourceNotFound"}
NOT_LIKE_THIS = {"DuplicateItem", "ItemCollectionSizeLimitExceeded", "SomethingNew", "ValidationError"}
BATCH, ALONE, LOOK = "batch_execute_statement", "update_item", "batch_get_item"


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was waited, without waiting."""
    waited: list[float] = []
    monkeypatch.setattr(database.time, "sleep", waited.append)
    return waited


@pytest.fixture
def engine() -> Engine:
    return metered_engine()


def flawed(engine: Engine, *flaws: Any) -> tuple[DynamoJobStore, FlawedBatches]:
    client: Any = FlawedBatches(engine.client, *flaws)
    return DynamoJobStore(engine.prefix, client, engine.clock, claiming=Claiming.BATCHED), client


def hearing(*answers: Any) -> tuple[DynamoJobStore, Answers]:
    client: Any = Answers(*answers)
    return DynamoJobStore("test", client, SettableClock(), claiming=Claiming.BATCHED), client


def herd(engine: Engine, size: int) -> list[Any]:
    """Claims of so many schedules that wait."""
    timers = [waiting(f"s{number:03}") for number in range(size)]
    for timer in timers:
        engine.store.commit([CreateTimer(timer)])
    return [claim_of(timer) for timer in timers]


def owners(engine: Engine, size: int) -> set[str]:
    return {engine.store.get_timer(TENANT, f"s{number:03}").claim_batch for number in range(size)}


def test_what_is_known_of_the_codes_is_all_that_there_is() -> None:
    assert set(CODES.enum) == {"ConditionalCheckFailed", *FOR_NOW, *BROKEN, *NOT_LIKE_THIS} - {"SomethingNew"}


@pytest.mark.parametrize("size", [1, 25, 26, 100])
def test_claims_travel_in_as_few_requests_as_there_can_be(engine: Engine, size: int) -> None:
    claims = herd(engine, size)
    store, client = flawed(engine)
    assert store.claim(OURS, claims) == [WON] * size
    full, rest = divmod(size, CLAIMS_AT_ONCE)
    assert client.asked == [(BATCH, CLAIMS_AT_ONCE)] * full + [(BATCH, rest)] * bool(rest)
    assert owners(engine, size) == {str(OURS)}


def test_nothing_is_asked_for_no_claim(engine: Engine) -> None:
    store, client = flawed(engine)
    assert store.claim(OURS, []) == []
    assert client.asked == []


@pytest.mark.parametrize("carried_out", [False, True], ids=["not carried out", "carried out"])
@pytest.mark.parametrize("code", sorted(FOR_NOW))
def test_what_was_not_carried_out_for_now_is_asked_again_and_nothing_else(
    engine: Engine, pauses: list[float], code: str, carried_out: bool
) -> None:
    claims = herd(engine, 30)
    store, client = flawed(engine, answering(code, [3, 7, 24], carried_out=carried_out))
    assert store.claim(OURS, claims) == [WON] * 30
    assert client.asked[:3] == [(BATCH, 25), (BATCH, 5), (BATCH, 3)]
    assert owners(engine, 30) == {str(OURS)}
    assert len(pauses) == 1


@pytest.mark.parametrize("code", sorted(FOR_NOW))
def test_what_is_never_carried_out_is_unanswered_after_a_few_turns(pauses: list[float], code: str) -> None:
    throttled = {"Responses": [{}, {"Error": {"Code": code}}]}
    again = {"Responses": [{"Error": {"Code": code}}]}
    store, client = hearing(throttled, *[again] * 9)
    assert store.claim(OURS, [claim_of(waiting("a")), claim_of(waiting("b"))]) == [WON, UNANSWERED]
    assert len(client.requests) == claim_batches.MAX_TURNS
    assert pauses == [0.05, 0.1]


@pytest.mark.parametrize("code", sorted(NOT_LIKE_THIS))
def test_what_a_batch_refuses_is_asked_alone_and_its_neighbours_are_made(engine: Engine, code: str) -> None:
    claims = herd(engine, 10)
    store, client = flawed(engine, answering(code, [4]))
    assert store.claim(OURS, claims) == [WON] * 10
    assert client.asked == [(BATCH, 10), (ALONE, 0)]


@pytest.mark.parametrize("code", sorted(NOT_LIKE_THIS))
def test_only_what_is_refused_alone_as_well_is_impossible(code: str) -> None:
    refused = {"Responses": [{}, {"Error": {"Code": code}}, {}]}
    store, _ = hearing(refused, error("ValidationException"))
    assert store.claim(OURS, [claim_of(waiting(name)) for name in "abc"]) == [WON, IMPOSSIBLE, WON]


@pytest.mark.parametrize("code", sorted(BROKEN))
def test_a_broken_installation_is_no_lost_claim_and_what_was_won_meanwhile_is_still_won(
    engine: Engine, code: str
) -> None:
    claims = herd(engine, 10)
    store, _ = flawed(engine, answering(code, [4]))
    with pytest.raises(ClientError, match=code):
        store.claim(OURS, claims)
    assert store.claim(OURS, claims) == [WON] * 10


@pytest.mark.parametrize("flaw", [None, without_items], ids=["shown", "looked up"])
def test_a_failed_condition_is_judged_by_what_is_stored(engine: Engine, flaw: Callable[..., Any] | None) -> None:
    claims = herd(engine, 6)
    gone = claim_of(waiting("never-there"))
    store, client = flawed(engine, *([] if flaw is None else [without_items]))
    engine.store.claim(OURS, claims[:2])
    engine.store.claim(THEIRS, claims[2:4])
    outcomes = [WON, WON, LOST, LOST, WON, WON, LOST]
    assert store.claim(OURS, [*claims, gone]) == outcomes
    # Of an item that is not there nothing can be shown: it is looked for in either case, together with the others.
    assert client.asked == [(BATCH, 7), (LOOK, 0)]
    assert engine.store.get_timer(TENANT, "never-there") is None, "an UPDATE makes nothing"


def test_what_cannot_be_looked_up_has_no_answer() -> None:
    unseen = {"Responses": [{"Error": {"Code": "ConditionalCheckFailed"}}, {}]}
    store, client = hearing(unseen, *[error("InternalServerError", 500)] * 9)
    assert store.claim(OURS, [claim_of(waiting("a")), claim_of(waiting("b"))]) == [UNANSWERED, WON]
    assert client.requests[1][1]["RequestItems"]["test-schedules"]["ConsistentRead"] is True


@pytest.mark.parametrize("silence", SILENCES, ids=name_of)
def test_a_whole_request_without_an_answer_leaves_its_claims_unanswered_and_the_others_made(silence: Exception) -> None:
    store, client = hearing(silence, {"Responses": [{}] * 5})
    outcomes = store.claim(OURS, [claim_of(waiting(f"s{number}")) for number in range(30)])
    assert outcomes == [UNANSWERED] * 25 + [WON] * 5
    assert len(client.requests) == 2, "the client had tried again by itself"


@pytest.mark.parametrize("silence", SILENCES, ids=name_of)
def test_a_request_whose_reply_was_lost_is_won_when_it_is_asked_again(engine: Engine, silence: Exception) -> None:
    claims = herd(engine, 25)
    store, _ = flawed(engine, carried_out_and(silence))
    assert store.claim(OURS, claims) == [UNANSWERED] * 25
    assert store.claim(OURS, claims) == [WON] * 25
    assert store.claim(THEIRS, claims) == [LOST] * 25


@pytest.mark.parametrize("answer", [{"Responses": [{}] * 24}, {"Responses": [{}] * 26}, {"Responses": []}, {}], ids=len)
def test_answers_that_cannot_be_told_apart_are_none(engine: Engine, answer: Any) -> None:
    claims = herd(engine, 25)
    store, _ = flawed(engine, carried_out_and(answer))
    assert store.claim(OURS, claims) == [UNANSWERED] * 25
    assert store.claim(OURS, claims) == [WON] * 25


def test_a_batch_that_is_refused_as_a_whole_is_asked_claim_by_claim() -> None:
    store, client = hearing(error("ValidationException"), {}, error("ValidationException"), {})
    assert store.claim(OURS, [claim_of(waiting(name)) for name in "abc"]) == [WON, IMPOSSIBLE, WON]
    assert [operation for operation, _ in client.requests] == [BATCH, ALONE, ALONE, ALONE]


@pytest.mark.parametrize("code", ["AccessDeniedException", "ResourceNotFoundException", "UnknownOperationException"])
def test_a_batch_that_nobody_may_ask_for_is_a_broken_installation(code: str) -> None:
    store, _ = hearing(error(code))
    with pytest.raises(ClientError):
        store.claim(OURS, [claim_of(waiting())])


def test_a_request_never_names_an_item_twice(engine: Engine) -> None:
    first, second = herd(engine, 2)
    store, client = flawed(engine)
    assert store.claim(OURS, [first, second, first]) == [WON, WON, WON], "the third was won as the first"
    assert client.asked == [(BATCH, 2), (BATCH, 1)]


def test_claims_of_schedules_and_of_runs_travel_together(engine: Engine) -> None:
    [claim] = herd(engine, 1)
    own = run_timer()
    engine.store.commit([InsertRunTimer(own)])
    store, client = flawed(engine)
    assert store.claim(OURS, [RunClaim(own), claim]) == [WON, WON]
    assert client.asked == [(BATCH, 2)]
    assert store.claim(THEIRS, [RunClaim(own), claim]) == [LOST, LOST]


def test_no_statement_comes_near_what_dynamodb_reads() -> None:
    most = boto3.client("dynamodb", region_name="us-east-1").meta.service_model.shape_for("PartiQLStatement")
    store, client = hearing({"Responses": [{}, {}]})
    store.claim(OURS, [claim_of(waiting("x" * 64), following=None), RunClaim(run_timer())])
    for statement in client.requests[0][1]["Statements"]:
        assert len(statement["Statement"]) < most.metadata["max"] / 10
        assert statement["Statement"].count("?") == len(statement["Parameters"])
        assert statement["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


# --- what is told of it ------------------------------------------------------------------------------------------


def told_by(engine: Engine, *flaws: Any) -> tuple[DynamoJobStore, Notes]:
    client: Any = FlawedBatches(engine.client, *flaws)
    notes = Notes()
    store = DynamoJobStore(engine.prefix, client, engine.clock, claiming=Claiming.BATCHED, telemetry=notes)
    return store, notes


def test_claims_that_go_alone_because_statements_are_refused_are_counted_with_the_engines_words(engine: Engine) -> None:
    """All of them are won, so nothing else would show that each costs a request."""
    claims = herd(engine, 30)
    store, notes = told_by(engine, answering("ValidationError", [1, 3]))
    assert store.claim(OURS, claims[:25]) == [WON] * 25
    assert notes.counts["statements_refused"] == 2
    ((name, said),) = notes.events
    assert name == "statements_refused"
    assert said == {"table": "schedules", "statements": 2, "error": "ValidationError: so the test says"}


def test_a_request_that_is_refused_as_a_whole_counts_with_all_its_statements(engine: Engine) -> None:
    def refused(statements: Any, call: Any) -> Any:
        raise error("ValidationException")

    store, notes = told_by(engine, refused)
    assert store.claim(OURS, herd(engine, 20)) == [WON] * 20
    assert notes.counts["statements_refused"] == 20


@pytest.mark.parametrize("code", ["ConditionalCheckFailed", "ThrottlingError"])
def test_what_is_lost_or_throttled_is_no_refusal(engine: Engine, code: str) -> None:
    store, notes = told_by(engine, answering(code, [0]))
    store.claim(OURS, herd(engine, 2))
    assert not notes.counts
    assert not notes.events
