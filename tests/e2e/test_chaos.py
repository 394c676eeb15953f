"""Chaos in short: every kind of process killed or frozen under load, and the exact sum. `chaos.py` is the long form."""

import pytest

from local.aws import Aws
from local.testing import StackProcess, running_stack
from tests.e2e import victims
from tests.e2e.callers import Callers, now
from tests.e2e.ledger import SECOND
from tests.e2e.storm import Storm
from tests.e2e.verdict import settle

pytestmark = pytest.mark.e2e

STORM_SECONDS = 30
SETTLE_SECONDS = 240
STRUCK = {"kill busy worker", "kill dispatcher", "kill sweeper", "kill api", "kill front", "kill supervisor"}


@pytest.mark.skipif(not victims.PROCESSES.exists(), reason="it looks for processes in /proc, which only Linux has")
def test_whatever_is_killed_each_nominal_time_has_exactly_one_entry_and_no_promise_is_broken(tmp_path_factory):
    with running_stack(tmp_path_factory.mktemp("chaos"), "--quiet") as stack:
        callers = Callers(stack, seed=1)
        callers.register(scale=1, minutes=STORM_SECONDS / 60)
        sweep(stack)
        callers.start()
        storm = Storm(stack, seed=1, gentle=True)
        storm.rage(STORM_SECONDS)
        callers.stop()
        until = now() - SECOND
        verdict = settle(stack, callers, until, SETTLE_SECONDS, lambda _: sweep(stack))
    assert verdict.complaints == []
    assert storm.done.keys() >= STRUCK
    assert verdict.owed > 10 * STORM_SECONDS


def sweep(stack: StackProcess) -> None:
    """The sweeper comes once a minute; here nobody has to wait for that."""
    Aws(stack.facts["emulator"]).client("lambda").invoke(FunctionName="cronfleet-sweeper")
