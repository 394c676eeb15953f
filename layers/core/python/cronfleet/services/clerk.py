"""The clerk: carries errands on, each by the doer of its kind, and says when it is due next.

A message that is not about the errand as it is stored means nothing: whoever moved it since has sent it anew, or will.
"""

from collections.abc import Mapping
from enum import StrEnum

from cronfleet.domain.errand import ERRAND_MARGIN, LEAST_WORK, Errand, ErrandKind, ErrandMessage, backoff
from cronfleet.domain.errors import ClockSkewed
from cronfleet.domain.instant import Instant
from cronfleet.ports.clock import Clock
from cronfleet.ports.errands import Doer
from cronfleet.ports.job_store import JobStore, NoAnswer
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.noticeboard import Noticeboard
from cronfleet.services.true_clock import true_now


class Handled(StrEnum):
    """What became of a message."""

    MOVED = "moved"
    RETIRED = "retired"
    FAILED = "failed"
    """The doer raised: the errand comes again, later each time."""
    STALE = "stale"
    """It is about an errand that was moved or retired since, or whose lease is nearly over."""
    HELD = "held"
    """The installation is a standby: the errand is due again when its lease is over, and waits for the release."""


class Clerk:
    """Carries on what the dispatcher sends. Holds nothing between messages."""

    def __init__(
        self, *, store: JobStore, clock: Clock, telemetry: Telemetry, errands: Mapping[ErrandKind, Doer]
    ) -> None:
        """`errands` names the doer of each kind."""
        self._store = store
        self._clock = clock
        self._telemetry = telemetry
        self._doers = errands
        self._board = Noticeboard(store, clock, telemetry, consistent=False)

    def handle(self, message: ErrandMessage, deadline_at: Instant) -> Handled:
        """Carry the errand on until its lease is nearly over, or until `deadline_at`.

        Raises `NoAnswer` when the store stays silent and `ClockSkewed`: the errand is due again after its lease.
        """
        if self._board.is_standby():
            return self._noted(message, Handled.HELD)
        errand = self._read(message)
        now = true_now(self._store, self._clock, self._telemetry, lambda: self._read(message), errand=message.errand_id)
        if errand is None or errand.rev != message.rev:
            return self._noted(message, Handled.STALE)
        until = min(deadline_at, errand.due_at - ERRAND_MARGIN)
        if until - now < LEAST_WORK:
            return self._noted(message, Handled.STALE)
        try:
            wakes_at = self._carry_on(errand, until)
        except (NoAnswer, ClockSkewed):
            raise  # The store or this process is to blame, and not the errand.
        except Exception as error:
            return self._fail(errand, error)
        return self._settle(errand, wakes_at)

    def _read(self, message: ErrandMessage) -> Errand | None:
        return ask(lambda: self._store.get_errand(message.tenant, message.kind, message.errand_id))

    def _carry_on(self, errand: Errand, until: Instant) -> Instant | None:
        doer = self._doers.get(errand.kind)
        if doer is None:
            raise LookupError(f"this deployment carries no errands of kind {errand.kind} on")
        return doer.carry_on(errand.tenant, errand.errand_id, until)

    def _settle(self, errand: Errand, wakes_at: Instant | None) -> Handled:
        """Move or retire it; where somebody has moved it meanwhile, what they said counts."""
        if wakes_at is None:
            is_ours = ask(lambda: self._store.retire_errand(errand))
            return Handled.RETIRED if is_ours else Handled.STALE
        failures = 0 if errand.failures else None
        is_ours = ask(lambda: self._store.move_errand(errand, wakes_at, failures))
        return Handled.MOVED if is_ours else Handled.STALE

    def _fail(self, errand: Errand, error: Exception) -> Handled:
        failures = errand.failures + 1
        self._telemetry.alarm(
            "errand_failed",
            tenant=errand.tenant,
            kind=errand.kind.value,
            errand_id=errand.errand_id,
            failures=failures,
            error=repr(error),
        )
        wakes_at = self._clock.now() + backoff(failures)
        ask(lambda: self._store.move_errand(errand, wakes_at, failures))
        return Handled.FAILED

    def _noted(self, message: ErrandMessage, handled: Handled) -> Handled:
        self._telemetry.event(
            "errand_stale", tenant=message.tenant, kind=message.kind.value, errand_id=message.errand_id
        )
        return handled
