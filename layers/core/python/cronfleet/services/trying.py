"""Trying: a change decided as it would be, and not made; its answer tells its effect."""

from collections.abc import Callable

from cronfleet.domain.effect import Effect, caught_up_count, effect_of
from cronfleet.domain.effect_form import effect_form
from cronfleet.domain.form import Form
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.quota import quotas_of
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import InsertRunTimer, JobStore
from cronfleet.ports.schedule_counts import CountSchedules, Full
from cronfleet.services.access import Caller
from cronfleet.services.changing import Answer, Changing, Draft, Once, too_many
from cronfleet.services.peaks import look
from cronfleet.services.quotas import TenantQuotas
from cronfleet.services.true_clock import refuse_wrong_clock


class Judging(Changing):
    """Decides as `Changing` does, with the refusals of deciding, and writes nothing."""

    def __init__(self, store: JobStore, clock: Clock) -> None:
        super().__init__(store, clock)
        self._own_clock = clock

    def change(
        self,
        caller: Caller,  # noqa: ARG002 - as in `Changing`
        once: Once | None,  # noqa: ARG002 - nothing is done that could be done twice
        decide: Callable[[Instant], Draft],
    ) -> Answer:
        """What would be answered."""
        draft = decide(self._own_clock.now())
        refuse_wrong_clock(self._store)
        return draft.answer


class Trying(Changing):
    """Decides as `Changing` does, with the same refusals, and writes nothing."""

    def __init__(self, store: JobStore, clock: Clock) -> None:
        super().__init__(store, clock)
        self._job_store = store
        self._quotas = TenantQuotas(store, writes=False)

    def change(
        self,
        caller: Caller,
        once: Once | None,  # noqa: ARG002 - nothing is done that could be done twice
        decide: Callable[[Instant], Draft],
    ) -> Answer:
        """What would be, with its `effect`.

        The ETag is that of what is there now: sent back in If-Match, it lets just that change through.
        """
        now = self._clock.now()
        draft = decide(now)
        refuse_wrong_clock(self._store)
        if draft.after is None:
            return draft.answer
        effect = effect_of(draft.before, draft.after, now)
        said = {
            **effect_form(effect),
            "at_once": sum(isinstance(write, InsertRunTimer) for write in draft.writes),
            "caught_up": caught_up_count(draft.after),
            "quota": self._quota_form(caller, draft, effect, now),
        }
        return Answer({**draft.answer.form, "effect": said}, "" if draft.before is None else draft.before.etag)

    def _quota_form(self, caller: Caller, draft: Draft, effect: Effect, now: Instant) -> Form:
        quotas = quotas_of(caller.tenant)
        peak: Form | None = None
        if draft.after is not None and (effect.gained or effect.moved):
            looked = look(self._job_store, draft.after, now)
            if looked.peak is not None:
                peak = {
                    "peak": looked.peak.fires,
                    "peak_at": to_text(looked.peak.at),
                    "limit": quotas.fires_per_second,
                    "looked_at": looked.schedules,
                    "is_complete": looked.is_complete,
                }
        return {"schedules": self._schedules_form(caller, draft), "fires_per_second": peak}

    def _schedules_form(self, caller: Caller, draft: Draft) -> Form:
        """What becomes of the number of schedules; raises `QuotaExceeded` as the change itself would."""
        counts = [write for write in draft.writes if isinstance(write, CountSchedules)]
        use = self._quotas.seen(caller.tenant.tenant_id)
        after = use + sum(count.by for count in counts)
        for count in counts:
            if count.by > 0 and count.limit is not None and after > count.limit:
                raise too_many(Full(use, count.limit))
        return {"use": use, "after": after, "limit": quotas_of(caller.tenant).schedules}
