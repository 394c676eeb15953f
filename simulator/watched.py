"""Tables under watch: every write of a ledger row is noted with its true time, and what claims to be of the future."""

from typing import Final

from cronfleet.domain.lease import ShardLease
from cronfleet.domain.reason import Code
from cronfleet.domain.run import Run, RunKey, RunStatus
from simulator.history import History
from simulator.loop import Loop

CLOCKS_MAY_DIFFER: Final = 3_000
"""Milliseconds: by the store's clock, two seconds and the one that a Date header leaves open."""

LONGEST_RUN_LEASE: Final = 130_000
"""The longest time limit in `population.py`, and ten seconds."""

LONGEST_SHARD_LEASE: Final = 15_000
"""What announcing a batch renews it by."""


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
        self._look_ahead(run)
        self._look_back(self.get(key), run)
        if run.lease_until is not None:
            self._leases[run_id, run.fence] = run.lease_until
        super().__setitem__(key, run)

    def _look_back(self, before: Run | None, run: Run) -> None:
        """Note a run that was given up as undelivered while a worker had it."""
        is_given_up = run.status is RunStatus.DEAD and run.reason is not None and run.reason.code is Code.UNDELIVERED
        lease_until = None if before is None else before.lease_until
        if is_given_up and lease_until is not None and lease_until > self._loop.now + CLOCKS_MAY_DIFFER:
            self._history.given_up.append((self._loop.now, f"{run.key.run_id} was leased until {lease_until}"))

    def _look_ahead(self, run: Run) -> None:
        """Note what could only be written by a wrong clock."""
        latest = self._loop.now + CLOCKS_MAY_DIFFER
        for name, moment in (("started", run.started_at), ("finished", run.finished_at)):
            if moment is not None and moment > latest:
                self._history.of_the_future.append((self._loop.now, f"{run.key.run_id} {name} at {moment}"))
        if run.lease_until is not None and run.lease_until > latest + LONGEST_RUN_LEASE:
            self._history.of_the_future.append((self._loop.now, f"{run.key.run_id} leased until {run.lease_until}"))

    def started_at(self, run_id: str, fence: int) -> int:
        """When the row of this attempt was first written."""
        return self._started[run_id, fence]

    def lease_until(self, run_id: str, fence: int) -> int:
        """The end of the lease that was last written for this attempt."""
        return self._leases[run_id, fence]


class WatchedLeases(dict[int, ShardLease]):
    """The memory store's leases on shards."""

    def __init__(self, loop: Loop, history: History) -> None:
        super().__init__()
        self._loop = loop
        self._history = history

    def __setitem__(self, shard: int, lease: ShardLease) -> None:
        if lease.until > self._loop.now + CLOCKS_MAY_DIFFER + LONGEST_SHARD_LEASE:
            self._history.of_the_future.append((self._loop.now, f"shard {shard} leased until {lease.until}"))
        before = self.get(shard)
        if lease.last_batch is not None and (before is None or before.last_batch != lease.last_batch):
            self._history.announced.append((self._loop.now, str(lease.last_batch)))
        if before is not None and before.open_batch not in (None, lease.open_batch):
            self._history.closed.append((self._loop.now, str(before.open_batch)))
        super().__setitem__(shard, lease)
