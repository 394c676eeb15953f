"""Lineage: what a schedule runs after, what runs after it, and how they stand, as callers ask it."""

from collections.abc import Iterable, Sequence
from functools import partial

from cronfleet.domain import lint_parents
from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.errors import NotFound
from cronfleet.domain.form import Form, reason_form
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.join import missing
from cronfleet.domain.run import Run
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import describe
from cronfleet.domain.warning import Warning  # noqa: A004 - the word that callers see
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore, ScheduleStore
from cronfleet.services.access import Caller
from cronfleet.services.changing import answer_of


class Lineage:
    """The service behind a schedule's /dependencies. It looks one step up and one step down."""

    def __init__(self, *, store: JobStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def get(self, caller: Caller, schedule_id: str) -> Form:
        """Parents and dependants with their latest runs; `NotFound` when there is no such schedule."""
        tenant = caller.tenant.tenant_id
        timer = self._timer(tenant, schedule_id)
        if timer is None or timer.status is Status.CANCELLED:
            raise NotFound("schedule", schedule_id)
        trigger = timer.trigger if isinstance(timer.trigger, AfterTrigger) else None
        dependants = answer_of(lambda: self._store.get_dependants(tenant, schedule_id)).names if timer.feeds else ()
        latest = self._latest(tenant, schedule_id)
        return {
            "schedule_id": schedule_id,
            "after": None if trigger is None else describe(trigger),
            "parents": self._related(tenant, () if trigger is None else trigger.parents),
            "dependants": self._related(tenant, dependants),
            "latest": None if latest is None else _run_form(latest, trigger),
            "warnings": [
                {"code": warning.code.value, "text": warning.text}
                for warning in parents_warnings(self._store, timer, self._clock.now())
            ],
        }

    def _timer(self, tenant: str, schedule_id: str) -> Timer | None:
        return answer_of(partial(self._store.get_timer, tenant, schedule_id))

    def _latest(self, tenant: str, schedule_id: str) -> Run | None:
        page = answer_of(partial(self._store.list_runs, tenant, schedule_id, cursor=None, limit=1))
        return next(iter(page.items), None)

    def _related(self, tenant: str, names: Iterable[str]) -> list[Form]:
        return [self._related_form(tenant, name) for name in names]

    def _related_form(self, tenant: str, name: str) -> Form:
        timer, latest = self._timer(tenant, name), self._latest(tenant, name)
        is_gone = timer is None or timer.status is Status.CANCELLED
        return {
            "schedule_id": name,
            "status": "deleted" if timer is None or is_gone else timer.status.value,
            "latest": None if latest is None else _run_form(latest, None),
        }


def parents_warnings(store: ScheduleStore, timer: Timer, now: Instant) -> Sequence[Warning]:
    """What about the parents of a schedule will surprise; nothing, and no read, for one that has none."""
    trigger = timer.trigger
    if not isinstance(trigger, AfterTrigger) or timer.status is Status.CANCELLED:
        return ()
    found = {name: answer_of(partial(store.get_timer, timer.tenant, name)) for name in trigger.parents}
    return tuple(lint_parents.parents(trigger, found, now))


def _run_form(run: Run, trigger: AfterTrigger | None) -> Form:
    late = () if trigger is None or run.joined is None or run.is_terminal else missing(trigger, run.joined)
    return {
        "run_id": run.key.run_id,
        "nominal_at": to_text(run.key.nominal_at),
        "status": run.status.value,
        "due_at": to_text(run.due_at),
        "parents": None if run.joined is None else {name: end.value for name, end in sorted(run.joined.items())},
        "missing": list(late),
        "reason": reason_form(run.reason),
    }
