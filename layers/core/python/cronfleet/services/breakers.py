"""Breakers as callers see them: which targets are left alone, and let go of by hand."""

from typing import Final

from cronfleet.domain.audit import subject
from cronfleet.domain.breaker import Breaker, closed, known
from cronfleet.domain.breaker_form import breaker_form
from cronfleet.domain.errors import NotFound
from cronfleet.domain.instant import Instant
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import JobStore, Page, Write
from cronfleet.services.access import Caller
from cronfleet.services.changing import Answer, Changing, Draft, Once, answer_of, audit
from cronfleet.services.target_breakers import on_board, written

CLOSE: Final = "close"
"""The action of the audit entry."""


class Breakers:
    """The service behind /v1/breakers."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._changing = Changing(store, clock)

    def list(self, caller: Caller, *, cursor: str | None, limit: int) -> Page[dict[str, object]]:
        """A page of the tenant's breakers that have failures to tell of, whether open or not; it may be short."""
        now = self._clock.now()
        page = answer_of(lambda: self._store.list_breakers(caller.tenant.tenant_id, cursor=cursor, limit=limit))
        current = (known(one, now) for one in page.items)
        return Page([breaker_form(one) for one in current if one.failures], page.cursor)

    def get(self, caller: Caller, breaker_id: str) -> dict[str, object]:
        """One of them; `NotFound` for one that never had a failure, or has long had none."""
        return breaker_form(known(self._require(caller, breaker_id), self._clock.now()))

    def _require(self, caller: Caller, breaker_id: str) -> Breaker:
        found = answer_of(lambda: self._store.find_breaker(caller.tenant.tenant_id, breaker_id))
        if found is None:
            raise NotFound("breaker", breaker_id)
        return found

    def close(self, caller: Caller, breaker_id: str, *, reason: str = "", once: Once | None = None) -> Answer:
        """Forget the failures: the target is called as if there had been none. What waits comes when it would have."""

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
