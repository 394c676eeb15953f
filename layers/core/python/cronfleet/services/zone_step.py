"""The step of a job after a change of the zone data: what waits is worked out anew, and changed only if it differs."""

from dataclasses import replace
from functools import partial

from cronfleet.domain.audit import SCHEDULER_ACTOR
from cronfleet.domain.claim import BatchId, ScheduleClaim
from cronfleet.domain.form import Form, schedule_form
from cronfleet.domain.instant import Instant
from cronfleet.domain.retiming import Retiming
from cronfleet.domain.schedule import Definition, Status, Timer
from cronfleet.domain.trigger import OneShotTrigger
from cronfleet.domain.zone_change import Moved, moved
from cronfleet.domain.zone_check import names_otherwise
from cronfleet.ports.job_store import InsertDefinition, InsertRun, JobStore, Write
from cronfleet.services.asking import ask
from cronfleet.services.retimed import Retimed


class ZoneStep:
    """Works out with the zone data of this process; the sweeper's jobs and the dispatcher share it."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def concerns(self, _job: Retiming, timer: Timer) -> bool:
        return names_otherwise(timer)

    def decide(self, job: Retiming, timer: Timer, now: Instant) -> Retimed | None:
        return self.retimed(timer, now, job.job_id)

    def retimed(self, timer: Timer, now: Instant, change_id: str) -> Retimed | None:
        """The change of `timer` as it is now, or `None` where none is due; raises as `Step.decide` does."""
        if not names_otherwise(timer):
            return None
        definition = self._definition(timer)
        # A one-shot's instant stands in its definition: what does not change has no new version.
        is_new = isinstance(timer.trigger, OneShotTrigger)
        made = moved(timer, version=timer.version + is_new, last=self._last_claim(timer), now=now, change_id=change_id)
        if made is None:
            return None
        after = _again(definition, made) if is_new else definition
        more: list[Write] = [InsertDefinition(after)] if is_new else []
        more += map(InsertRun, made.rows)
        return Retimed(
            made.timer,
            before=_form(timer, definition),
            after=_form(made.timer, after),
            reason=made.reason,
            more=more,
        )

    def _definition(self, timer: Timer) -> Definition:
        found = ask(partial(self._store.get_definition, timer.tenant, timer.schedule_id, timer.version))
        if found is None:
            raise ValueError(f"version {timer.version} of {timer.key} is gone: it is never deleted")
        return found

    def _last_claim(self, timer: Timer) -> ScheduleClaim | None:
        """The claim that `timer` names as its last; `None` without one, or when the log has forgotten it."""
        if timer.claim_batch is None or timer.status is not Status.ACTIVE:
            return None
        batch = ask(partial(self._store.get_batch, BatchId.parse(timer.claim_batch)))
        mine = (timer.tenant, timer.schedule_id)
        claims = [claim for claim in batch.claims if isinstance(claim, ScheduleClaim)] if batch else []
        return next((claim for claim in claims if (claim.tenant, claim.schedule_id) == mine), None)


def _again(definition: Definition, made: Moved) -> Definition:
    """The definition with the instant that its local time has now."""
    spec = replace(definition.spec, trigger=made.timer.trigger)
    return Definition(
        definition.tenant,
        definition.schedule_id,
        made.timer.version,
        spec,
        SCHEDULER_ACTOR,
        made.timer.updated_at,
        made.reason,
    )


def _form(timer: Timer, definition: Definition) -> Form:
    """A schedule's form, and with which zone data its next fire was worked out."""
    return {**schedule_form(timer, definition), "zone_data": timer.zone_data.release if timer.zone_data else None}
