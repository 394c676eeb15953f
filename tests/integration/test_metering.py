"""Our own accounting, held against what the emulator says that the very same requests consumed."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from benchmarks.metering.chain import Chain, metered_chain
from benchmarks.metering.dynamodb import Bill, Charged
from benchmarks.metering.scenarios import IDLE, SCENARIOS, Scenario
from benchmarks.metering.statements import as_update
from cronfleet.adapters.system.clock import SystemClock
from cronfleet.domain.claim import BatchId
from cronfleet.domain.claiming import Claiming
from cronfleet.ports.job_store import CreateTimer
from tests.support.examples import claim_of, waiting
from tests.support.settable_clock import NOON, SettableClock
from tests.support.stores import metered_engine
from tests.support.tables import create_tables, delete_tables

pytestmark = pytest.mark.emulator

FIRINGS = 12
READS = frozenset({"GetItem", "Query"})
SILENT = -1.0
"""What stands for a request whose answer names no units."""

_prefixes = count(1)
PLAYED = [*{one.play: one for one in SCENARIOS}.values(), IDLE]


class Reported:
    """Hears what the engine says of each request, in order."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @contextmanager
    def counted(self) -> Iterator[Bill]:
        bill = Bill()

        def ask_for_it(params: dict[str, Any], **_: Any) -> None:
            params["ReturnConsumedCapacity"] = "INDEXES"

        def note(parsed: dict[str, Any], model: Any, **_: Any) -> None:
            said = parsed.get("ConsumedCapacity")
            each = said if isinstance(said, list) else [said] if said else []
            units = sum(one["CapacityUnits"] for one in each) if each else SILENT
            reads = model.name in READS
            bill.requests.append(
                Charged(
                    model.name,
                    table="",
                    reads=units if reads else 0.0,
                    writes=0.0 if reads else units,
                    failed="Error" in parsed,
                )
            )

        events = self._client.meta.events
        events.register("provide-client-params.dynamodb", ask_for_it)
        events.register("after-call.dynamodb", note)
        try:
            yield bill
        finally:
            events.unregister("provide-client-params.dynamodb", ask_for_it)
            events.unregister("after-call.dynamodb", note)


@pytest.fixture
def emulated(emulator_dynamodb: Any) -> Iterator[Chain]:
    # A prefix of its own each time: the engine remembers the tokens of transactions longer than it does tables.
    prefix = f"metering{next(_prefixes)}"
    create_tables(emulator_dynamodb, prefix)
    yield Chain(emulator_dynamodb, prefix, Reported(emulator_dynamodb).counted, SettableClock(NOON), SystemClock())
    delete_tables(emulator_dynamodb, prefix)


def quirk(ours: Charged, theirs: Charged) -> str:
    """Why the emulator says something else; empty when it says the same, `unexplained` when nothing explains it."""
    if (theirs.reads, theirs.writes) == (ours.reads, ours.writes):
        return ""
    said = max(theirs.reads, theirs.writes) if SILENT not in (theirs.reads, theirs.writes) else SILENT
    if ours.failed and said == SILENT:
        return "an error's answer names no units, AWS's neither; the failed write is charged all the same"
    if ours.operation == "BatchGetItem" and said == SILENT:
        return "the emulator does not account for BatchGetItem"
    if ours.operation == "Query" and said in (0.5, 1.0) and ours.reads % said == 0:
        return "to the emulator a query costs one step of 4 KB, however much it reads"
    if ours.operation == "BatchExecuteStatement" and 0 < said < ours.writes and not said % 1:
        return "to the emulator a statement costs one unit, whatever it moves"
    if ours.operation == "TransactWriteItems" and "receipts" in ours.table and ours.writes - said == 2.0:
        return "the emulator forgets the condition check of a transaction"
    return "unexplained"


@pytest.mark.parametrize("scenario", PLAYED, ids=lambda one: one.name)
def test_the_emulator_charges_as_we_do_but_for_quirks_that_have_a_name(emulated: Chain, scenario: Scenario) -> None:
    chain = metered_chain()
    scenario.play(chain, FIRINGS)
    scenario.play(emulated, FIRINGS)
    assert chain.parts.keys() == emulated.parts.keys()
    for name, part in chain.parts.items():
        ours, theirs = part.bill.requests, emulated.parts[name].bill.requests
        asked = [(one.operation, one.failed) for one in ours]
        assert asked == [(one.operation, one.failed) for one in theirs], name
        unlike = [pair for pair in zip(ours, theirs, strict=True) if quirk(*pair) == "unexplained"]
        assert not unlike, name


def units_of(chain: Chain, operations: frozenset[str]) -> float:
    parts = chain.parts.values()
    return sum(one.writes for part in parts for one in part.bill.requests if one.operation in operations)


@pytest.mark.parametrize("scenario", PLAYED, ids=lambda one: one.name)
def test_claims_cost_the_same_units_together_as_one_by_one(scenario: Scenario) -> None:
    """The emulator, which charges a statement as one unit, cannot say so; but it says what single claims cost."""
    together, single = metered_chain(), metered_chain(Claiming.SINGLE)
    for chain in (together, single):
        scenario.play(chain, FIRINGS)
    writes = frozenset({"BatchExecuteStatement", "UpdateItem"})
    assert units_of(together, writes) == units_of(single, writes)


def test_a_statement_whose_condition_fails_is_charged_and_the_answer_shows_what_is_stored() -> None:
    engine = metered_engine()
    first, second = waiting("first"), waiting("second")
    engine.store.commit([CreateTimer(first), CreateTimer(second)])
    engine.store.claim(BatchId(0, 1, 1), [claim_of(first)])
    with engine.client.counted() as bill:
        engine.store.claim(BatchId(0, 1, 2), [claim_of(first), claim_of(second)])
    [request] = bill.requests
    assert (request.operation, request.writes, request.failed) == ("BatchExecuteStatement", 1.0 + 3.0, False)


@pytest.mark.parametrize(
    "statement",
    [
        'DELETE FROM "t" WHERE "pk" = ? AND "sk" = ? AND "rev" = ?',
        'UPDATE "t" SET "a" = ? WHERE "pk" = ? AND "rev" = ?',
        'UPDATE "t" SET "a" = "b" + ? WHERE "pk" = ? AND "sk" = ? AND "rev" = ?',
        'UPDATE "t" SET "a" = ? WHERE "pk" = ? AND "sk" = ? AND "rev" = ? OR "rev" = ?',
        'UPDATE "t" SET "a" = ? WHERE "pk" = ? AND "sk" = ? AND "rev" = ? RETURNING ALL NEW *',
    ],
)
def test_a_statement_that_is_not_known_is_refused_and_not_miscounted(statement: str) -> None:
    with pytest.raises(ValueError, match="known"):
        as_update(statement, [{"S": "x"}] * statement.count("?"))
