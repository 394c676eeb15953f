"""Lines that are drawn from together: what each answer means, and what is left to asking alone."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cronfleet.adapters.dynamodb import database
from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.domain.claiming import Claiming
from cronfleet.domain.instant import HOUR
from cronfleet.domain.rate import Pace
from cronfleet.ports.rates import Draw
from tests.support.answers import SILENCES, Answers, error, name_of
from tests.support.flawed_batches import FlawedBatches, answering, carried_out_and
from tests.support.settable_clock import NOON, SettableClock
from tests.support.stores import Engine, metered_engine
from tests.support.world import Notes

PACE = Pace(spacing=100_000, burst=5)
FLOOR = PACE.floor(NOON)
BATCH, LOOK = "batch_execute_statement", "batch_get_item"


@pytest.fixture
def engine() -> Engine:
    return metered_engine()


def lines(engine: Engine, size: int) -> list[Draw]:
    """Draws from so many lines, each of which somebody has drawn from before."""
    names = [f"tenant#{number}" for number in range(size)]
    for name in names:
        engine.store.draw(name, PACE.span(1), floor=FLOOR)
    return [Draw(name, PACE.span(2), FLOOR, PACE.ceiling(NOON)) for name in names]


def flawed(engine: Engine, *flaws: Any) -> tuple[DynamoJobStore, FlawedBatches]:
    client: Any = FlawedBatches(engine.client, *flaws)
    return DynamoJobStore(engine.prefix, client, engine.clock, claiming=Claiming.BATCHED), client


def test_many_lines_take_one_look_and_a_request_for_each_25(engine: Engine) -> None:
    store, client = flawed(engine)
    assert len(store.draw_all(lines(engine, 60))) == 60
    assert client.asked == [(LOOK, 0), (BATCH, 25), (BATCH, 25), (BATCH, 10)]


def test_one_that_nobody_has_drawn_from_is_left_to_asking_alone(engine: Engine) -> None:
    new = Draw("tenant#new", PACE.span(2), FLOOR, PACE.ceiling(NOON))
    store, client = flawed(engine)
    assert list(store.draw_all([*lines(engine, 2), new])) == ["tenant#0", "tenant#1"]
    assert client.asked == [(LOOK, 0), (BATCH, 2)]


def after(deed: Callable[[], Any]) -> Any:
    """The batch is carried out, behind something that somebody else does in the moment before."""

    def answered(statements: Any, call: Callable[..., Any]) -> Any:
        deed()
        return call(Statements=statements)

    return answered


def test_lines_that_all_shards_see_at_rest_are_begun_by_one_and_gone_on_with_together_by_the_others(
    engine: Engine,
) -> None:
    """A herd is in every shard in the same second. Asked alone, each line would be a request for each shard."""
    noon = NOON + HOUR
    draws = [Draw(one.line, one.span, PACE.floor(noon), PACE.ceiling(noon)) for one in lines(engine, 30)]
    another = DynamoJobStore(engine.prefix, engine.client, engine.clock, claiming=Claiming.BATCHED)
    store, client = flawed(engine, after(lambda: another.draw_all(draws)))
    assert len(store.draw_all(draws)) == 30
    assert client.asked == [(LOOK, 0), (BATCH, 25), (BATCH, 5), (BATCH, 25), (BATCH, 5)]
    starts = [engine.store.draw(one.line, one.span, floor=one.floor).start for one in draws]
    assert starts == [one.floor + 2 * one.span for one in draws], "both have what they drew, and nothing twice"


def test_a_line_that_others_have_begun_and_filled_is_left_to_asking_alone(engine: Engine) -> None:
    noon = NOON + HOUR
    full = [Draw(one.line, PACE.span(4), PACE.floor(noon), PACE.ceiling(noon)) for one in lines(engine, 2)]
    another = DynamoJobStore(engine.prefix, engine.client, engine.clock, claiming=Claiming.BATCHED)
    store, client = flawed(engine, after(lambda: another.draw_all(full)))
    assert list(store.draw_all(full)) == []
    assert client.asked == [(LOOK, 0), (BATCH, 2), (BATCH, 2)]


def test_where_nothing_fits_nothing_is_asked(engine: Engine) -> None:
    draws = [Draw(one.line, PACE.span(9), FLOOR, one.ceiling) for one in lines(engine, 2)]
    store, client = flawed(engine)
    assert list(store.draw_all([*draws, Draw("tenant#new", PACE.span(9), FLOOR, PACE.ceiling(NOON))])) == []
    assert client.asked == [(LOOK, 0)]


@pytest.mark.parametrize("carried_out", [False, True], ids=["not carried out", "carried out"])
@pytest.mark.parametrize("code", ["ConditionalCheckFailed", "ThrottlingError", "TransactionConflict", "SomethingNew"])
def test_what_failed_is_left_to_asking_alone(engine: Engine, code: str, carried_out: bool) -> None:
    store, _ = flawed(engine, answering(code, [1], carried_out=carried_out))
    assert list(store.draw_all(lines(engine, 3))) == ["tenant#0", "tenant#2"]


def test_a_broken_installation_is_no_full_line(engine: Engine) -> None:
    store, _ = flawed(engine, answering("AccessDenied", [1]))
    with pytest.raises(ClientError, match="AccessDenied"):
        store.draw_all(lines(engine, 3))


def refused_whole(code: str) -> Any:
    def answered(statements: Any, call: Any) -> Any:
        raise error(code)

    return answered


@pytest.mark.parametrize("code", ["ValidationException", "ItemCollectionSizeLimitExceededException"])
def test_a_request_that_is_refused_as_a_whole_leaves_its_lines_to_asking_alone(engine: Engine, code: str) -> None:
    """Else a mistake of ours in the statements, or an engine's in reading them, would stop every shard for good."""
    store, client = flawed(engine, refused_whole(code))
    assert len(store.draw_all(lines(engine, 30))) == 5, "the second request went well"
    assert client.asked == [(LOOK, 0), (BATCH, 25), (BATCH, 5)]
    with pytest.raises(ClientError, match="AccessDenied"):
        flawed(engine, refused_whole("AccessDeniedException"))[0].draw_all(lines(engine, 3))


@pytest.mark.parametrize(
    ("flaw", "count"),
    [(refused_whole("ValidationException"), 3), (answering("ValidationError", [1, 2]), 2), (answering("Odd", [0]), 1)],
    ids=["as a whole", "two", "by a code that nobody knows"],
)
def test_draws_that_are_left_because_statements_are_refused_are_counted(engine: Engine, flaw: Any, count: int) -> None:
    client: Any = FlawedBatches(engine.client, flaw)
    notes = Notes()
    store = DynamoJobStore(engine.prefix, client, engine.clock, claiming=Claiming.BATCHED, telemetry=notes)
    assert len(store.draw_all(lines(engine, 3))) == 3 - count
    assert notes.counts["statements_refused"] == count
    assert [said["table"] for _, said in notes.events] == ["tenants"]


@pytest.mark.parametrize("answer", [{"Responses": [{}] * 2}, {}], ids=["too few", "none"])
def test_answers_that_cannot_be_told_apart_are_none(engine: Engine, answer: Any) -> None:
    store, _ = flawed(engine, carried_out_and(answer))
    assert list(store.draw_all(lines(engine, 3))) == []


@pytest.mark.parametrize("silence", SILENCES, ids=name_of)
def test_without_an_answer_every_line_is_left_to_asking_alone(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, silence: Exception
) -> None:
    monkeypatch.setattr(database.time, "sleep", lambda _: None)
    store, _ = flawed(engine, carried_out_and(silence))
    assert list(store.draw_all(lines(engine, 3))) == []
    unseen: Any = Answers(*[silence] * 9)
    store = DynamoJobStore("test", unseen, SettableClock(), claiming=Claiming.BATCHED)
    assert list(store.draw_all(lines(engine, 3))) == []
