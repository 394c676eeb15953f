"""What telling costs, in units, counted under the real adapter: nothing for an attempt that says nothing."""

from typing import Any

import pytest

from benchmarks.metering.chain import Chain, metered_chain
from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_log import LogLine
from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.instant import SECOND
from cronfleet.domain.progress import BEAT_SECONDS
from cronfleet.domain.run import Outcome
from cronfleet.services.cancelling import ask_to_cancel
from cronfleet.services.endings import Endings


def worker_of(job: Any) -> tuple[float, float]:
    """What the worker wrote and read for one attempt, which `job(chain, call, pulse)` makes."""
    chain: Chain = metered_chain()
    chain.targets.call = lambda call, pulse: job(chain, call, pulse) or Result(Outcome.SUCCEEDED)
    chain.add(0)
    chain.start_counting()
    chain.tick("dispatcher")
    chain.work()
    bill = chain.parts["worker"].bill
    return bill.writes, bill.reads


SILENT = worker_of(lambda *_: None)


def beats(chain: Chain, pulse: Any, seconds: int) -> None:
    for second in range(seconds):
        chain.clock.advance(SECOND)
        pulse.beat(second / seconds, f"step {second}")


def silent_for(seconds: int) -> tuple[float, float]:
    """What an attempt costs that takes as long and says nothing."""
    return worker_of(lambda chain, _call, _pulse: chain.clock.advance(seconds * SECOND))


def test_an_attempt_that_says_nothing_pays_for_its_start_and_its_end() -> None:
    assert SILENT[0] == 2.0


def test_an_attempt_that_is_over_within_a_beat_pays_nothing_for_its_progress() -> None:
    short = BEAT_SECONDS - 1
    assert worker_of(lambda chain, _call, pulse: beats(chain, pulse, short)) == silent_for(short)


def test_beats_cost_a_write_unit_in_five_seconds_and_no_read() -> None:
    written, read = worker_of(lambda chain, _call, pulse: beats(chain, pulse, 30))
    assert (written - SILENT[0], read) == (6.0, silent_for(30)[1])


@pytest.mark.parametrize(("lines", "units"), [(1, 1.0), (100, 1.0), (200, 2.0)])
def test_a_log_costs_a_unit_for_each_kilobyte_of_what_is_kept(lines: int, units: float) -> None:
    said = [LogLine(1_796_000_000_000 + number, "INFO", f"account {number} billed") for number in range(lines)]
    written, read = worker_of(lambda _chain, _call, pulse: pulse.log(said, is_whole=True))
    assert (written - SILENT[0], read) == (units, SILENT[1])


def test_a_cancellation_that_is_asked_for_in_mid_run_costs_a_write_more_where_it_is_met() -> None:
    def job(chain: Chain, call: Any, pulse: Any) -> Result:
        ask_to_cancel(chain.store, Endings(chain.store), call.key, CancelRequest(chain.clock.now(), "ada"))
        beats(chain, pulse, BEAT_SECONDS)
        return Result(Outcome.CANCELLED, "gave up")

    written, _ = worker_of(job)
    # The request, in a transaction: 2. The beat that is refused, and hears of it: 1.
    assert written - SILENT[0] == 3.0
