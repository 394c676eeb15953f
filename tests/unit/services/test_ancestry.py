"""A run that repeats a dead letter settles it when it succeeds, and not before."""

import pytest

from cronfleet.domain.dead_letter import is_letter, settled
from cronfleet.domain.instant import DAY, SECOND
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.settlement import How
from tests.support.workshop import TWO, Workshop, fails_first, succeeds


def key(days: int) -> RunKey:
    return RunKey("acme", "nightly", 1, TWO - days * DAY)


def letter(world: Workshop, days: int, ancestor: str = "") -> RunKey:
    """A run of some days ago that died, and repeats `ancestor`."""
    row = Run(key(days), RunStatus.RUNNING, TWO - days * DAY, "standard", version=1, ancestor=ancestor)
    world.store.insert_run(row.ended(RunStatus.DEAD, TWO - days * DAY + SECOND))
    return row.key


def repeat(world: Workshop, ancestor: RunKey) -> None:
    """The run that the message names repeats `ancestor`."""
    row = Run(world.message.key, RunStatus.QUEUED, TWO, "standard", version=1, ancestor=ancestor.run_id)
    world.store.insert_run(row)


def row(world: Workshop, of: RunKey) -> Run:
    found = world.store.get_run(of)
    assert found is not None
    return found


def test_a_run_that_succeeds_settles_the_letter_that_it_repeats_and_what_that_repeated() -> None:
    world = Workshop(succeeds)
    first = letter(world, 2)
    second = letter(world, 1, first.run_id)
    repeat(world, second)
    world.deliver()
    for of in (first, second):
        done = row(world, of)
        assert done.settled is not None
        assert (done.status, done.settled.how) == (RunStatus.DEAD, How.RERUN)
        assert done.settled.run_id == world.message.key.run_id


def test_a_run_that_fails_settles_nothing() -> None:
    world = Workshop(fails_first(9))
    first = letter(world, 1)
    repeat(world, first)
    world.settle()
    assert is_letter(row(world, first))


def test_a_letter_that_was_settled_already_stays_as_it_is() -> None:
    world = Workshop(succeeds)
    first = letter(world, 1)
    done = settled(row(world, first), How.DISCARDED, "key-1", TWO)
    world.store.replace_run(done)
    repeat(world, first)
    world.deliver()
    assert row(world, first) == done


def test_a_letter_that_is_discarded_while_its_repetition_ends_is_decided_about_anew() -> None:
    world = Workshop(succeeds)
    first = letter(world, 1)
    repeat(world, first)
    commit = world.store.commit

    def meanwhile(writes: object) -> None:
        if is_letter(row(world, first)) and len(writes) > 1:  # type: ignore[arg-type] - it has a length
            world.store.replace_run(settled(row(world, first), How.DISCARDED, "key-1", TWO))
        commit(writes)  # type: ignore[arg-type] - as above

    world.store.commit = meanwhile  # type: ignore[method-assign] - the moment in between
    world.deliver()
    assert world.stored.status is RunStatus.SUCCEEDED
    assert row(world, first).settled.how is How.DISCARDED  # type: ignore[union-attr] - it is settled


def test_an_ancestor_whose_row_has_expired_is_no_hindrance() -> None:
    world = Workshop(succeeds)
    repeat(world, key(5))
    world.deliver()
    assert world.stored.status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("repeats", [False, True])
def test_only_a_run_that_repeats_another_reads_it(repeats: bool) -> None:
    world = Workshop(succeeds)
    if repeats:
        repeat(world, letter(world, 1))
    read: list[RunKey] = []
    get = world.store.get_run

    def counted(wanted: RunKey) -> Run | None:
        read.append(wanted)
        return get(wanted)

    world.store.get_run = counted  # type: ignore[method-assign] - to count
    world.deliver()
    assert [one for one in read if one != world.message.key] == ([key(1)] if repeats else [])
    assert world.stored.status is RunStatus.SUCCEEDED
