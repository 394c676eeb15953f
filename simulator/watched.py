"""The ledger table under watch: every write of a row is noted with its true time."""

from cronfleet.domain.run import Run, RunKey
from simulator.history import History
from simulator.loop import Loop


class WatchedRuns(dict[RunKey, Run]):
    """The memory store's rows; what the checkers know of them comes from here."""

    def __init__(self, loop: Loop, history: History) -> None:
        super().__init__()
        self._loop = loop
        self._history = history
        self._started: dict[tuple[str, int], int] = {}
        self._leases: dict[tuple[str, int], int] = {}

    def __setitem__(self, key: RunKey, run: Run) -> None:
        run_id = key.run_id
        self._history.row_writes.append((self._loop.now, run_id, run.status.value, run.fence))
        self._started.setdefault((run_id, run.fence), self._loop.now)
        if run.lease_until is not None:
            self._leases[run_id, run.fence] = run.lease_until
        super().__setitem__(key, run)

    def started_at(self, run_id: str, fence: int) -> int:
        """When the row of this attempt was first written."""
        return self._started[run_id, fence]

    def lease_until(self, run_id: str, fence: int) -> int:
        """The end of the lease that was last written for this attempt."""
        return self._leases[run_id, fence]
