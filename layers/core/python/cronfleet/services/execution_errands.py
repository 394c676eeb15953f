"""When an execution is looked at next: its errand, put with the change that makes there be something to see."""

from dataclasses import replace

from cronfleet.domain.errand import Errand, ErrandKind, new_errand
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import Run, RunKey
from cronfleet.ports.errands import PutErrand
from cronfleet.ports.job_store import JobStore, Write


def looked_at(store: JobStore, key: RunKey, at: Instant, now: Instant, shards: int) -> PutErrand:
    """The write that has the run's execution looked at. Reads: raises `NoAnswer`."""
    before = _errand(store, key)
    if before is not None:  # Of an attempt before this one: its clerk died before it could retire it.
        return PutErrand(before.moved(at), before)
    return PutErrand(new_errand(key.tenant, ErrandKind.EXECUTION, key.run_id, at, now=now, shards=shards))


def made_up_for(store: JobStore, key: RunKey, shard: int, now: Instant) -> PutErrand | None:
    """The write of an errand that must be there and is not, in that shard; `None` where it is. Reads: as above."""
    if _errand(store, key) is not None:
        return None
    errand = new_errand(key.tenant, ErrandKind.EXECUTION, key.run_id, now, now=now, shards=1)
    return PutErrand(replace(errand, shard=shard))


def woken(store: JobStore, run: Run, now: Instant) -> list[Write]:
    """The writes that have what goes on elsewhere for `run` looked at at once, if anything does.

    Reads: raises `NoAnswer`.
    """
    before = None if run.execution is None else _errand(store, run.key)
    return [] if before is None else [PutErrand(before.moved(now), before)]


def _errand(store: JobStore, key: RunKey) -> Errand | None:
    return store.get_errand(key.tenant, ErrandKind.EXECUTION, key.run_id)
