"""Waking the watch: a change of a schedule with objectives has it looked at anew, in the same transaction."""

from collections.abc import Sequence

from cronfleet.domain.errand import ErrandKind, new_errand
from cronfleet.domain.instant import Instant, ceil_second
from cronfleet.domain.schedule import Timer
from cronfleet.ports.errands import PutErrand
from cronfleet.ports.job_store import JobStore, Write
from cronfleet.services.changing import answer_of


def waking(store: JobStore, before: Timer | None, after: Timer, now: Instant, shards: int) -> Sequence[Write]:
    """The write by which the watch looks now; nothing, and no read, for a schedule that nothing is expected of."""
    if not after.is_watched and (before is None or not before.is_watched):
        return ()
    tenant, schedule_id = after.tenant, after.schedule_id
    due_at = ceil_second(now)
    stored = answer_of(lambda: store.get_errand(tenant, ErrandKind.WATCH, schedule_id))
    if stored is not None:
        return (PutErrand(stored.moved(due_at), stored),)
    return (PutErrand(new_errand(tenant, ErrandKind.WATCH, schedule_id, due_at, now=now, shards=shards)),)
