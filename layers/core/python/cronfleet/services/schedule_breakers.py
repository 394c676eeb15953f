"""Breakers of schedules: one whose runs die one after the other is paused by the scheduler, for a while.

Nothing is counted on the way: a death looks back through the ledger, and a success costs nothing. When the pause ends
by itself, the next run is the probe: if it dies too, the schedule is paused again; if it succeeds, the row is broken.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final

from cronfleet.domain.audit import SCHEDULER_ACTOR, AuditEntry, base32, id_prefix, schedule_subject
from cronfleet.domain.change import paused
from cronfleet.domain.instant import SECOND, ceil_second
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.schedule import Change, Pause, Status, Timer
from cronfleet.ports.job_store import InsertAudit, JobStore, UpdateTimer, Write

ROWS_BETWEEN: Final = 20
"""Rows that are looked at besides the dead ones: what was skipped between them, or is not over yet."""

_RANDOM_LENGTH: Final = 16


class ScheduleBreakers:
    """Of the death of a run: its schedule is paused when enough have died in a row, in the same transaction."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def writes_for(self, before: Run | None, after: Run, timer: Timer | None) -> Sequence[Write]:  # noqa: ARG002 - as the others
        """Nothing, and no read, for a schedule without a breaker, or a run that did not die. Raises `NoAnswer`."""
        if timer is None or timer.breaker is None or after.status is not RunStatus.DEAD:
            return []
        limit = timer.breaker.failures + ROWS_BETWEEN
        page = self._store.list_runs(timer.tenant, timer.schedule_id, cursor=None, limit=limit)
        deaths = 1 + deaths_in_a_row(page.items, after.key)
        if deaths < timer.breaker.failures:
            return []
        now = self._store.get_timer(timer.tenant, timer.schedule_id)
        if now is None or now.status is not Status.ACTIVE or now.breaker is None:
            return []
        return _tripped(now, after, deaths)


def deaths_in_a_row(newest_first: Iterable[Run], but: RunKey) -> int:
    """How many of the newest runs died, up to the first that succeeded; what never ran counts neither way."""
    deaths = 0
    for row in newest_first:
        if row.status is RunStatus.SUCCEEDED:
            break
        deaths += row.status is RunStatus.DEAD and row.key != but
    return deaths


def _tripped(timer: Timer, last: Run, deaths: int) -> Sequence[Write]:
    ended_at, policy = last.finished_at or 0, timer.breaker
    cooldown = 0 if policy is None else policy.cooldown_seconds * SECOND
    why = "" if last.reason is None else f"; the last: {last.reason.text}"
    reason = f"{deaths} runs in a row died{why}"[:300]
    # The same whenever this is decided anew, so that a lost reply is recognised.
    change_id = f"{id_prefix(ended_at)}{_digits(f'{last.key.run_id}#{timer.rev}')}"
    pause = Pause(SCHEDULER_ACTOR, ended_at, reason, until=ceil_second(ended_at + cooldown))
    after = paused(timer, pause, now=ended_at, change_id=change_id)
    entry = AuditEntry(
        timer.tenant,
        change_id,
        ended_at,
        SCHEDULER_ACTOR,
        Change.PAUSE,
        schedule_subject(timer.schedule_id),
        request_id=change_id,
        before={"status": timer.status.value},
        after={"status": after.status.value},
        reason=reason,
    )
    return [UpdateTimer(after, timer), InsertAudit(entry)]


def _digits(text: str) -> str:
    return base32(int.from_bytes(blake2b(text.encode(), digest_size=10).digest()), _RANDOM_LENGTH)
