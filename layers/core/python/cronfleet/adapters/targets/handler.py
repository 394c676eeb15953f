"""Python handlers: jobs registered with `cronfleet.sdk.handler`, each attempt in a process of its own."""

import importlib
import logging
import pkgutil
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from cronfleet.adapters.targets import job_log
from cronfleet.adapters.targets.attending import Attending, JobLine
from cronfleet.adapters.targets.child import Channel, run_in_child
from cronfleet.adapters.targets.log_tail import LogTail
from cronfleet.adapters.targets.redaction import Redaction
from cronfleet.adapters.targets.secrets import SecretRefused, SecretUnavailable
from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_log import LogPlace
from cronfleet.domain.instant import SECOND, to_datetime
from cronfleet.domain.run import MAX_ERROR_CHARACTERS, Outcome
from cronfleet.domain.target import HandlerTarget
from cronfleet.ports.clock import Clock
from cronfleet.ports.target import Call, FenceLost, Interrupted, Pulse, Receipts
from cronfleet.ports.tracing import JobSpans
from cronfleet.sdk import Cancelled, Context, HandOn, Job, Permanent, registered

NOTHING: Final = Redaction()

ReadSecret: TypeAlias = Callable[[str, str], str]
"""The value of a secret, by its tenant and reference."""

logger = logging.getLogger(__name__)


class PythonHandlers:
    """Calls the jobs that the modules of `package` register."""

    def __init__(
        self,
        *,
        package: str,
        receipts: Receipts,
        clock: Clock,
        read_secret: ReadSecret,
        log_place: LogPlace | None = None,
        job_spans: JobSpans | None = None,
    ) -> None:
        """`read_secret` gives the value of a tenant's secret; it raises `SecretRefused` and `SecretUnavailable`.

        `log_place` is where this process's log goes, `job_spans` takes the spans that jobs make themselves.
        """
        self._job_spans = job_spans
        self._log_place = log_place
        self._read_secret = read_secret
        self._receipts = receipts
        self._clock = clock
        self._broken = load(package)

    def call(self, call: Call, target: HandlerTarget, pulse: Pulse) -> Result:
        """Run the job in a child process until it ends or its deadline comes."""
        job = registered().get(target.name)
        if job is None:
            return self._unknown(target.name)
        # Before the fork: the time that it takes is the attempt's own, and the job waits for nobody.
        try:
            secrets = {name: self._read_secret(call.key.tenant, reference) for name, reference in target.secrets}
        except SecretRefused as error:
            return Result(Outcome.FAILED, str(error), retryable=False)
        except SecretUnavailable as error:
            return Result(Outcome.FAILED, str(error))
        seconds = (call.deadline_at - self._clock.now()) / SECOND
        if seconds <= 0:
            return Result(Outcome.TIMED_OUT, "its time was over when its secrets had been read")
        tail = LogTail()
        try:
            return self._attend(job, call, secrets, seconds, pulse, tail)
        finally:
            tail.close()

    def _attend(
        self, job: Job, call: Call, secrets: Mapping[str, str], seconds: float, pulse: Pulse, tail: LogTail
    ) -> Result:
        attending = Attending(
            call,
            receipts=self._receipts,
            clock=self._clock,
            pulse=pulse,
            tail=tail,
            place=self._log_place,
            job_spans=self._job_spans,
        )
        work = partial(_work, job, call, self._clock, secrets, tail, self._job_spans)
        try:
            return run_in_child(work, seconds, attending.answer, attending.look)
        except FenceLost:
            return Result(Outcome.FAILED, "stopped: its lease was over and another attempt has the run")
        except Interrupted as interrupted:
            return Result(Outcome.INTERRUPTED, f"stopped: {interrupted}")
        finally:
            attending.pass_log_on()

    def _unknown(self, name: str) -> Result:
        names = ", ".join(sorted(registered())) or "none"
        if not self._broken:
            text = f"there is no handler {name!r}; registered are: {names}"
            return Result(Outcome.FAILED, text[:MAX_ERROR_CHARACTERS], retryable=False)
        # It may stand in a module that could not be imported: the next deployment mends it.
        broken = "; ".join(f"{module}: {error}" for module, error in self._broken.items())
        text = f"there is no handler {name!r}, and not every module could be imported ({broken}); registered: {names}"
        return Result(Outcome.FAILED, text[:MAX_ERROR_CHARACTERS])


def load(package: str) -> Mapping[str, str]:
    """Import every module of `package`; those that cannot be, with the error. One broken module harms no other."""
    broken: dict[str, str] = {}
    for name in _modules(package, broken):
        _import(name, broken)
    return broken


def _modules(package: str, broken: dict[str, str]) -> list[str]:
    folder = _import(package, broken)
    return [f"{package}.{module.name}" for module in pkgutil.iter_modules(getattr(folder, "__path__", []))]


def _import(name: str, broken: dict[str, str]) -> Any:
    try:
        return importlib.import_module(name)
    except Exception as error:
        logger.exception("handlers_not_imported: %s", name)
        broken[name] = describe(error)
        return None


def describe(error: BaseException, redact: Redaction = NOTHING) -> str:
    """`TypeName: message`, on one line and of a bounded length, without what `redact` blots out."""
    try:
        text = str(error)
    except Exception:
        text = "(its message cannot be shown)"
    name = type(error).__name__
    # First of all, since a piece of what is cut off would be known no more.
    return " ".join(f"{name}: {redact(text)}".split())[:MAX_ERROR_CHARACTERS] if text else name


# --- in the child ------------------------------------------------------------------------------------------------


def _work(
    job: Job,
    call: Call,
    clock: Clock,
    secrets: Mapping[str, str],
    tail: LogTail,
    job_spans: JobSpans | None,
    channel: Channel,
) -> Result:
    redact = Redaction(secrets.values())
    line = JobLine(channel, redact)
    context = _context(call, clock, secrets, redact, tail, line)
    if job_spans is None or call.trace is None:
        result = _called(job, context, call, redact)
    else:
        with job_spans.inside(call.trace) as pieces:
            result = _called(job, context, call, redact)
        line.spans(pieces)
    line.say()  # What it told last, in case that has waited.
    return result


def _called(job: Job, context: Context, call: Call, redact: Redaction) -> Result:
    try:
        job(context, call.payload)
    except Cancelled as error:
        if context.cancelled:
            return Result(Outcome.CANCELLED, "it gave up, as its cancellation was asked for")
        return Result(Outcome.FAILED, describe(error, redact))
    except HandOn as error:
        if context.stopping:
            return Result(Outcome.INTERRUPTED, "it stopped where it was, as its worker had to")
        return Result(Outcome.FAILED, describe(error, redact))
    except SystemExit as error:
        if error.code in (None, 0):
            return Result(Outcome.SUCCEEDED)
        return Result(Outcome.FAILED, describe(error, redact))
    except BaseException as error:
        context.logger.exception(job_log.FAILED)
        return Result(Outcome.FAILED, describe(error, redact), retryable=not isinstance(error, Permanent))
    return Result(Outcome.SUCCEEDED)


def _context(
    call: Call, clock: Clock, secrets: Mapping[str, str], redact: Redaction, tail: LogTail, line: JobLine
) -> Context:
    key = call.key
    fields: dict[str, object] = {
        "run_id": key.run_id,
        "tenant": key.tenant,
        "schedule_id": key.schedule_id,
        "attempt": call.attempt,
        **call.noted,
    }
    if call.trace is not None:
        fields |= {"trace_id": call.trace.trace_id, "span_id": call.trace.span_id}
    return Context(
        run_id=key.run_id,
        tenant=key.tenant,
        schedule_id=key.schedule_id,
        attempt=call.attempt,
        fence=call.fence,
        nominal_at=to_datetime(key.nominal_at),
        due_at=to_datetime(call.due_at),
        deadline=to_datetime(call.deadline_at),
        traceparent=call.traceparent,
        logger=job_log.redirect(fields, redact, tail, clock),
        _deadline_at=call.deadline_at,
        _clock=clock,
        _record=line.receipt,
        _line=line,
        _secrets=secrets,
    )
