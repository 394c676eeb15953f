"""Attending to a job: both ends of the line between it and its worker."""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from cronfleet.adapters.targets.child import Channel, Request
from cronfleet.adapters.targets.log_tail import LogTail
from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_log import LogPlace
from cronfleet.domain.cancel_request import GRACE_SECONDS
from cronfleet.domain.progress import LOG_SECONDS, MAX_TEXT_CHARACTERS
from cronfleet.domain.run import Outcome
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.target import Call, CancelAsked, Pulse, Receipt, Receipts
from cronfleet.ports.tracing import JobSpans
from cronfleet.sdk import Cancelled, NotRecorded

MAX_RECEIPT_NAME: Final = 128
MAX_RECEIPT_BYTES: Final = 16 * 1024

ASK_SECONDS: Final = 0.25
"""How often at most a job's beats go over the line: a job may beat with every row that it reads."""


class Attending:
    """The worker's end: serves what the job asks, and stops it when it must not go on."""

    def __init__(
        self,
        call: Call,
        *,
        receipts: Receipts,
        clock: Clock,
        pulse: Pulse,
        tail: LogTail,
        place: LogPlace | None,
        job_spans: JobSpans | None = None,
    ) -> None:
        self._job_spans = job_spans
        self._call = call
        self._receipts = receipts
        self._clock = clock
        self._pulse = pulse
        self._tail = tail
        self._place = place
        self._job_knows = False
        self._known_at: float | None = None
        self._alive_at = self._log_read_at = time.monotonic()
        self._log_read_to = 0

    # Both here and not in the child: a child that is stopped can have no effect after it.
    def answer(self, request: Request) -> Request:
        """Serve a beat or a receipt. Raises `FenceLost`."""
        self._alive_at = time.monotonic()
        if "spans" in request:
            if self._job_spans is not None:
                self._job_spans.relay(request["spans"])
            return {}
        if "receipt" in request:
            return self._record(str(request["receipt"]), request.get("value"))
        fraction, text = request.get("beat") or (None, None)
        self._pulse.beat(fraction, text)
        return self._told(self._pulse.cancel is not None)

    def _record(self, name: str, value: Any) -> Request:
        call, knows = self._call, self._job_knows
        try:
            receipt = self._receipts.record(call.key, call.fence, name, value, self._clock.now(), knows_of_cancel=knows)
        except CancelAsked:
            return self._told(True)
        except NoAnswer:
            # Not asked again: a second call of ours would not know a first one that arrived for its own.
            return {"unanswered": True}
        return {"first": receipt.first, "value": receipt.value, "stopping": self._pulse.is_stopping}

    def _told(self, is_cancelled: bool) -> Request:
        self._job_knows = self._job_knows or is_cancelled
        self._note_cancel()
        return {"cancelled": is_cancelled, "stopping": self._pulse.is_stopping}

    def _note_cancel(self) -> None:
        if self._known_at is None and (self._job_knows or self._pulse.cancel is not None):
            self._known_at = time.monotonic()

    def look(self) -> Result | None:
        """The result of a job that must not go on. Raises `FenceLost`."""
        self._pulse.look()
        self._note_cancel()
        now, silence = time.monotonic(), self._call.heartbeat_seconds
        if self._known_at is not None and now - self._known_at >= GRACE_SECONDS:
            text = f"stopped: its cancellation was asked for, and it did not end within {GRACE_SECONDS} s"
            return Result(Outcome.CANCELLED, text)
        if silence and now - self._alive_at >= silence:
            return Result(Outcome.TIMED_OUT, f"stopped: no heartbeat for {silence} s")
        if now - self._log_read_at >= LOG_SECONDS:
            self.pass_log_on()
        return None

    def pass_log_on(self) -> None:
        """Give what the job has said until now to the pulse."""
        self._log_read_at = time.monotonic()
        if self._tail.written != self._log_read_to:
            self._log_read_to = self._tail.written
            lines, is_whole = self._tail.read()
            self._pulse.log(lines, is_whole=is_whole, place=self._place)


class JobLine:
    """The job's end, which its context holds."""

    def __init__(self, channel: Channel, redact: Callable[[str], str]) -> None:
        self._channel = channel
        self._redact = redact
        self._is_cancelled = False
        self._is_stopping = False
        self._asked_at = 0.0
        self._unsaid: tuple[float | None, str | None] | None = None

    @property
    def is_cancelled(self) -> bool:
        """See `Line`."""
        return self._is_cancelled

    @property
    def is_stopping(self) -> bool:
        """See `Line`."""
        return self._is_stopping

    def beat(self, fraction: float | None, text: str | None, *, raises: bool) -> None:
        """See `Line`."""
        before = self._unsaid or (None, None)
        said = None if text is None else " ".join(self._redact(str(text)).split())[:MAX_TEXT_CHARACTERS]
        self._unsaid = (before[0] if fraction is None else float(fraction), before[1] if said is None else said)
        if time.monotonic() - self._asked_at >= ASK_SECONDS:
            self.say()
        if raises and self._is_cancelled:
            raise Cancelled("the cancellation of this run was asked for")

    def say(self) -> None:
        """Pass on what was not said yet, if there is anything."""
        if self._unsaid is None:
            return
        self._asked_at = time.monotonic()
        said, self._unsaid = self._unsaid, None
        self._hear(self._channel.ask({"beat": list(said)}))

    def spans(self, pieces: Sequence[Request]) -> None:
        """Hand over the spans that the job has made: its run is what decides whether they are kept."""
        for piece in pieces:
            self._channel.ask({"spans": piece})

    def receipt(self, name: str, value: Any) -> Receipt:
        """Have a receipt recorded; what cannot be is refused here, where the job's author sees the line."""
        if not isinstance(name, str) or not 0 < len(name) <= MAX_RECEIPT_NAME:
            raise ValueError(f"a receipt's name is a text of 1 to {MAX_RECEIPT_NAME} characters, not {name!r:.100}")
        try:
            size = len(json.dumps(value, allow_nan=False).encode())
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"the value of receipt {name!r} is not JSON: {error}") from error
        if size > MAX_RECEIPT_BYTES:
            raise ValueError(
                f"the value of receipt {name!r} has {size} bytes; at most {MAX_RECEIPT_BYTES} are recorded"
            )
        answer = self._channel.ask({"receipt": name, "value": value})
        self._hear(answer)
        if "first" in answer:
            return Receipt(answer["first"], answer["value"])
        if answer.get("cancelled"):
            raise Cancelled(f"the cancellation of this run was asked for; receipt {name!r} was not recorded")
        raise NotRecorded(f"the store did not say whether receipt {name!r} was recorded")

    def _hear(self, answer: Request) -> None:
        self._is_cancelled = self._is_cancelled or bool(answer.get("cancelled"))
        self._is_stopping = self._is_stopping or bool(answer.get("stopping"))
