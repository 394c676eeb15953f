"""Python handlers: each attempt in a process of its own, stopped at its limit, with nothing left behind."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cronfleet.adapters.system.clock import SystemClock
from cronfleet.adapters.targets.handler import PythonHandlers, load
from cronfleet.adapters.targets.secrets import SecretRefused, SecretUnavailable
from cronfleet.domain.attempt import Result
from cronfleet.domain.run import MAX_ERROR_CHARACTERS, Outcome
from cronfleet.domain.target import HandlerTarget
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.tracing import JobSpans
from cronfleet.sdk import Context, NotRecorded, Permanent, RegisteredTwice, handler, registered
from tests.support.calls import KEY, Felt, Notebook, call

ROOT = Path(__file__).resolve().parents[4]
PATIENCE_SECONDS = 10


SECRETS = {
    "cronfleet/acme/token": "s3cret-t0ken",
    "cronfleet/acme/pem": "-----BEGIN-----\nMIIEabc/def+ghi\n-----END-----",
}


def read_secret(tenant: str, reference: str) -> str:
    if not reference.startswith(f"cronfleet/{tenant}/"):
        raise SecretRefused(f"the secret {reference!r} is another's")
    if reference not in SECRETS:
        raise SecretUnavailable(f"the secret {reference!r} cannot be read")
    return SECRETS[reference]


def make(notebook: Notebook | None = None, package: str = "functions.worker.handlers") -> PythonHandlers:
    return PythonHandlers(
        package=package, receipts=notebook or Notebook(), clock=SystemClock(), read_secret=read_secret
    )


def make_traced(job_spans: JobSpans) -> PythonHandlers:
    return PythonHandlers(
        package="functions.worker.handlers",
        receipts=Notebook(),
        clock=SystemClock(),
        read_secret=read_secret,
        job_spans=job_spans,
    )


def run(
    name: str,
    payload: Any = None,
    notebook: Notebook | None = None,
    seconds: float = 5,
    pulse: Felt | None = None,
) -> Result:
    target = HandlerTarget(name)
    return make(notebook).call(call(target, payload, seconds=seconds), target, pulse or Felt())


def ends(pid: int) -> bool:
    """Whether the process `pid` ends within a while (or has ended before)."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], PATIENCE_SECONDS)[0])
    finally:
        os.close(handle)


@handler("test.describe")
def describe_attempt(context: Context, payload: Any) -> dict[str, str]:
    seen = {
        "run_id": context.run_id,
        "tenant": context.tenant,
        "schedule_id": context.schedule_id,
        "numbers": [context.attempt, context.fence],
        "instants": [context.nominal_at.isoformat(), context.due_at.isoformat()],
        "aware": context.deadline.tzinfo is not None,
        "time_left": context.time_left(),
        "payload": payload,
        "pid": os.getpid(),
    }
    context.receipt("seen", seen)
    return {"a value": "that nobody reads"}


def test_a_job_gets_its_payload_and_a_context_that_says_which_attempt_it_is() -> None:
    notebook = Notebook()
    assert run("test.describe", {"deep": [1, {"a": None}]}, notebook) == Result(Outcome.SUCCEEDED)
    seen = notebook.records["seen"]
    assert seen["run_id"] == KEY.run_id
    assert (seen["tenant"], seen["schedule_id"], seen["numbers"]) == ("acme", "month.end", [1, 1])
    assert seen["instants"] == ["2026-12-01T02:00:00+00:00"] * 2
    assert seen["aware"]
    assert 3 < seen["time_left"] <= 5
    assert seen["payload"] == {"deep": [1, {"a": None}]}


def test_a_job_runs_in_a_process_of_its_own_that_is_reaped() -> None:
    notebook = Notebook()
    run("test.describe", None, notebook)
    pid = notebook.records["seen"]["pid"]
    assert pid != os.getpid()
    assert not Path(f"/proc/{pid}").exists()


@handler("test.raise")
def raises(_context: Context, payload: Any) -> None:
    raise {"lookup": LookupError, "permanent": Permanent, "exit": SystemExit}[payload["kind"]](payload["said"])


def test_what_a_job_raises_is_the_error_on_one_line() -> None:
    assert run("test.raise", {"kind": "lookup", "said": "no account\n  42"}) == Result(
        Outcome.FAILED, "LookupError: no account 42"
    )


def test_an_error_is_cut_to_what_a_row_holds() -> None:
    error = run("test.raise", {"kind": "lookup", "said": "x" * 100_000}).error
    assert error is not None
    assert len(error) == MAX_ERROR_CHARACTERS


def test_a_permanent_failure_is_not_tried_again() -> None:
    assert run("test.raise", {"kind": "permanent", "said": "closed"}) == Result(
        Outcome.FAILED, "Permanent: closed", retryable=False
    )


def test_a_job_that_exits_with_a_code_has_failed_and_without_one_has_succeeded() -> None:
    assert run("test.raise", {"kind": "exit", "said": 3}).outcome is Outcome.FAILED
    assert run("test.raise", {"kind": "exit", "said": 0}).outcome is Outcome.SUCCEEDED


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("even this")


@handler("test.unspeakable")
def unspeakable(_context: Context, _payload: Any) -> None:
    raise Unspeakable


def test_an_exception_that_cannot_be_shown_still_fails_the_attempt_with_its_name() -> None:
    assert run("test.unspeakable").error == "Unspeakable: (its message cannot be shown)"


# --- limits ----------------------------------------------------------------------------------------------------


@handler("test.hang")
def hang(context: Context, payload: Any) -> None:
    if payload.get("stubborn"):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "300"])
    context.receipt("pids", [os.getpid(), child.pid])
    time.sleep(300)


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_job_past_its_limit_is_stopped_with_the_processes_it_started(stubborn: bool) -> None:
    notebook = Notebook()
    began = time.monotonic()
    result = run("test.hang", {"stubborn": stubborn}, notebook, seconds=0.6)
    assert result == Result(Outcome.TIMED_OUT, "stopped after 1 s, its time limit")
    assert time.monotonic() - began < 3
    assert all(ends(pid) for pid in notebook.records["pids"])


@handler("test.chatter")
def chatter(context: Context, _payload: Any) -> None:
    while True:
        context.receipt("again")


def test_a_job_that_never_stops_asking_is_stopped_too() -> None:
    assert run("test.chatter", seconds=0.5).outcome is Outcome.TIMED_OUT


@handler("test.leave")
def leaves_a_process(context: Context, _payload: Any) -> None:
    context.receipt("pid", subprocess.Popen(["sleep", "300"]).pid)


def test_a_process_that_a_finished_job_leaves_behind_ends_with_it() -> None:
    notebook = Notebook()
    assert run("test.leave", None, notebook).outcome is Outcome.SUCCEEDED
    assert ends(notebook.records["pid"])


@handler("test.die")
def die(_context: Context, payload: Any) -> None:
    if "code" in payload:
        os._exit(payload["code"])
    os.kill(os.getpid(), payload["signal"])


def test_a_job_whose_process_dies_has_failed_with_the_name_of_the_signal() -> None:
    assert run("test.die", {"signal": signal.SIGXCPU}).error == "its process was ended by SIGXCPU"
    killed = run("test.die", {"signal": signal.SIGKILL})
    assert killed == Result(Outcome.FAILED, "its process was ended by SIGKILL, as happens when memory runs out")


def test_a_job_whose_process_exits_without_a_word_has_failed() -> None:
    assert run("test.die", {"code": 7}).error == "its process ended with exit code 7 and no result"


@handler("test.die-holding")
def die_holding(_context: Context, _payload: Any) -> None:
    if os.fork() == 0:
        time.sleep(300)
    os._exit(1)


def test_the_death_of_a_job_is_seen_although_a_process_it_forked_still_holds_the_line() -> None:
    began = time.monotonic()
    assert run("test.die-holding", seconds=30).outcome is Outcome.FAILED
    assert time.monotonic() - began < 5


@handler("test.garble")
def garble(_context: Context, payload: Any) -> None:
    for number in range(3, 64):
        try:
            os.write(number, payload.encode())
        except OSError:
            continue
    time.sleep(300)


@pytest.mark.parametrize("noise", ["{nonsense}\n", "[1]\n", "[" * 50_000 + "\n", "x" * 200_000])
def test_a_job_that_writes_into_the_line_itself_fails_its_own_attempt_only(noise: str) -> None:
    assert noisy(noise).outcome is Outcome.FAILED


def noisy(noise: str) -> Result:
    """In a process without other sockets that the noise could reach."""
    code = (
        "import tests.unit.adapters.targets.test_handler as t; import sys, json\n"
        "r = t.run('test.garble', json.loads(sys.stdin.read()), seconds=5)\n"
        "print('RESULT', r.outcome.value)"
    )
    done = python(code, json.dumps(noise))
    return Result(Outcome(done.stdout.split("RESULT ")[1].strip()))


def python(code: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(),
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'layers/core/python'}"}


def hanging_worker(seconds: float) -> subprocess.Popen[str]:
    """A process that runs `test.hang` and prints the numbers of its processes."""
    code = (
        "import tests.unit.adapters.targets.test_handler as t; import os\n"
        "class Tell(t.Notebook):\n"
        "    def record(self, *a, **k):\n"
        "        print(a[3], flush=True)\n"
        "        return super().record(*a, **k)\n"
        f"t.run('test.hang', {{}}, Tell(), seconds={seconds})"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True
    )


def test_a_worker_that_is_killed_leaves_no_job_running() -> None:
    worker = hanging_worker(seconds=60)
    assert worker.stdout is not None
    job, leftover = json.loads(worker.stdout.readline())
    worker.kill()
    assert ends(job)
    worker.wait()
    worker.stdout.close()
    os.kill(leftover, signal.SIGKILL)  # What a job starts is its own affair once the machine's end comes to both.


def test_a_job_whose_worker_stood_still_past_the_limit_is_stopped_as_soon_as_that_goes_on() -> None:
    """The lease has gone on meanwhile, and another worker may have the run."""
    worker = hanging_worker(seconds=4)
    assert worker.stdout is not None
    job, leftover = json.loads(worker.stdout.readline())
    for frozen in (worker.pid, job):
        os.kill(frozen, signal.SIGSTOP)
    time.sleep(4)  # The limit itself, by a clock that nothing can turn.
    went_on = time.monotonic()
    for frozen in (worker.pid, job):
        os.kill(frozen, signal.SIGCONT)
    assert ends(job)
    assert ends(leftover)
    assert time.monotonic() - went_on < 2
    worker.wait()
    worker.stdout.close()


def test_many_attempts_side_by_side_do_not_mix() -> None:
    notebooks = [Notebook() for _ in range(8)]
    threads = [threading.Thread(target=run, args=("test.describe", n, note)) for n, note in enumerate(notebooks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [note.records["seen"]["payload"] for note in notebooks] == list(range(8))


# --- receipts --------------------------------------------------------------------------------------------------


@handler("test.receipts")
def receipts(context: Context, payload: Any) -> None:
    first, second = context.receipt("once", payload), context.receipt("once", "another")
    assert (first.first, second.first) == (True, False)
    assert first.value == second.value == payload


def test_a_receipt_is_first_once_and_gives_what_the_first_one_recorded() -> None:
    notebook = Notebook()
    assert run("test.receipts", {"amount": 12}, notebook) == Result(Outcome.SUCCEEDED)
    assert notebook.records == {"once": {"amount": 12}}


@handler("test.wrong-receipts")
def wrong_receipts(context: Context, _payload: Any) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for name, value in (
        ("", 1),
        ("x" * 129, 1),
        ("a", object()),
        ("a", float("nan")),
        ("a", "x" * 20_000),
        ("a", deep),
    ):
        with pytest.raises(ValueError, match="receipt"):
            context.receipt(name, value)


def test_what_cannot_be_recorded_is_refused_where_the_author_sees_it() -> None:
    notebook = Notebook()
    assert run("test.wrong-receipts", None, notebook) == Result(Outcome.SUCCEEDED)
    assert notebook.records == {}


def test_a_job_whose_lease_was_taken_over_records_nothing_and_is_stopped() -> None:
    notebook = Notebook(lost=True)
    assert run("test.hang", {}, notebook) == Result(
        Outcome.FAILED, "stopped: its lease was over and another attempt has the run"
    )


@handler("test.unanswered")
def unanswered(context: Context, _payload: Any) -> None:
    with pytest.raises(NotRecorded):
        context.receipt("once")


def test_a_store_that_stays_silent_is_an_error_the_job_can_see() -> None:
    assert run("test.unanswered", None, Notebook(silent=NoAnswer())) == Result(Outcome.SUCCEEDED)


# --- the log ---------------------------------------------------------------------------------------------------


@handler("test.talk")
def talk(context: Context, _payload: Any) -> None:
    sys.stdout.write("printed\nin two lines\n")
    sys.stdout.write("unfinished")
    sys.stderr.write("an error\n")
    context.logger.info("logged", extra={"account": 7})
    raise LookupError("the end")


def test_what_a_job_prints_and_logs_is_in_the_log_with_its_run_id(capfd: pytest.CaptureFixture[str]) -> None:
    run("test.talk")
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert all(line["run_id"] == KEY.run_id and line["attempt"] == 1 for line in lines)
    said = {line["message"]: line for line in lines}
    assert set(said) == {"printed", "in two lines", "unfinished", "an error", "logged", "job_failed"}
    assert said["logged"]["account"] == 7
    assert said["an error"]["stream"] == "stderr"
    places = said["job_failed"]["exception"].splitlines()
    assert places[-1] == "LookupError", "its words are for its tenant, and may be a piece of the payload"
    assert any("in talk" in line for line in places)


@handler("test.program")
def program(_context: Context, _payload: Any) -> None:
    subprocess.run(["sh", "-c", """cat; echo '{"status": "ok"}'"""], check=True)


def test_a_program_that_a_job_starts_neither_takes_the_workers_events_nor_answers_for_it() -> None:
    """A function may get its events and give its answers by standard input and output; a curl may print JSON."""
    code = (
        "import tests.unit.adapters.targets.test_handler as t; import sys\n"
        "t.run('test.program')\n"
        "print('next:', sys.stdin.read(), end='')"
    )
    done = python(code, "an event")
    assert done.stdout == "next: an event"
    assert '{"status": "ok"}' in done.stderr


# --- the registry ----------------------------------------------------------------------------------------------


def test_a_name_that_nobody_registered_fails_for_good_and_says_which_are() -> None:
    result = run("billing.nihgtly")
    assert not result.retryable
    assert result.error is not None
    assert "'billing.nihgtly'" in result.error
    assert "billing.nightly" in result.error


def test_a_module_that_cannot_be_imported_harms_no_other_and_its_jobs_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "some_jobs"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "broken.py").write_text("import no_such_module\n")
    (package / "whole.py").write_text(
        "from cronfleet.sdk import handler\n@handler('test.whole')\ndef job(context, payload): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    handlers = make(package="some_jobs")
    for name, outcome in (("test.whole", Outcome.SUCCEEDED), ("test.in-the-broken-one", Outcome.FAILED)):
        target = HandlerTarget(name)
        result = handlers.call(call(target), target, Felt())
        assert (result.outcome, result.retryable) == (outcome, True)
    assert result.error is not None
    assert "some_jobs.broken: ModuleNotFoundError" in result.error


def test_a_package_that_is_not_there_is_told_by_name() -> None:
    assert load("no.such.package") == {"no.such.package": "ModuleNotFoundError: No module named 'no'"}


def test_two_functions_may_not_have_one_name() -> None:
    with pytest.raises(RegisteredTwice, match=r"test\.describe"):
        handler("test.describe")(raises)


def test_a_module_that_is_imported_again_registers_its_job_anew() -> None:
    assert handler("test.describe")(describe_attempt) is describe_attempt
    assert registered()["test.describe"] is describe_attempt


# --- the samples -----------------------------------------------------------------------------------------------


def test_nightly_billing_bills_each_account_once_over_all_attempts() -> None:
    notebook = Notebook()
    target = HandlerTarget("billing.nightly")
    for attempt in (1, 2):
        result = make(notebook).call(call(target, {"accounts": ["a", "b"]}, attempt=attempt), target, Felt())
        assert result.outcome is Outcome.SUCCEEDED
    assert notebook.records == {f"invoice-{name}": {"day": "2026-11-30", "attempt": 1} for name in "ab"}


def test_nightly_billing_does_not_retry_a_payload_that_no_retry_can_mend() -> None:
    assert not run("billing.nightly", {"accounts": "all"}).retryable


def test_the_flaky_sample_fails_twice_and_then_succeeds() -> None:
    target = HandlerTarget("demo.flaky")
    outcomes = [make().call(call(target, attempt=n), target, Felt()).outcome for n in (1, 2, 3)]
    assert outcomes == [Outcome.FAILED, Outcome.FAILED, Outcome.SUCCEEDED]


def test_the_other_samples_succeed() -> None:
    assert run("demo.heartbeat").outcome is Outcome.SUCCEEDED
    assert run("demo.slow", {"seconds": 0.5}).outcome is Outcome.SUCCEEDED


@handler("test.secrets")
def tells(context: Context, payload: Any) -> None:
    token = context.secret("TOKEN")
    context.receipt("token", token[:3] + str(len(token)))
    sys.stdout.write(f"printed {token}\n{context.secret('PEM')}\n{context}\n")
    context.logger.info("logged %s", token, extra={"header": {"authorization": f"Bearer {token}"}})
    try:
        {}[f"quoted {token!r}"]
    except LookupError:
        context.logger.exception("caught")
    raise RuntimeError(f"{'x' * (MAX_ERROR_CHARACTERS - 25)} {token}")


WITH_SECRETS = HandlerTarget("test.secrets", (("PEM", "cronfleet/acme/pem"), ("TOKEN", "cronfleet/acme/token")))


def test_a_job_gets_its_secrets_and_what_it_says_of_them_is_blotted_out(capfd: pytest.CaptureFixture[str]) -> None:
    notebook = Notebook()
    result = make(notebook).call(call(WITH_SECRETS), WITH_SECRETS, Felt())
    assert notebook.records["token"] == "s3c12"
    said = capfd.readouterr().out
    assert "printed ***" in said
    assert "logged ***" in said
    assert "Bearer ***" in said
    for secret in ("s3cret", "t0ken", "MIIE"):
        assert secret not in said
        assert secret not in str(result.error)
    assert [json.loads(line)["run_id"] for line in said.splitlines()] == [KEY.run_id] * len(said.splitlines())


@pytest.mark.parametrize(
    ("reference", "retryable"), [("cronfleet/rival/token", False), ("cronfleet/acme/nowhere", True)]
)
def test_a_secret_that_cannot_be_read_fails_the_attempt_before_the_job_begins(reference: str, retryable: bool) -> None:
    notebook = Notebook()
    target = HandlerTarget("test.describe", (("TOKEN", reference),))
    result = make(notebook).call(call(target), target, Felt())
    assert (result.outcome, result.retryable) == (Outcome.FAILED, retryable)
    assert reference in str(result.error)
    assert notebook.records == {}


@handler("test.unknown-secret")
def asks(context: Context, payload: Any) -> None:
    context.secret("PASSWORD")


def test_a_secret_that_the_target_does_not_name_is_refused_with_those_that_it_does() -> None:
    target = HandlerTarget("test.unknown-secret", (("TOKEN", "cronfleet/acme/token"),))
    error = str(make().call(call(target), target, Felt()).error)
    assert "no secret 'PASSWORD'" in error
    assert "TOKEN" in error
