"""Redrives, carried on page by page: each letter once whatever dies, and a stop when failures return."""

import contextlib
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.attempt import Result, decide_finish, decide_start
from cronfleet.domain.dead_letter import is_letter, settled
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.operation import Kind, Operation, Status, Verb, turned, written
from cronfleet.domain.reason import Code
from cronfleet.domain.redrive import STOPS_AT, AskedRedrive
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import Attempt, Outcome, Run, RunKey, RunMessage, RunStatus
from cronfleet.domain.settlement import How
from cronfleet.domain.signature import signature_of
from cronfleet.ports.dead_letters import Died
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.operations import PutOperation
from cronfleet.services.operation_doer import OperationDoer
from cronfleet.services.redrive_source import RedriveSource
from tests.support.builders import at, cron, definition, timer
from tests.support.faults import Crash
from tests.support.world import World

TWO = at("2026-12-01 02:00")
TENANT = "acme"
POISON, HARMLESS = "row 17 is poison", "HTTP 503: no answer"
Script = Any


class RedriveWorld(World):
    """Letters of two schedules, an operation that redrives them, and workers that run what it makes."""

    def __init__(self, letters: int = 0, error: str = HARMLESS) -> None:
        super().__init__(TWO)
        for schedule_id in ("nightly", "weekly"):
            trigger = cron("0 2 * * *")
            self.add(
                timer(trigger, TWO + 24 * HOUR, schedule_id=schedule_id), definition(trigger, schedule_id=schedule_id)
            )
        self.made: list[RunKey] = []
        for number in range(letters):
            self.letter(number, error)

    def letter(self, number: int, error: str = HARMLESS, schedule_id: str = "nightly") -> Run:
        nominal_at = TWO - 24 * HOUR + number * SECOND
        row = Run(RunKey(TENANT, schedule_id, 1, nominal_at), RunStatus.RUNNING, nominal_at, "standard", version=1)
        row = replace(row, attempts=(Attempt(1, 1, "owner", nominal_at),), fence=1)
        dead = decide_finish(row, Result(Outcome.FAILED, error), Retry(1), nominal_at + SECOND, "handler")
        assert self.store.insert_run(dead) is None
        return dead

    def begin(self, asked: AskedRedrive = AskedRedrive(), **changes: Any) -> Operation:  # noqa: B008 - frozen
        said = asked.record()
        operation = Operation(TENANT, "o1", Kind.REDRIVE, said, "key-1", self.clock.now(), "c1", "mended", **changes)
        self.store.commit([PutOperation(operation, None)])
        return operation

    @property
    def operation(self) -> Operation:
        found = self.store.get_operation(TENANT, "o1")
        assert found is not None
        return found

    def sources(self, store: Any) -> dict[Kind, Any]:
        return {Kind.REDRIVE: RedriveSource(store)}

    def carry_on(self, store: Any = None) -> Any:
        doer = OperationDoer(
            store=store or self.store,
            clock=self.clock,
            ids=self.ids,
            telemetry=self.notes,
            sources=self.sources(store or self.store),
        )
        return doer.carry_on(TENANT, "o1", self.clock.now() + MINUTE)

    def run_all(self, script: Script = lambda _: None) -> int:
        """Run every queued run; `script` says with which error one dies, `None`: it succeeds."""
        queued = [row for row in self.store.state.runs.values() if row.status is RunStatus.QUEUED]
        for row in queued:
            now = self.clock.now()
            message = RunMessage(row.key, row.tier, 1, row.due_at, now, "0.1.1", row.version, 60)
            started = decide_start(row, message, "owner", now)
            error = script(row)
            result = Result(Outcome.SUCCEEDED) if error is None else Result(Outcome.FAILED, error)
            self.store.replace_run(started.run)  # type: ignore[union-attr] - a queued run starts
            ended = decide_finish(started.run, result, Retry(1), now, "handler")  # type: ignore[union-attr] - as above
            self.store.replace_run(ended)
            self.made.append(row.key)
        return len(queued)

    def to_the_end(self, script: Script = lambda _: None, rounds: int = 2_000) -> Operation:
        for _ in range(rounds):
            self.carry_on()
            if not self.run_all(script) and (self.operation.is_over or self.operation.status is Status.STOPPED):
                return self.operation
            self.clock.advance(2 * SECOND)
        raise AssertionError(f"not at its end: {self.operation}")

    def letters(self) -> list[str]:
        found = self.store.list_letters(TENANT, Died(), cursor=None, limit=20_000).items
        return [letter.key.run_id for letter in found]

    def turn(self, verb: Verb, excluded: tuple[str, ...] = ()) -> None:
        before = self.operation
        after = turned(before, verb, self.clock.now(), excluded)
        assert after is not None
        self.store.commit([PutOperation(written(after, "c9"), before)])


def test_each_letter_is_redriven_once_the_oldest_first_and_leaves_the_view() -> None:
    world = RedriveWorld(100)
    world.begin()
    done = world.to_the_end()
    assert (done.status, done.counts) == (Status.FINISHED, {"succeeded": 100})
    ancestors = [world.store.get_run(key).ancestor for key in world.made]
    assert ancestors == sorted(ancestors, key=RunKey.parse), "those that died first come first"
    assert len(set(ancestors)) == 100
    assert world.letters() == []


def test_a_redriven_letter_says_by_whom_and_by_which_run() -> None:
    world = RedriveWorld(1)
    (letter,) = world.letters()
    world.begin()
    world.to_the_end()
    row = world.store.get_run(RunKey.parse(letter))
    assert row is not None
    assert (row.status, row.settled.how, row.settled.by) == (RunStatus.DEAD, How.REDRIVEN, "key-1")
    assert row.settled.run_id == world.made[0].run_id
    assert world.store.get_run(world.made[0]).ancestor == letter


def test_letters_are_redriven_by_name_with_another_payload() -> None:
    world = RedriveWorld(5)
    two = world.letters()[1:3]
    world.begin(AskedRedrive(tuple(two), payload=[{"fixed": True}]))
    done = world.to_the_end()
    assert done.counts == {"succeeded": 2}
    rows = [world.store.get_run(key) for key in world.made]
    assert [(row.payload, row.ancestor) for row in rows] == [({"fixed": True}, run_id) for run_id in two]
    assert len(world.letters()) == 3


def test_a_run_that_dies_again_is_a_letter_again_and_is_not_redriven_by_the_same_redrive() -> None:
    world = RedriveWorld(3)
    world.begin()
    done = world.to_the_end(lambda _: "another failure")
    assert done.counts == {"dead": 3}
    assert sorted(world.letters()) == sorted(key.run_id for key in world.made)


def test_what_was_settled_meanwhile_or_lost_its_schedule_is_passed_over() -> None:
    world = RedriveWorld(2)
    gone = world.letter(7, schedule_id="deleted")
    names = [*world.letters()]
    world.begin(AskedRedrive((*names, "acme~nightly~1~20200101T000000Z~schedule")))
    first = world.store.get_run(RunKey.parse(names[-1]))
    world.store.replace_run(settled(first, How.DISCARDED, "key-2", world.clock.now()))
    done = world.to_the_end()
    assert done.counts == {"succeeded": 1, "passed_over": 3}
    assert world.letters() == [gone.key.run_id]


def test_a_filter_by_signature_takes_those_alone() -> None:
    world = RedriveWorld(3)
    poison = world.letter(9, POISON)
    world.begin(AskedRedrive(signature=signature_of("failed", POISON, "handler").digest))
    assert world.to_the_end().counts == {"succeeded": 1}
    assert world.store.get_run(world.made[0]).ancestor == poison.key.run_id


@pytest.mark.parametrize("letters", [50, 10_000])
def test_a_redrive_whose_failures_return_stops_by_itself_after_a_few(letters: int) -> None:
    world = RedriveWorld(letters, POISON)
    world.begin(max_concurrent=10)
    done = world.to_the_end(lambda _: POISON)
    assert done.status is Status.STOPPED
    assert done.stopped is not None
    assert done.stopped.code is Code.FAILURES_RETURN
    assert done.stopped.detail["signature"] == signature_of("failed", POISON, "handler").digest
    assert "handler failed: row <n> is poison" in done.stopped.text
    assert STOPS_AT <= done.counts["dead"] <= STOPS_AT + 10, "and what was under way"
    assert len(world.letters()) == letters, "nothing is lost: those that died again are letters again"


def test_a_few_failures_of_many_kinds_do_not_stop_it() -> None:
    world = RedriveWorld(200)
    world.begin(max_concurrent=10)
    died = Counter[str]()

    def script(row: Run) -> str | None:
        number = row.key.nominal_at // SECOND
        if number % 5:
            return None
        words = ("alpha", "beta", "gamma", "delta")[number // 5 % 4]
        died[words] += 1
        return f"{words} is wrong"

    done = world.to_the_end(script)
    assert done.status is Status.FINISHED
    assert done.counts == {"dead": sum(died.values()), "succeeded": 200 - sum(died.values())}


def test_a_stopped_redrive_is_resumed_without_the_signature_that_stopped_it() -> None:
    world = RedriveWorld()
    poison = [world.letter(number, POISON) for number in range(40)]
    harmless = [world.letter(100 + number) for number in range(40)]
    world.begin(max_concurrent=10)

    def script(row: Run) -> str | None:
        return POISON if row.ancestor in {one.key.run_id for one in poison} else None

    stopped = world.to_the_end(script)
    assert stopped.stopped is not None
    tried = stopped.counts["dead"]
    world.turn(Verb.RESUME, (str(stopped.stopped.detail["signature"]),))
    done = world.to_the_end(script)
    assert done.status is Status.FINISHED
    assert done.counts == {"dead": tried, "succeeded": len(harmless), "passed_over": len(poison) - tried}
    assert len(world.letters()) == len(poison)


def test_whoever_carries_it_on_may_die_after_any_write_and_each_letter_is_redriven_once() -> None:
    world = RedriveWorld(120)
    world.begin(max_concurrent=50)
    commits = 0

    class Dying:
        """The store, of which every other commit is the last thing its process does, or all but."""

        def __getattr__(self, name: str) -> Any:
            return getattr(world.store, name)

        def commit(self, writes: Any) -> None:
            nonlocal commits
            commits += 1
            if commits % 3 == 1:
                raise Crash
            if commits % 3 == 2:
                raise NoAnswer
            world.store.commit(writes)
            raise Crash

    for _ in range(400):
        if world.operation.is_over:
            break
        with contextlib.suppress(Crash, NoAnswer):
            world.carry_on(Dying())
        world.run_all()
        world.clock.advance(10 * SECOND)
    assert world.operation.counts == {"succeeded": 120}
    ancestors = Counter(world.store.get_run(key).ancestor for key in world.made)
    assert len(ancestors) == 120
    assert set(ancestors.values()) == {1}
    assert not any(is_letter(row) for row in world.store.state.runs.values())


def test_what_became_of_each_letter_can_be_listed_page_by_page_while_it_goes_on() -> None:
    world = RedriveWorld(60)
    every = world.letters()[::-1]
    operation = world.begin(max_concurrent=20)
    world.carry_on()
    source = RedriveSource(world.store)
    found, cursor, is_last = [], "", False
    while not is_last:
        names = source.names(world.operation, cursor, 7)
        found += names.items
        cursor, is_last = names.position, names.is_last
        assert source.is_position(operation, cursor)
    assert [named.ancestor.key.run_id for named in found] == every
    passed = [named for named in found if source.has_passed(world.operation, named)]
    assert [named.ancestor.key.run_id for named in passed] == every[:20]
    assert all(world.store.get_run(named.key) is not None for named in passed)
