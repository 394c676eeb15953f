"""Displacing: a run makes room for a newer one of its schedule or group (`overlap: cancel_other`)."""

from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.errors import ClockSkewed, Contended
from cronfleet.domain.overlap import DISPLACED
from cronfleet.domain.run import Run, RunKey
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore, NoAnswer
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.cancelling import ask_to_cancel
from cronfleet.services.endings import Endings
from cronfleet.services.true_clock import true_now


class Displacing:
    """Cancels what is in a newer run's way. What fails here is done again when the newer run looks again."""

    def __init__(self, *, store: JobStore, endings: Endings, clock: Clock, telemetry: Telemetry) -> None:
        self._store = store
        self._endings = endings
        self._clock = clock
        self._telemetry = telemetry

    def cancel(self, run_id: str, newer: Run) -> None:
        """Ask for the cancellation of the run: at once if it only waits, else its handler is asked to stop."""
        key = RunKey.parse(run_id)
        try:
            # The end of what only waits is written with this time.
            now = true_now(self._store, self._clock, self._telemetry, lambda: self._store.get_run(key))
            request = CancelRequest(now, f"run {newer.key.run_id}", DISPLACED)
            ask_to_cancel(self._store, self._endings, key, request)
            self._telemetry.count("runs_displaced")
        except (NoAnswer, Contended, ClockSkewed):
            self._telemetry.event("run_not_displaced", run_id=run_id, newer=newer.key.run_id)
