"""Undelivered: the consumer of the dead-letter queues. What no function could finish with ends in the ledger.

Each message is decided by `domain/undelivered.py` and written conditionally, so that a second delivery, and a consumer
that dies in the middle, change nothing.
"""

from typing import Final

from cronfleet.domain.errors import Contended, OnStandby
from cronfleet.domain.hold import hold_words
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run, RunKey, RunMessage
from cronfleet.domain.schedule import Timer
from cronfleet.domain.undelivered import (
    MAX_BODY_KEPT,
    Delivery,
    Insert,
    Leave,
    UnreadableMessage,
    decide_undelivered,
)
from cronfleet.ports.clock import Clock
from cronfleet.ports.events import Events
from cronfleet.ports.job_store import Damaged, JobStore, Refused
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.arrivals import Arrivals
from cronfleet.services.asking import ask
from cronfleet.services.endings import Endings
from cronfleet.services.gates import Gates
from cronfleet.services.noticeboard import Noticeboard
from cronfleet.services.telling import told_by
from cronfleet.services.true_clock import true_now

MAX_ROUNDS: Final = 5
"""How often it is decided anew because the row changed between reading and writing it."""


class Undelivered:
    """Takes dead messages, one at a time."""

    def __init__(
        self,
        *,
        store: JobStore,
        clock: Clock,
        telemetry: Telemetry,
        arrivals: Arrivals | None = None,
        events: Events | None = None,
    ) -> None:
        self._arrivals = arrivals
        self._store = store
        self._clock = clock
        self._telemetry = telemetry
        self._board = Noticeboard(store, clock, telemetry, consistent=False)
        self._gates = Gates(store, telemetry)
        self._endings = Endings(store, told_by(store, clock, telemetry, events))

    def run(self, message: RunMessage, delivery: Delivery) -> None:
        """Make a dead letter of the run that `message` was to start, if nobody else is about it.

        Raises `NoAnswer`, `Contended`, `ClockSkewed` and, in a standby, `OnStandby` when the message must stay where it
        is and come again.
        """
        self._require_release()
        key = message.key
        if self._is_of_the_gone(key):
            self._leave(message, Reason(Code.TENANT_DELETED, f"tenant {key.tenant} is deleted"))
            return
        row = ask(lambda: self._store.get_run(key))
        for _ in range(MAX_ROUNDS):
            now = true_now(self._store, self._clock, self._telemetry, lambda: self._store.get_run(key))
            verdict = decide_undelivered(row, message, delivery, now)
            if isinstance(verdict, Leave):
                self._leave(message, verdict.reason)
                return
            self._came(delivery, f"{key.tenant}/{key.schedule_id}")
            timer = self._timer(key)
            before = None if isinstance(verdict, Insert) else row
            try:
                self._endings.write(before, verdict.run, timer)
            except Refused as refused:
                row = refused.stored
                continue
            self._died(verdict.run, timer, delivery)
            return
        raise Contended(f"{key.run_id} changed {MAX_ROUNDS} times while its dead message was looked at")

    def _require_release(self) -> None:
        hold = self._board.hold()
        if hold is not None and hold.is_standby:
            raise OnStandby(hold_words(hold))

    def _came(self, delivery: Delivery, schedule: str = "") -> None:
        if self._arrivals is not None:
            self._arrivals.came(delivery.queue, schedule)

    def _is_of_the_gone(self, key: RunKey) -> bool:
        tenant = ask(lambda: self._store.get_tenant(key.tenant))
        return tenant is not None and tenant.status.is_gone

    def _died(self, run: Run, timer: Timer | None, delivery: Delivery) -> None:
        self._telemetry.count("runs_ended", tier=run.tier, status=run.status.value)
        self._telemetry.alarm(
            "run_undelivered", run_id=run.key.run_id, queue=delivery.queue, receives=delivery.receives
        )
        self._gates.release(run, timer)

    def _timer(self, key: RunKey) -> Timer | None:
        try:
            return ask(lambda: self._store.get_timer(key.tenant, key.schedule_id))
        except Damaged:
            return None

    def _leave(self, message: RunMessage, reason: Reason) -> None:
        self._telemetry.count("dead_messages_dropped", reason=reason.code.value)
        self._telemetry.event("dead_message_dropped", run_id=message.key.run_id, reason=reason.text)

    def unreadable(self, body: str, why: str, delivery: Delivery) -> None:
        """Keep a message that is none of ours, where a platform admin sees it. Raises as `run` does."""
        self._require_release()
        self._came(delivery)
        now = self._clock.now()
        ask(lambda: self._store.keep_unreadable(UnreadableMessage(delivery, body[:MAX_BODY_KEPT], why, now)))
        self._telemetry.alarm("message_unreadable", queue=delivery.queue, message_id=delivery.message_id, error=why)

    def lapsed(self, delivery: Delivery) -> None:
        """A tick or an errand that nobody could serve: the next tick, or the errand's own return, makes up for it."""
        self._telemetry.alarm(
            "message_lapsed", queue=delivery.queue, message_id=delivery.message_id, receives=delivery.receives
        )
