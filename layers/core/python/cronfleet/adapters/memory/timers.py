"""Timers in memory: every write of one goes through here, so that the due index hears of it."""

from dataclasses import replace

from cronfleet.adapters.memory.calendars import bare
from cronfleet.adapters.memory.due_index import ItemKey
from cronfleet.adapters.memory.state import State
from cronfleet.domain.claim import RunTimer, Unreadable
from cronfleet.domain.instant import to_compact
from cronfleet.domain.run import RunKey
from cronfleet.domain.schedule import Timer


def timer_key(tenant: str, schedule_id: str) -> ItemKey:
    """Where a schedule's timer stands."""
    return f"{tenant}#{schedule_id}", "TIMER"


def run_timer_key(key: RunKey, attempt: int) -> ItemKey:
    """Where the timer of a run's `attempt` stands."""
    sort = f"RUN#{key.epoch:09}#{to_compact(key.nominal_at)}#{key.cause}#{attempt:03}"
    return f"{key.tenant}#{key.schedule_id}", sort


def put_timer(state: State, timer: Timer) -> None:
    """Store `timer`; it waits in the due index while it has a `due_at`."""
    key = timer_key(timer.tenant, timer.schedule_id)
    timer = bare(timer)
    state.timers[timer.tenant, timer.schedule_id] = timer
    state.damaged.pop(key, None)
    if timer.due_at is None:
        state.due_index.remove(key)
    else:
        state.due_index.put(key, timer.shard, timer.due_at, _projected(timer))


def put_run_timer(state: State, timer: RunTimer) -> None:
    """Store a run's timer; it waits in the due index until a batch claims it."""
    key = run_timer_key(timer.key, timer.attempt)
    state.run_timers[key] = timer
    if timer.claim_batch is None:
        state.due_index.put(key, timer.shard, timer.due_at, replace(timer, deferred=None))
    else:
        state.due_index.remove(key)


def damage(state: State, timer: Timer, why: str) -> Unreadable:
    """Make the stored `timer` one that cannot be read, as a lost zone or a bad write would; for tests."""
    key = timer_key(timer.tenant, timer.schedule_id)
    item = Unreadable(*key, due_at=timer.due_at or 0, why=why)
    state.damaged[key] = item
    state.due_index.put(key, timer.shard, item.due_at, item)
    return item


def _projected(timer: Timer) -> Timer:
    """What an index entry holds: enough for a claim. Who claimed, changed or paused it only the base item says."""
    bare = replace(timer, claim_batch=None, change_id="", epoch_starts=(), born_epoch=0, created_at=0, updated_at=0)
    return replace(bare, pause=None, parked=None, deferred=None, caught_up_from=None)
