"""Python handlers: jobs registered with `cronfleet.sdk.handler`, each attempt in a process of its own."""

import importlib
import json
import logging
import pkgutil
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from cronfleet.adapters.targets import job_log
from cronfleet.adapters.targets.child import Channel, Request, run_in_child
from cronfleet.adapters.targets.redaction import Redaction
from cronfleet.adapters.targets.secrets import SecretRefused, SecretUnavailable
from cronfleet.domain.attempt import Result
from cronfleet.domain.instant import SECOND, to_datetime
from cronfleet.domain.run import MAX_ERROR_CHARACTERS, Outcome
from cronfleet.domain.target import HandlerTarget
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.target import Call, FenceLost, Receipt, Receipts
from cronfleet.sdk import Context, Job, NotRecorded, Permanent, registered

MAX_RECEIPT_NAME: Final = 128
MAX_RECEIPT_BYTES: Final = 16 * 1024

NOTHING: Final = Redaction()

ReadSecret: TypeAlias = Callable[[str, str], str]
"""The value of a secret, by its tenant and reference."""

logger = logging.getLogger(__name__)


class PythonHandlers:
    """Calls the jobs that the modules of `package` register."""

    def __init__(self, *, package: str, receipts: Receipts, clock: Clock, read_secret: ReadSecret) -> None:
        """`read_secret` gives the value of a tenant's secret; it raises `SecretRefused` and `SecretUnavailable`."""
        self._read_secret = read_secret
        self._receipts = receipts
        self._clock = clock
        self._broken = load(package)

    def call(self, call: Call, target: HandlerTarget) -> Result:
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
        work = partial(_work, job, call, self._clock, secrets)
        try:
            return run_in_child(work, seconds, partial(self._record, call))
        except FenceLost:
            return Result(Outcome.FAILED, "stopped: its lease was over and another attempt has the run")

    def _record(self, call: Call, request: Request) -> Request:
        """Serve a job's receipt. Here and not in the child: a child that is stopped can have no effect after it."""
        name, value = str(request.get("receipt")), request.get("value")
        try:
            receipt = self._receipts.record(call.key, call.fence, name, value, self._clock.now())
        except NoAnswer:
            # Not asked again: a second call of ours would not know a first one that arrived for its own.
            return {"unanswered": True}
        return {"first": receipt.first, "value": receipt.value}

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


def _work(job: Job, call: Call, clock: Clock, secrets: Mapping[str, str], channel: Channel) -> Result:
    redact = Redaction(secrets.values())
    context = _context(call, clock, secrets, redact, channel)
    try:
        job(context, call.payload)
    except SystemExit as error:
        if error.code in (None, 0):
            return Result(Outcome.SUCCEEDED)
        return Result(Outcome.FAILED, describe(error, redact))
    except BaseException as error:
        context.logger.exception("job_failed")
        return Result(Outcome.FAILED, describe(error, redact), retryable=not isinstance(error, Permanent))
    return Result(Outcome.SUCCEEDED)


def _context(call: Call, clock: Clock, secrets: Mapping[str, str], redact: Redaction, channel: Channel) -> Context:
    key = call.key
    fields = {
        "run_id": key.run_id,
        "tenant": key.tenant,
        "schedule_id": key.schedule_id,
        "attempt": call.attempt,
    }
    return Context(
        run_id=key.run_id,
        tenant=key.tenant,
        schedule_id=key.schedule_id,
        attempt=call.attempt,
        fence=call.fence,
        nominal_at=to_datetime(key.nominal_at),
        due_at=to_datetime(call.due_at),
        deadline=to_datetime(call.deadline_at),
        logger=job_log.redirect(fields, redact),
        _deadline_at=call.deadline_at,
        _clock=clock,
        _record=partial(_receipt, channel),
        _secrets=secrets,
    )


def _receipt(channel: Channel, name: str, value: Any) -> Receipt:
    """Ask the parent to record; what cannot be recorded is refused here, where the job's author sees the line."""
    if not isinstance(name, str) or not 0 < len(name) <= MAX_RECEIPT_NAME:
        raise ValueError(f"a receipt's name is a text of 1 to {MAX_RECEIPT_NAME} characters, not {name!r:.100}")
    try:
        size = len(json.dumps(value, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the value of receipt {name!r} is not JSON: {error}") from error
    if size > MAX_RECEIPT_BYTES:
        raise ValueError(f"the value of receipt {name!r} has {size} bytes; at most {MAX_RECEIPT_BYTES} are recorded")
    answer = channel.ask({"receipt": name, "value": value})
    if "first" not in answer:
        raise NotRecorded(f"the store did not say whether receipt {name!r} was recorded")
    return Receipt(answer["first"], answer["value"])
