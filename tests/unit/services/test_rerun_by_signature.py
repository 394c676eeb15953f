"""Re-runs of all that failed in one way: dead letters of one signature, whichever schedules they are of."""

from typing import Any

from cronfleet.domain.dead_letter import is_letter, settled
from cronfleet.domain.instant import SECOND
from cronfleet.domain.operation import Kind, Operation
from cronfleet.domain.run import Outcome, Run, RunKey
from cronfleet.domain.settlement import How
from cronfleet.domain.signature import signature_of
from cronfleet.ports.operations import PutOperation
from cronfleet.services.ancestry import SettlingAncestors
from cronfleet.services.rerun_source import RerunSource
from tests.unit.services.test_redrive import HARMLESS, POISON, TENANT, TWO, RedriveWorld

DIGEST = signature_of("failed", HARMLESS, "handler").digest


class RerunWorld(RedriveWorld):
    """Letters of two schedules, and a re-run of those of one signature."""

    def ask(self, **more: Any) -> Operation:
        asked = {"status": ["dead"], "version": "newest", "signature": DIGEST, "subjects": [], **more}
        operation = Operation(TENANT, "o1", Kind.RERUN, asked, "key-1", self.clock.now(), "c1", max_concurrent=20)
        self.store.commit([PutOperation(operation, None)])
        return operation

    def sources(self, store: Any) -> dict[Kind, Any]:
        return {Kind.RERUN: RerunSource(store)}

    def run_all(self, script: Any = lambda _: None) -> int:
        """As workers do: a run that succeeds settles what it repeats."""
        count = super().run_all(script)
        for key in self.made[-count:] if count else ():
            self.settle(self.row(key))
        return count

    def settle(self, row: Run) -> None:
        for write in SettlingAncestors(self.store).writes_for(None, row, None):
            self.store.replace_run(write.run)  # type: ignore[union-attr] - it writes rows alone

    def row(self, key: RunKey) -> Run:
        found = self.store.get_run(key)
        assert found is not None
        return found


def test_each_letter_of_the_signature_is_run_again_once_the_oldest_first() -> None:
    world = RerunWorld(60)
    weekly = world.letter(70, schedule_id="weekly")
    other = world.letter(80, POISON)
    world.ask()
    assert world.to_the_end().counts == {"succeeded": 61}
    ancestors = [world.row(key).ancestor for key in world.made]
    assert len(set(ancestors)) == 61
    assert ancestors[-1] == weekly.key.run_id
    assert world.letters() == [other.key.run_id], "what succeeds settles what it repeats, and nothing else"


def test_a_letter_stays_one_while_its_repetition_has_not_succeeded_and_is_not_repeated_again() -> None:
    world = RerunWorld(3)
    before = world.letters()
    world.ask()
    done = world.to_the_end(lambda _: HARMLESS)
    assert done.counts == {"dead": 3}
    assert set(before) < set(world.letters())
    assert {world.row(key).ancestor for key in world.made} == set(before)


def test_times_are_of_what_was_due_and_what_is_a_repetition_itself_is_not_taken() -> None:
    world = RerunWorld(10)
    due = sorted(RunKey.parse(run_id).nominal_at for run_id in world.letters())
    world.ask(**{"from": due[2], "to": due[5]})
    assert world.to_the_end(lambda _: HARMLESS).counts == {"dead": 3}
    world.clock.advance(SECOND)
    taken = RerunSource(world.store).names(_later(world), "", 100)
    assert len(taken.items) == 10


def _later(world: RerunWorld) -> Operation:
    asked = {"status": ["dead"], "version": "newest", "signature": DIGEST, "subjects": []}
    return Operation(TENANT, "o2", Kind.RERUN, asked, "key-1", world.clock.now(), "c2")


def test_what_became_of_each_is_listed_once_it_is_settled_too() -> None:
    world = RerunWorld(50)
    every = world.letters()[::-1]
    operation = world.ask()
    world.carry_on()
    world.run_all()
    source = RerunSource(world.store)
    found, cursor, is_last = [], "", False
    while not is_last:
        names = source.names(world.operation, cursor, 7)
        found += names.items
        cursor, is_last = names.position, names.is_last
        assert source.is_position(operation, cursor)
    assert [named.ancestor.key.run_id for named in found] == every
    passed = [named for named in found if source.has_passed(world.operation, named)]
    assert [named.ancestor.key.run_id for named in passed] == every[:20]
    assert all(not is_letter(named.ancestor) for named in passed)
    assert not source.is_position(operation, "no place")


def test_what_somebody_settled_meanwhile_is_not_run_again() -> None:
    world = RerunWorld(4)
    world.ask()
    first = world.row(RunKey.parse(world.letters()[0]))
    world.store.replace_run(settled(first, How.DISCARDED, "key-2", world.clock.now()))
    done = world.to_the_end()
    assert done.counts["succeeded"] == 3
    assert first.attempts[0].outcome is Outcome.FAILED
    assert first.key.nominal_at < TWO
    assert first.key.run_id not in {world.row(key).ancestor for key in world.made}
