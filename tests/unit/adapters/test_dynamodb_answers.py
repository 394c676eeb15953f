"""What DynamoDB's answers mean to the job store: won, lost, no answer, impossible, or a mistake of ours."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from cronfleet.adapters.dynamodb import database, transactions
from cronfleet.adapters.dynamodb.items.chains import head_item
from cronfleet.adapters.dynamodb.items.timers import timer_item
from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.adapters.dynamodb.receipts import DynamoReceipts
from cronfleet.domain.audit_chain import linked
from cronfleet.domain.claim import BatchId, ClaimOutcome
from cronfleet.domain.lease import SLOT
from cronfleet.ports.job_store import CreateTimer, InsertAudit, NoAnswer, Refused, UpdateTimer
from cronfleet.ports.target import FenceLost
from tests.support.answers import SILENCES, Answers, error, name_of
from tests.support.examples import audit, changed, claim_of, run, waiting
from tests.support.settable_clock import NOON, SettableClock

BATCH = BatchId(0, 1, 1)


def cancelled(*reasons: Any) -> ClientError:
    return error("TransactionCanceledException", CancellationReasons=list(reasons))


def failed(item: Any = None) -> Any:
    return {"Code": "ConditionalCheckFailed", **({} if item is None else {"Item": item})}


NONE = {"Code": "None"}
CONFLICT = {"Code": "TransactionConflict"}
NO_HEAD: dict[str, Any] = {}
"""What is answered where no chain has begun."""


def store_that_hears(*answers: Any) -> tuple[DynamoJobStore, Answers]:
    client: Any = Answers(*answers)
    return DynamoJobStore("test", client, SettableClock()), client


@pytest.mark.parametrize("silence", SILENCES, ids=name_of)
def test_a_claim_that_is_not_answered_is_unanswered_and_its_neighbours_are_made(silence: Exception) -> None:
    store, _ = store_that_hears({}, silence, {})
    claims = [claim_of(waiting(name)) for name in ("a", "b", "c")]
    outcomes = [ClaimOutcome.WON, ClaimOutcome.UNANSWERED, ClaimOutcome.WON]
    assert store.claim(BATCH, claims) == outcomes


@pytest.mark.parametrize("silence", SILENCES, ids=name_of)
def test_every_other_call_says_that_there_was_no_answer(silence: Exception) -> None:
    store, _ = store_that_hears(*[silence] * 6)
    with pytest.raises(NoAnswer):
        store.insert_run(run())
    with pytest.raises(NoAnswer):
        store.get_timer("acme", "nightly")
    with pytest.raises(NoAnswer):
        store.take_lease(0, NOON, "one", NOON + SLOT, NOON)
    with pytest.raises(NoAnswer):
        store.due(0, NOON, None, 10)
    with pytest.raises(NoAnswer):
        store.commit([CreateTimer(waiting())])
    with pytest.raises(NoAnswer):
        store.get_runs([run().key])


@pytest.mark.parametrize("code", ["ValidationException", "ItemCollectionSizeLimitExceededException"])
def test_a_claim_that_the_store_will_never_take_is_impossible(code: str) -> None:
    store, _ = store_that_hears(error(code), {})
    outcomes = [ClaimOutcome.IMPOSSIBLE, ClaimOutcome.WON]
    assert store.claim(BATCH, [claim_of(waiting()), claim_of(waiting("b"))]) == outcomes


@pytest.mark.parametrize("code", ["AccessDeniedException", "ResourceNotFoundException"])
def test_a_broken_installation_is_no_lost_claim(code: str) -> None:
    store, _ = store_that_hears(error(code))
    with pytest.raises(ClientError):
        store.claim(BATCH, [claim_of(waiting())])


def test_a_failed_claim_is_judged_by_the_item_that_comes_back_with_it() -> None:
    def stored(batch: str) -> ClientError:
        return error("ConditionalCheckFailedException", Item={"claim_batch": {"S": batch}})

    store, client = store_that_hears(stored("0.1.1"), stored("0.1.2"), error("ConditionalCheckFailedException"))
    claims = [claim_of(waiting(name)) for name in ("a", "b", "c")]
    outcomes = [ClaimOutcome.WON, ClaimOutcome.LOST, ClaimOutcome.LOST]
    assert store.claim(BATCH, claims) == outcomes
    assert all(request["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD" for _, request in client.requests)


def test_a_conflict_of_transactions_is_no_refusal() -> None:
    store, _ = store_that_hears(
        NO_HEAD, cancelled(CONFLICT, NONE), NO_HEAD, cancelled(NONE, {"Code": "ThrottlingError"})
    )
    for _ in range(2):
        with pytest.raises(NoAnswer):
            store.commit([CreateTimer(waiting()), InsertAudit(audit())])


def test_a_refusal_names_the_first_write_that_is_not_ones_own() -> None:
    other = waiting(change_id="another")
    store, _ = store_that_hears(NO_HEAD, cancelled(NONE, failed(timer_item(other)), CONFLICT))
    with pytest.raises(Refused) as refused:
        store.commit([InsertAudit(audit()), CreateTimer(waiting()), InsertAudit(audit("2"))])
    assert (refused.value.position, refused.value.stored) == (1, other)


def test_one_write_of_ones_own_proves_that_the_transaction_was_done() -> None:
    before = waiting()
    ours = changed(before, "pause")
    store, _ = store_that_hears(NO_HEAD, cancelled(failed(timer_item(changed(ours, "pause"))), NONE))
    store.commit([UpdateTimer(ours, before), InsertAudit(audit())])


def test_a_change_id_that_was_there_before_proves_nothing() -> None:
    before = waiting(change_id="again")
    store, _ = store_that_hears(NO_HEAD, cancelled(failed(timer_item(changed(before, "again"))), NONE))
    with pytest.raises(Refused):
        store.commit([UpdateTimer(changed(before, "again"), before), InsertAudit(audit())])


def heads_of(client: Any) -> list[int]:
    """The numbers that each transaction would have moved the end of the chain to."""
    moves = [
        request["TransactItems"][-1]["Put"]["Item"] for _, request in client.requests if "TransactItems" in request
    ]
    return [int(item["seq"]["N"]) for item in moves]


def test_an_entry_finds_another_place_where_only_the_end_of_its_chain_has_moved_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database.time, "sleep", lambda _: None)
    first = linked([audit("0")], {})[1]
    second = linked([audit("1")], first)[1]
    moved = [{"Item": head_item(head)} for heads in (first, second) for head in heads.values()]
    in_the_way = cancelled(NONE, NONE, failed(moved[0]["Item"]))
    store, client = store_that_hears(NO_HEAD, in_the_way, moved[0], cancelled(NONE, NONE, CONFLICT), moved[1], {})
    store.commit([CreateTimer(waiting()), InsertAudit(audit())])
    assert heads_of(client) == [1, 2, 3]
    tokens = [request["ClientRequestToken"] for _, request in client.requests if "TransactItems" in request]
    assert len(set(tokens)) == 3


def test_an_entry_that_always_finds_the_end_of_its_chain_moved_is_not_tried_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database.time, "sleep", lambda _: None)
    store, client = store_that_hears(*[NO_HEAD, cancelled(NONE, failed())] * 99)
    with pytest.raises(NoAnswer):
        store.commit([InsertAudit(audit())])
    assert len(heads_of(client)) == transactions.MAX_TURNS


def test_a_transaction_that_can_never_be_done_is_told_apart_from_silence() -> None:
    store, _ = store_that_hears(NO_HEAD, cancelled({"Code": "ValidationError"}, NONE))
    with pytest.raises(ClientError):
        store.commit([CreateTimer(waiting()), InsertAudit(audit())])


def test_a_transaction_that_is_asked_again_carries_the_same_token() -> None:
    store, client = store_that_hears({}, {}, {})
    store.commit([CreateTimer(waiting())])
    store.commit([CreateTimer(waiting())])
    store.commit([CreateTimer(waiting("other"))])
    tokens = [request["ClientRequestToken"] for _, request in client.requests]
    assert tokens[0] == tokens[1] != tokens[2]
    assert all(len(token) <= 36 for token in tokens)


def test_more_writes_than_a_transaction_takes_are_a_mistake_of_ours() -> None:
    store, _ = store_that_hears()
    with pytest.raises(ValueError, match="101 writes"):
        store.commit([InsertAudit(audit(str(number))) for number in range(101)])


def test_keys_that_a_batch_read_left_out_are_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database.time, "sleep", lambda _: None)
    left = {"test-runs": {"Keys": [{"pk": {"S": "acme#nightly"}, "sk": {"S": "x"}}]}}
    silent = {"Responses": {}, "UnprocessedKeys": left}
    store, client = store_that_hears(silent, {"Responses": {"test-runs": []}})
    assert store.get_runs([run().key]) == {}
    assert client.requests[1][1]["RequestItems"]["test-runs"]["Keys"] == left["test-runs"]["Keys"]
    store, client = store_that_hears(*[silent] * 20)
    with pytest.raises(NoAnswer):
        store.get_runs([run().key])
    assert len(client.requests) == database.MAX_BATCH_ROUNDS


def receipts_that_hear(*answers: Any) -> tuple[DynamoReceipts, Answers]:
    client: Any = Answers(*answers)
    return DynamoReceipts("test", client, SettableClock()), client


def test_a_receipt_whose_reply_was_lost_is_still_the_first() -> None:
    first, client = receipts_that_hear({})
    first.record(run().key, 1, "invoice", "A-1", NOON)
    written = client.requests[0][1]["TransactItems"][1]["Put"]["Item"]
    again, _ = receipts_that_hear(error("InternalServerError", 500), cancelled(NONE, failed(written)))
    assert again.record(run().key, 1, "invoice", "A-1", NOON).first


def test_a_receipt_by_an_earlier_call_of_the_same_attempt_is_not() -> None:
    receipts, client = receipts_that_hear({})
    receipts.record(run().key, 1, "invoice", "A-1", NOON)
    client._answers.append(cancelled(NONE, failed(client.requests[0][1]["TransactItems"][1]["Put"]["Item"])))
    second = receipts.record(run().key, 1, "invoice", "A-1", NOON)
    assert (second.first, second.value) == (False, "A-1")


def test_a_lost_fence_goes_before_a_receipt_that_is_there() -> None:
    receipts, _ = receipts_that_hear(cancelled(failed(), failed({})))
    with pytest.raises(FenceLost):
        receipts.record(run().key, 1, "invoice", "A-1", NOON)


def test_receipts_do_not_ask_for_ever() -> None:
    receipts, client = receipts_that_hear(*[error("ThrottlingException")] * 50)
    with pytest.raises(NoAnswer):
        receipts.record(run().key, 1, "invoice", "A-1", NOON)
    assert len(client.requests) == 5
