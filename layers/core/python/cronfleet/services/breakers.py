"""Breakers as callers see them: which targets and schedules are left alone, and let go of by hand."""

from typing import Final

from cronfleet.domain.audit import subject
from cronfleet.domain.breaker import Breaker, closed, known
from cronfleet.domain.breaker_form import SCHEDULE, breaker_form, schedule_breaker_form
from cronfleet.domain.errors import NotFound
from cronfleet.domain.instant import Instant
from cronfleet.domain.schedule import Status, Timer
from cronfleet.ports import cursors
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import JobStore, Page, Write
from cronfleet.services.access import Caller
from cronfleet.services.changing import Answer, Changing, Conditions, Draft, Once, answer_of, audit
from cronfleet.services.schedules import Schedules
from cronfleet.services.target_breakers import on_board, written
from cronfleet.services.tripped import is_tripped, tripped

TARGETS: Final = "targets"
SCHEDULES: Final = "schedules"
"""The parts of the list, as its cursors name them."""

CLOSE: Final = "close"
"""The action of the audit entry."""


class Breakers:
    """The service behind /v1/breakers."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids, schedules: Schedules) -> None:
        """`schedules` resumes those that their own breaker has paused."""
        self._schedules = schedules
        self._store = store
        self._clock = clock
        self._ids = ids
        self._changing = Changing(store, clock)

    def list(self, caller: Caller, *, cursor: str | None, limit: int) -> Page[dict[str, object]]:
        """A page of the tenant's breakers: targets that have failures to tell of, whether open or not, and then the
        schedules that their own breaker has paused; it may be short.
        """
        part, place = (TARGETS, "") if cursor is None else cursors.decode(cursor, 2)
        if part == TARGETS:
            return self._targets(caller, place or None, limit)
        if part != SCHEDULES:
            raise cursors.foreign()
        page = tripped(self._store, caller.tenant.tenant_id, cursor=place or None, limit=limit)
        forms = [schedule_breaker_form(one, is_open=True) for one in page.items]
        return Page(forms, None if page.cursor is None else cursors.encode([SCHEDULES, page.cursor]))

    def _targets(self, caller: Caller, place: str | None, limit: int) -> Page[dict[str, object]]:
        """The last of them are followed by schedules as far as there is room."""
        now = self._clock.now()
        page = answer_of(lambda: self._store.list_breakers(caller.tenant.tenant_id, cursor=place, limit=limit))
        forms = [breaker_form(one) for one in (known(one, now) for one in page.items) if one.failures]
        if page.cursor is not None:
            return Page(forms, cursors.encode([TARGETS, page.cursor]))
        following = cursors.encode([SCHEDULES, ""])
        if len(forms) >= limit:
            return Page(forms, following)
        rest = self.list(caller, cursor=following, limit=limit - len(forms))
        return Page([*forms, *rest.items], rest.cursor)

    def get(self, caller: Caller, breaker_id: str) -> dict[str, object]:
        """One of them; `NotFound` for one that never had a failure, or has long had none."""
        if breaker_id.startswith(SCHEDULE):
            timer = self._require_schedule(caller, breaker_id)
            return schedule_breaker_form(timer, is_open=is_tripped(timer))
        return breaker_form(known(self._require(caller, breaker_id), self._clock.now()))

    def _require(self, caller: Caller, breaker_id: str) -> Breaker:
        found = answer_of(lambda: self._store.find_breaker(caller.tenant.tenant_id, breaker_id))
        if found is None:
            raise NotFound("breaker", breaker_id)
        return found

    def _require_schedule(self, caller: Caller, breaker_id: str) -> Timer:
        """The timer of a schedule that has a breaker, or was paused by one."""
        schedule_id = breaker_id.removeprefix(SCHEDULE)
        timer = answer_of(lambda: self._store.get_timer(caller.tenant.tenant_id, schedule_id))
        if timer is None or timer.status is Status.CANCELLED or not (timer.breaker or is_tripped(timer)):
            raise NotFound("breaker", breaker_id)
        return timer

    def _close_schedule(self, caller: Caller, breaker_id: str, reason: str, once: Once | None) -> Answer:
        """Resume it, unless somebody has paused it in the meantime: then that stands."""
        timer = self._require_schedule(caller, breaker_id)
        if is_tripped(timer):
            seen = Conditions(if_match=(timer.etag,))
            self._schedules.resume(caller, timer.schedule_id, reason=reason, conditions=seen, once=once)
        return Answer(schedule_breaker_form(timer, is_open=False))

    def close(self, caller: Caller, breaker_id: str, *, reason: str = "", once: Once | None = None) -> Answer:
        """Forget the failures: the target is called as if there had been none. What waits comes when it would have.

        A schedule that its own breaker has paused is resumed, by what its policy for pauses says.
        """
        if breaker_id.startswith(SCHEDULE):
            return self._close_schedule(caller, breaker_id, reason, once)

        def decide(now: Instant) -> Draft:
            before = self._require(caller, breaker_id)
            if not before.failures:
                return Draft((), Answer(breaker_form(before)))
            put = written(before, closed(before), self._ids.unique())
            about = subject("breaker", breaker_id)
            said = {"before": breaker_form(before), "after": breaker_form(put.breaker)}
            entry = audit(caller, put.breaker.change_id, now, CLOSE, about, reason=reason, **said)
            board = answer_of(lambda: on_board(self._store, put.breaker, now))
            writes: list[Write] = [put, board, entry]
            return Draft(writes, Answer(breaker_form(put.breaker)))

        return self._changing.change(caller, once, decide)
