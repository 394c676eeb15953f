"""The spans of a run, drawn from what its message and its row say: with their true times, whenever they are asked for.

    run                         from its claim (or its time, if that came first) to its end
    ├─ wait for attempt 2       a retry's back-off
    ├─ claim                    the dispatcher: from the batch's claim until the message was sent
    ├─ queue runs-standard      from then until a worker received it
    └─ process runs-standard    the worker: this attempt
       └─ POST / invoke / job   the target; what it does itself stands below that

They are made when an attempt has ended. So a run that failed or was late has all of them, although nobody knew
beforehand that it was to be kept; and the dispatcher pays nothing for them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from cronfleet.domain.attempt_line import error_kind
from cronfleet.domain.claim import BatchId
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.run import FAILED, Attempt, Outcome, Run, RunMessage, RunStatus
from cronfleet.domain.signature import target_kind
from cronfleet.domain.span import Span, SpanKind, Value
from cronfleet.domain.target import HandlerTarget, LambdaTarget, Target, WebhookTarget
from cronfleet.domain.trace import TraceContext

DISPATCHER: Final = "dispatcher"
WORKER: Final = "worker"
CLERK: Final = "clerk"
"""The parts whose work the spans are."""

HANDED_OVER: Final = "handed_over"
"""The outcome of an attempt, as far as its worker has seen it, that goes on elsewhere."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a message came: `sent_at` and `message_id` as the queue says, where it does."""

    received_at: Instant
    sent_at: Instant | None = None
    message_id: str = ""
    receives: int = 1


@dataclass(frozen=True, slots=True)
class Called:
    """A call of a target, while it is under way (`ended_at` is `None`) and after."""

    target: Target
    began_at: Instant
    ended_at: Instant | None = None
    error: str = ""


def shard_of(batch: str) -> int | None:
    """The shard of whatever was claimed in `batch`."""
    try:
        return BatchId.parse(batch).shard
    except ValueError:
        return None


def attempt_context(run: TraceContext, message: RunMessage) -> TraceContext:
    """The span of handling `message`. A copy is another one: it was claimed in another batch, or sent again."""
    return run.child("process", message.attempt, message.batch, message.resent_at or "")


def target_context(attempt: TraceContext) -> TraceContext:
    """The span of the call of the target: what the target does stands below it."""
    return attempt.child("target")


def run_spans(run: Run, message: RunMessage, delivery: Delivery, called: Called | None, now: Instant) -> list[Span]:
    """The spans of the attempt that has just ended, and that of the whole run if it is over."""
    drawing = _Drawing(run, message, delivery, now)
    claimed_at = min(message.claimed_at, run.claimed_at or message.claimed_at)
    return [*_whole(run, claimed_at, now), *drawing.waited(), *drawing.way(), *drawing.attempt(called)]


def execution_spans(run: Run, now: Instant) -> list[Span]:
    """The spans of an attempt that went on elsewhere and has just ended, long after its message."""
    last = run.attempts[-1] if run.attempts else None
    spans = [*_whole(run, run.claimed_at or run.due_at, now)]
    if last is not None:
        spans.append(
            Span(
                run.trace.child("execution", last.number),
                run.trace.span_id,
                f"execution of attempt {last.number}",
                CLERK,
                last.started_at,
                last.finished_at or now,
                SpanKind.CLIENT,
                _about(run, run.batch) | {"cronfleet.outcome": "" if last.outcome is None else last.outcome.value},
                _error(last),
            )
        )
    return spans


def _whole(run: Run, claimed_at: Instant, now: Instant) -> Iterator[Span]:
    if not run.is_terminal:
        return
    origin = run.origin
    is_child = origin is not None and run.key.continues
    yield Span(
        run.trace,
        origin.span_id if origin is not None and is_child else "",
        "run",
        DISPATCHER,
        min(run.due_at, claimed_at),
        run.finished_at or now,
        attributes=_about(run, run.batch) | {"cronfleet.status": run.status.value, "cronfleet.attempts": run.attempt},
        error=_failure(run),
        links=() if origin is None or is_child else (origin,),
    )


def _about(run: Run, batch: str) -> dict[str, Value]:
    shard = shard_of(batch)
    about: dict[str, Value] = {
        "cronfleet.run_id": run.key.run_id,
        "cronfleet.tenant": run.key.tenant,
        "cronfleet.schedule_id": run.key.schedule_id,
        "cronfleet.tier": run.tier,
        "cronfleet.attempt": max(run.attempt, 1),
    }
    if shard is not None:
        about["cronfleet.shard"] = shard
    if run.lag_ms is not None:
        about["cronfleet.lag_seconds"] = run.lag_ms / SECOND
    return about


@dataclass(frozen=True, slots=True)
class _Drawing:
    run: Run
    message: RunMessage
    delivery: Delivery
    now: Instant

    def waited(self) -> Iterator[Span]:
        """What a retry waited."""
        before = [one for one in self.run.attempts if one.number < self.run.attempt and one.finished_at is not None]
        if not before or self.message.attempt == 1:
            return
        ended_at = before[-1].finished_at or self.now
        yield self._part(f"wait for attempt {self.run.attempt}", ended_at, max(ended_at, self.message.due_at))

    def way(self) -> Iterator[Span]:
        """From the claim to the worker."""
        message, delivery = self.message, self.delivery
        sent_at = message.claimed_at if delivery.sent_at is None else max(message.claimed_at, delivery.sent_at)
        queue = _queue(message)
        yield self._part("claim", message.claimed_at, sent_at, SpanKind.PRODUCER, self._messaging("send"))
        received_at = max(sent_at, delivery.received_at)
        held = max(0, message.due_at - sent_at) / SECOND
        yield self._part(
            f"queue {queue}",
            sent_at,
            received_at,
            more=self._messaging("") | {"cronfleet.delay_seconds": held},
        )

    def attempt(self, called: Called | None) -> Iterator[Span]:
        context = attempt_context(self.run.trace, self.message)
        last = self.run.attempts[-1] if self.run.attempts else None
        # Only what goes on elsewhere is told of while it runs.
        outcome = HANDED_OVER if self.run.status is RunStatus.RUNNING else Outcome.NOT_STARTED.value
        if last is not None and last.outcome is not None:
            outcome = last.outcome.value
        reason = {} if self.run.reason is None else {"cronfleet.reason": self.run.reason.code.value}
        yield Span(
            context,
            self.run.trace.span_id,
            f"process {_queue(self.message)}",
            WORKER,
            self.delivery.received_at,
            max(self.now, self.delivery.received_at),
            SpanKind.CONSUMER,
            self._about()
            | self._messaging("process")
            | {"cronfleet.outcome": outcome, "faas.trigger": "pubsub", **reason},
            _error(last),
        )
        if called is not None:
            yield self._call(context, called)

    def _call(self, context: TraceContext, called: Called) -> Span:
        name, kind, attributes = _of_target(called.target)
        return Span(
            target_context(context),
            context.span_id,
            name,
            WORKER,
            called.began_at,
            called.ended_at or self.now,
            kind,
            self._about() | attributes,
            called.error,
        )

    def _part(
        self,
        name: str,
        began_at: Instant,
        ended_at: Instant,
        kind: SpanKind = SpanKind.INTERNAL,
        more: dict[str, Value] | None = None,
    ) -> Span:
        context = self.run.trace.child(name, self.message.attempt, self.message.batch, self.message.resent_at or "")
        about = self._about() | (more or {})
        return Span(context, self.run.trace.span_id, name, DISPATCHER, began_at, ended_at, kind, about)

    def _about(self) -> dict[str, Value]:
        return _about(self.run, self.message.batch)

    def _messaging(self, operation: str) -> dict[str, Value]:
        said: dict[str, Value] = {
            "messaging.system": "aws_sqs",
            "messaging.destination.name": _queue(self.message),
        }
        if operation:
            said |= {"messaging.operation.name": operation, "messaging.operation.type": operation}
        if self.delivery.message_id:
            said["messaging.message.id"] = self.delivery.message_id
        return said


def _queue(message: RunMessage) -> str:
    return f"runs-{message.queue}"


def _failure(run: Run) -> str:
    if run.status not in FAILED:
        return ""
    return run.status.value if run.reason is None else f"{run.status.value}: {run.reason.code.value}"


def _error(attempt: Attempt | None) -> str:
    if attempt is None or attempt.outcome in (None, Outcome.SUCCEEDED, Outcome.NOT_STARTED, Outcome.CANCELLED):
        return ""
    return f"{attempt.outcome}: {error_kind(attempt.error)}" if attempt.error else str(attempt.outcome)


def _of_target(target: Target) -> tuple[str, SpanKind, dict[str, Value]]:
    """Name, kind and attributes; of an address the host alone, since the rest of it may hold a secret."""
    kind = target_kind(target)
    about: dict[str, Value] = {"cronfleet.target": kind}
    if isinstance(target, WebhookTarget):
        parts = urlsplit(target.url)
        about |= {"http.request.method": "POST", "server.address": parts.hostname or "", "url.scheme": parts.scheme}
        return "POST", SpanKind.CLIENT, about
    if isinstance(target, LambdaTarget):
        about |= {"faas.invoked_name": target.function, "faas.invoked_provider": "aws"}
        return f"invoke {target.function}", SpanKind.CLIENT, about
    if isinstance(target, HandlerTarget):
        about["code.function.name"] = target.name
        return f"job {target.name}", SpanKind.INTERNAL, about
    return kind, SpanKind.CLIENT, about
