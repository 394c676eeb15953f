"""What the author of a job imports.

    from cronfleet.sdk import Context, handler

    @handler("billing.nightly")
    def nightly(context: Context, payload):
        if context.receipt("invoices-sent").first:
            send_invoices(context.nominal_at)

A job is called in a process of its own, once per attempt, and stopped when its time limit is reached. What it returns
is ignored: a job that returns has succeeded, one that raises has failed and is tried again as its schedule says,
unless it raises `Permanent`. What a job prints and logs goes to the function's log with its run id; the end of it is
kept with the attempt, where callers see it. Processes that a job starts end with it. docs/handlers.md tells it all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from logging import Logger
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from cronfleet.domain.instant import SECOND, Instant
from cronfleet.ports.clock import Clock
from cronfleet.ports.target import Receipt

__all__ = [
    "Cancelled",
    "Context",
    "HandOn",
    "NotRecorded",
    "Permanent",
    "Receipt",
    "RegisteredTwice",
    "UnknownSecret",
    "handler",
]


class Permanent(Exception):
    """A failure that no retry can mend: the run ends with it, whatever attempts are left."""


class Cancelled(BaseException):
    """The run's cancellation was asked for: clean up and go. No `Exception`, so that a job's own do not swallow it."""


class HandOn(BaseException):
    """What a job raises that is `stopping` and leaves the rest to its next attempt, which begins at once elsewhere."""


class NotRecorded(Exception):
    """The store did not say whether a receipt was recorded; fail, and the next attempt will learn it."""


class UnknownSecret(Exception):
    """The job asks for a secret that its schedule's target does not name."""


class RegisteredTwice(Exception):
    """Two jobs want one name."""


class Line(Protocol):
    """How a context speaks with the worker."""

    @property
    def is_cancelled(self) -> bool:
        """Whether the job was told so."""
        ...

    @property
    def is_stopping(self) -> bool:
        """Whether the job was told that its worker has to stop."""
        ...

    def beat(self, fraction: float | None, text: str | None, *, raises: bool) -> None:
        """Say that the job is alive, and hear. Raises `Cancelled`."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """One attempt, as its job sees it.

    `run_id` is the same in every attempt: the idempotency key for systems that take one. `fence` rises with each
    attempt: a system that remembers the highest it has seen can refuse a late one. `nominal_at` is the calendar's
    time, from which a job computes what it is about (never from the clock: it may run late); `due_at` is when it was
    to start, `deadline` when it is stopped. All three are aware and in UTC. `traceparent` is the span of this call in
    W3C's form: send it on as the header of that name, and what others do for the job is seen in the run's trace. Spans
    that the job makes with OpenTelemetry stand there by themselves. `logger` writes structured lines that carry the run
    id.
    """

    run_id: str
    tenant: str
    schedule_id: str
    attempt: int
    fence: int
    nominal_at: datetime
    due_at: datetime
    deadline: datetime
    traceparent: str
    logger: Logger
    _deadline_at: Instant
    _clock: Clock
    _record: Callable[[str, Any], Receipt]
    _line: "Line"
    # Not in its text, which is soon in a log.
    _secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def time_left(self) -> float:
        """Seconds until this attempt is stopped; never below zero."""
        return max(0, self._deadline_at - self._clock.now()) / SECOND

    @property
    def cancelled(self) -> bool:
        """Whether the job has been told that its run's cancellation was asked for, by one of the calls below.

        It has ten seconds from then on; then it is stopped. A job that returns all the same has succeeded.
        """
        return self._line.is_cancelled

    @property
    def stopping(self) -> bool:
        """Whether the job has been told, by one of the calls below, that its worker has to stop before long.

        That happens to long jobs alone: a deployment, fewer workers, a Spot instance that is taken back. A job that
        ends within the grace has ended; one that does not is stopped and begun anew elsewhere, without counting as
        failed. So write down how far it is (`receipt`, or a place of your own) and raise `HandOn`, or finish quickly.
        """
        return self._line.is_stopping

    def heartbeat(self, *, raises: bool = True) -> None:
        """Say that the job is alive, and hear whether it is to go on.

        Call it as often as is convenient: it is passed on a few times a second, and written every five seconds. Raises
        `Cancelled` when the run's cancellation was asked for; with `raises=False` look at `cancelled` instead.
        """
        self._line.beat(None, None, raises=raises)

    def progress(self, fraction: float | None = None, text: str | None = None, *, raises: bool = True) -> None:
        """A heartbeat that says how far the job is: `fraction` from 0 to 1, and a few words. Callers see it meanwhile.

        Raises what `heartbeat` raises, and `ValueError` for a fraction that is none.
        """
        if fraction is not None and (isinstance(fraction, bool) or not 0 <= fraction <= 1):
            raise ValueError(f"a job's progress is a number from 0 to 1, not {fraction!r:.50}")
        self._line.beat(fraction, text, raises=raises)

    def secret(self, name: str) -> str:
        """The value of a secret that the schedule's target names: `{"handler": …, "secrets": {name: reference}}`.

        It was read when the attempt began, from Secrets Manager, at most five minutes old. It is blotted out of what
        the job prints and logs and of its error; keep it out of receipts, files and other processes' output yourself.
        Raises `UnknownSecret` for a name that the target does not have.
        """
        try:
            return self._secrets[name]
        except KeyError:
            known = ", ".join(sorted(self._secrets)) or "none"
            raise UnknownSecret(f"the target names no secret {name!r}; it names: {known}") from None

    def receipt(self, name: str, value: Any = None) -> Receipt:
        """Record that this run did the effect `name`, unless an attempt of it recorded that before.

        `first` of the answer is True for the one call that recorded it; `value` (any JSON, up to 16 KB) is what
        that call gave. Record, then act, and the effect happens at most once; act with `run_id` as the other
        system's idempotency key, then record, and it happens at least once and is known to be done.

        Raises `NotRecorded` when the store stays silent, `ValueError` for a name or value that cannot be recorded.
        An attempt whose lease was taken over records nothing: it is stopped on the spot. One that learns here that its
        run's cancellation was asked for records nothing and gets `Cancelled`; once it knows, it may record what it
        does to clean up.
        """
        return self._record(name, value)


Job: TypeAlias = Callable[[Context, Any], object]
AnyJob = TypeVar("AnyJob", bound=Job)

_JOBS: Final[dict[str, Job]] = {}


def handler(name: str) -> Callable[[AnyJob], AnyJob]:
    """Register a job under `name`, which a schedule's target names: `{"handler": "billing.nightly"}`.

    Raises `RegisteredTwice` when another function has the name.
    """

    def register(job: AnyJob) -> AnyJob:
        other = _JOBS.get(name)
        if other is not None and _origin(other) != _origin(job):
            raise RegisteredTwice(f"{name!r} is the handler {_origin(other)} already; give {_origin(job)} another name")
        _JOBS[name] = job
        return job

    return register


def registered() -> Mapping[str, Job]:
    """Every job by its name."""
    return _JOBS


def _origin(job: Job) -> str:
    # By file, not by module: one file may be imported under two names (a function's folder is a root on Lambda).
    code = getattr(job, "__code__", None)
    where = getattr(code, "co_filename", type(job).__module__)
    return f"{getattr(job, '__qualname__', repr(job))} in {where}"
