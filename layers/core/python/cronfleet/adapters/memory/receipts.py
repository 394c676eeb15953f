"""Receipts in memory, guarded by the fence of the run's row in the memory store."""

from typing import Any

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import RunKey, RunStatus
from cronfleet.ports.target import CancelAsked, FenceLost, Receipt


class MemoryReceipts:
    """Effects that happen once per run and name."""

    def __init__(self, store: MemoryJobStore) -> None:
        self._state = store.state

    def record(
        self,
        key: RunKey,
        fence: int,
        name: str,
        value: Any,
        now: Instant,  # noqa: ARG002 - nothing expires here
        *,
        knows_of_cancel: bool = False,
    ) -> Receipt:
        """See `Receipts.record`."""
        run = self._state.runs.get(key)
        if run is None or run.fence != fence or run.status is not RunStatus.RUNNING:
            raise FenceLost(f"fence {fence} is not the fence of {key.run_id} any more")
        if run.cancel is not None and not knows_of_cancel:
            raise CancelAsked(f"the cancellation of {key.run_id} was asked for")
        stored = self._state.receipts.get((key, name))
        if stored is None:
            self._state.receipts[key, name] = Receipt(first=False, value=value)
            return Receipt(first=True, value=value)
        return stored
