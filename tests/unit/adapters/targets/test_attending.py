"""What a running job tells its worker, and is told: beats, cancellation, and the end of what it says."""

import os
import time
from dataclasses import replace
from typing import Any

import pytest

from cronfleet.adapters.targets import attending
from cronfleet.adapters.targets.log_tail import LogTail
from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_log import MAX_LINE_CHARACTERS, MAX_LINES, LogLine, tail_of
from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.progress import MAX_TEXT_CHARACTERS
from cronfleet.domain.run import Outcome
from cronfleet.domain.target import HandlerTarget
from cronfleet.sdk import Cancelled, Context, handler
from tests.support.calls import KEY, Felt, Notebook, call
from tests.unit.adapters.targets.test_handler import make

ASKED = CancelRequest(0, "ada", "wrong day")


def run(name: str, pulse: Felt, notebook: Notebook | None = None, payload: Any = None, **about: Any) -> Result:
    target = HandlerTarget(name, secrets=about.pop("secrets", ()))
    beats = about.pop("heartbeat_seconds", 0)
    wanted = call(target, payload, seconds=about.pop("seconds", 20))
    return make(notebook).call(replace(wanted, heartbeat_seconds=beats), target, pulse)


def asked_at_the_first_beat() -> Felt:
    def told(pulse: Felt) -> None:
        pulse.cancel = ASKED

    return Felt(on_beat=told)


@handler("attend.tell")
def tell(context: Context, _payload: Any) -> None:
    context.progress(0.25, "a  quarter\nof it")
    context.heartbeat()
    context.progress(text="x" * 1_000)
    context.progress(1)


def test_the_last_that_a_job_told_gets_through_however_fast_it_tells() -> None:
    pulse = Felt()
    assert run("attend.tell", pulse).outcome is Outcome.SUCCEEDED
    assert pulse.beats[0] == (0.25, "a quarter of it")
    assert pulse.beats[-1] == (1.0, "x" * MAX_TEXT_CHARACTERS)
    assert len(pulse.beats) == 2, "what came in between waits for the next"


@handler("attend.no-fraction")
def no_fraction(context: Context, payload: Any) -> None:
    context.progress(float(payload))


@pytest.mark.parametrize("fraction", ["1.5", "-0.1", "nan"])
def test_a_progress_that_is_no_fraction_is_refused_where_the_author_sees_the_line(fraction: str) -> None:
    result = run("attend.no-fraction", Felt(), payload=fraction)
    assert "from 0 to 1" in str(result.error)


@handler("attend.until-cancelled")
def until_cancelled(context: Context, payload: Any) -> None:
    while True:
        try:
            context.heartbeat()
        except Exception as error:
            raise AssertionError("an `except Exception` must not swallow it") from error
        except Cancelled:
            context.receipt("cleaned-up", context.cancelled)
            if payload == "succeed":
                return
            raise
        time.sleep(0.02)


def test_a_job_learns_of_its_cancellation_at_its_next_heartbeat_and_may_clean_up() -> None:
    notebook = Notebook(is_cancelled=True)
    began = time.monotonic()
    result = run("attend.until-cancelled", asked_at_the_first_beat(), notebook)
    assert result == Result(Outcome.CANCELLED, "it gave up, as its cancellation was asked for")
    assert notebook.records == {"cleaned-up": True}
    assert time.monotonic() - began < attending.GRACE_SECONDS / 2


def test_a_job_that_finishes_although_it_was_asked_to_end_has_succeeded() -> None:
    result = run("attend.until-cancelled", asked_at_the_first_beat(), Notebook(is_cancelled=True), "succeed")
    assert result.outcome is Outcome.SUCCEEDED


@handler("attend.receipt-only")
def receipt_only(context: Context, _payload: Any) -> None:
    context.receipt("paid")


def test_a_job_learns_of_its_cancellation_by_a_receipt_which_is_not_recorded_then() -> None:
    notebook = Notebook(is_cancelled=True)
    assert run("attend.receipt-only", Felt(), notebook).outcome is Outcome.CANCELLED
    assert notebook.records == {}


@handler("attend.deaf")
def deaf(context: Context, _payload: Any) -> None:
    context.heartbeat(raises=False)
    print("cancelled", context.cancelled)  # noqa: T201 - what a job prints is the subject
    time.sleep(30)


def test_a_job_that_knows_and_goes_on_is_stopped_after_its_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attending, "GRACE_SECONDS", 0.5)
    pulse = asked_at_the_first_beat()
    began = time.monotonic()
    result = run("attend.deaf", pulse)
    assert (result.outcome, time.monotonic() - began < 5) == (Outcome.CANCELLED, True)
    assert "did not end within" in str(result.error)
    assert pulse.said == ["cancelled True"]


@handler("attend.raises-cancelled")
def raises_cancelled(_context: Context, _payload: Any) -> None:
    raise Cancelled("of its own")


def test_a_job_that_was_not_asked_to_end_and_says_so_has_failed() -> None:
    result = run("attend.raises-cancelled", Felt())
    assert result == Result(Outcome.FAILED, "Cancelled: of its own")


@handler("attend.silent")
def silent(context: Context, payload: Any) -> None:
    for _ in range(int(payload)):
        context.heartbeat()
        time.sleep(0.4)
    time.sleep(30)


def test_a_job_that_must_beat_and_falls_silent_is_stopped_and_may_be_tried_again() -> None:
    began = time.monotonic()
    result = run("attend.silent", Felt(), payload=4, heartbeat_seconds=1)
    assert result == Result(Outcome.TIMED_OUT, "stopped: no heartbeat for 1 s")
    assert 2 <= time.monotonic() - began < 10, "while it beat it went on"


def test_a_job_whose_lease_is_lost_is_stopped_without_having_to_beat() -> None:
    result = run("attend.silent", Felt(lost=True), payload=0)
    assert "another attempt has the run" in str(result.error)


# --- what it says ----------------------------------------------------------------------------------------------


@handler("attend.talk")
def talk(context: Context, payload: Any) -> None:
    print("printed\nin two lines")  # noqa: T201 - what a job prints is the subject
    context.logger.warning("logged", extra={"account": "a", "key": "s3cret-t0ken"})
    if payload == "die":
        os._exit(3)
    raise LookupError("no account")


def test_what_a_job_prints_and_logs_is_kept_with_its_traceback_and_without_its_secrets() -> None:
    pulse = Felt()
    run("attend.talk", pulse, secrets=(("token", "cronfleet/acme/token"),))
    assert pulse.said[:3] == ["printed", "in two lines", 'logged {"account": "a", "key": "***"}']
    assert [line.level for line in pulse.lines] == ["INFO", "INFO", "WARNING", "ERROR"]
    assert pulse.said[3].startswith("job_failed\nTraceback")
    assert "LookupError: no account" in pulse.said[3]
    assert pulse.is_whole


def test_what_a_job_said_is_kept_although_its_process_died() -> None:
    pulse = Felt()
    result = run("attend.talk", pulse, payload="die")
    assert "exit code 3" in str(result.error)
    assert len(pulse.said) == 3


@handler("attend.flood")
def flood(_context: Context, payload: Any) -> None:
    for number in range(int(payload)):
        print(f"line {number}", "x" * 100)  # noqa: T201 - what a job prints is the subject


def test_of_a_flood_the_newest_lines_are_kept() -> None:
    pulse = Felt()
    assert run("attend.flood", pulse, payload=20_000).outcome is Outcome.SUCCEEDED
    assert pulse.said[-1].startswith("line 19999 ")
    assert not pulse.is_whole
    kept, is_all = tail_of(pulse.lines)
    assert len(kept) <= MAX_LINES
    assert not is_all or len(kept) == len(pulse.lines)
    numbers = [int(line.text.split()[1]) for line in kept]
    assert numbers == list(range(numbers[0], 20_000))


def test_a_job_that_says_nothing_leaves_nothing() -> None:
    pulse = Felt()
    run("attend.receipt-only", pulse)
    assert pulse.lines == []


def test_a_line_longer_than_may_be_is_cut_and_one_that_is_garbled_left_out() -> None:
    tail = LogTail()
    tail.add(1, "INFO", "x" * 10_000)
    tail._memory[8 + tail.written - 1 : 8 + tail.written + 5] = b"\n{oh no"[:6]
    tail.add(2, "INFO", "half a pair \ud83d")
    lines, is_whole = tail.read()
    assert lines[0] == LogLine(1, "INFO", "x" * MAX_LINE_CHARACTERS)
    assert lines[-1] == LogLine(2, "INFO", "half a pair \ud83d")
    assert is_whole
    tail.close()


def test_the_tail_holds_less_than_it_is_given_by_lines_and_by_bytes() -> None:
    many = [LogLine(n, "INFO", "x") for n in range(MAX_LINES + 5)]
    assert tail_of(many) == (tuple(many[5:]), False)
    long = [LogLine(n, "INFO", "é" * 2_000) for n in range(6)]
    kept, is_all = tail_of(long)
    assert (len(kept), kept[-1], is_all) == (4, long[-1], False)
    assert tail_of([]) == ((), True)
    assert KEY.run_id
