"""Chaos in short: every kind of process killed, frozen or misled under load, and the exact sum.

`chaos.py` is the long form.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from local.aws import Aws
from local.testing import StackProcess, running_stack
from tests.e2e import victims
from tests.e2e.callers import Callers, now
from tests.e2e.clocks import FUNCTIONS, TIMELESS, TOLERANCE, Clocks
from tests.e2e.ledger import SECOND
from tests.e2e.storm import Storm
from tests.e2e.verdict import Verdict, settle
from tests.support import faketime

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not victims.PROCESSES.exists(), reason="it looks for processes in /proc, which only Linux has"),
]

STORM_SECONDS = 30
SETTLE_SECONDS = 240
STRUCK = {"kill busy worker", "kill dispatcher", "kill sweeper", "kill api", "kill front", "kill supervisor"}


@dataclass(frozen=True)
class Aftermath:
    """What a storm did, and what is to be complained of when all has come to rest."""

    done: Counter[str]
    verdict: Verdict
    clocks: Clocks | None


@pytest.fixture(scope="module")
def aftermath(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aftermath]:
    """One storm on a stack of its own; clocks are shifted in it where that can be done."""
    library = faketime.library()
    with running_stack(tmp_path_factory.mktemp("chaos"), "--quiet") as stack:
        clocks = Clocks(stack, library) if library else None
        if clocks:
            clocks.fit()
        callers = Callers(stack, seed=1, tolerance=TOLERANCE if clocks else 0)
        callers.register(scale=1, minutes=STORM_SECONDS / 60)
        sweep(stack)
        callers.start()
        storm = Storm(stack, 1, clocks, gentle=True)
        storm.rage(STORM_SECONDS)
        if clocks:
            storm.insist()
        callers.stop()
        verdict = settle(stack, callers, clocks, now() - SECOND, SETTLE_SECONDS, lambda _: sweep(stack))
        callers.receiver.close()
        yield Aftermath(storm.done, verdict, clocks)


def test_whatever_is_killed_each_nominal_time_has_exactly_one_entry_and_no_promise_is_broken(aftermath):
    assert aftermath.verdict.complaints == []
    assert aftermath.done.keys() >= STRUCK
    assert aftermath.verdict.owed > 10 * STORM_SECONDS


def test_whoever_has_a_wrong_clock_does_nothing_and_alarms_and_goes_on_when_it_is_right_again(aftermath):
    """The verdict looks at it: nothing was asked for but reads, each function alarmed, and the sum is exact."""
    if aftermath.clocks is None:
        pytest.skip(faketime.MISSING)
    assert {name for name, _ in aftermath.clocks.alarmed} == set(FUNCTIONS) - TIMELESS
    assert {shift.function for shift in aftermath.clocks.shifts if not shift.is_refused} != set()
    assert aftermath.verdict.complaints == []


def sweep(stack: StackProcess) -> None:
    """The sweeper comes once a minute; here nobody has to wait for that."""
    Aws(stack.facts["emulator"]).client("lambda").invoke(FunctionName="cronfleet-sweeper")
