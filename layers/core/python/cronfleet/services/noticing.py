"""Noticing: delivers one notice, tries again when that fails, and holds it for a summary in quiet hours."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from cronfleet.domain.channel import Channel
from cronfleet.domain.errand import ErrandKind, new_errand
from cronfleet.domain.incident import Incident
from cronfleet.domain.instant import SECOND, Instant, ceil_second
from cronfleet.domain.message import Message, incident_message, summary_message, trial_message
from cronfleet.domain.notice import DELIVERY_TIME, Edge, Notice, NoticeStatus, summary_id_of
from cronfleet.domain.run import Outcome
from cronfleet.ports.alerts import Courier, PutAlert
from cronfleet.ports.clock import Clock
from cronfleet.ports.errands import PutErrand
from cronfleet.ports.job_store import JobStore, NoAnswer, Refused, Write
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask

MAX_TURNS: Final = 8
"""How often a summary is added to anew because another notice was added first."""

LEAST_TIME: Final = 5 * SECOND
"""With less time than this left, a delivery is not begun."""

_GONE: Final = "the channel was deleted"
_NOTHING: Final = "there is nothing to tell any more"


class Noticing:
    """Carries on the errand `notice`; its id is that of the notice."""

    def __init__(self, *, store: JobStore, courier: Courier, clock: Clock, telemetry: Telemetry, shards: int) -> None:
        self._store = store
        self._courier = courier
        self._clock = clock
        self._telemetry = telemetry
        self._shards = shards

    def carry_on(self, tenant: str, errand_id: str, until: Instant) -> Instant | None:
        """See `Doer.carry_on`: one delivery, or none while it is not its time."""
        notice = ask(lambda: self._store.get_notice(tenant, errand_id))
        now = self._clock.now()
        if notice is None or notice.is_over:
            return None
        if notice.next_at is not None and notice.next_at > now:
            return ceil_second(notice.next_at)
        channel = ask(lambda: self._store.get_channel(tenant, notice.channel))
        if channel is None or channel.is_deleted:
            self._noted(notice.dropped(now, _GONE))
            return None
        quiet_until = self._quiet_until(notice, channel, now)
        if quiet_until is not None and self._held(notice, quiet_until, now):
            return None
        message = self._message(notice, channel, now)
        if message is None:
            self._noted(notice.dropped(now, _NOTHING))
            return None
        if until - now < LEAST_TIME:
            return ceil_second(now)
        return self._delivered(notice, channel, message, min(now + DELIVERY_TIME, until - SECOND))

    # --- quiet hours ---------------------------------------------------------------------------------------------

    def _quiet_until(self, notice: Notice, channel: Channel, now: Instant) -> Instant | None:
        is_news = notice.edge not in (Edge.TEST, Edge.SUMMARY)
        return channel.quiet_hours.until(now) if is_news and channel.quiet_hours is not None else None

    def _held(self, notice: Notice, told_at: Instant, now: Instant) -> bool:
        """Leave the notice to the summary at `told_at`; False when that is over already."""
        summary_id = summary_id_of(notice.channel, told_at)
        for _ in range(MAX_TURNS):
            stored = ask(partial(self._store.get_notice, notice.tenant, summary_id))
            if stored is not None and stored.is_over:
                return False
            writes: list[Write] = [PutAlert(notice.held(now, summary_id))]
            if stored is None:
                held = (notice.notice_id,)
                summary = Notice(notice.tenant, summary_id, Edge.SUMMARY, notice.channel, now, holds=held)
                errand = new_errand(notice.tenant, ErrandKind.NOTICE, summary_id, told_at, now=now, shards=self._shards)
                writes += [PutAlert(summary), PutErrand(errand)]
            else:
                writes.append(PutAlert(stored.holding(notice.notice_id)))
            try:
                ask(partial(self._store.commit, writes))
            except Refused as refused:
                if refused.position == 0:
                    return True  # Somebody else has carried this notice on.
                continue  # Another notice of the same quiet hours came first.
            return True
        raise NoAnswer(f"others kept adding to the summary of {notice.channel}")

    # --- what is told --------------------------------------------------------------------------------------------

    def _message(self, notice: Notice, channel: Channel, now: Instant) -> Message | None:
        if notice.edge is Edge.TEST:
            return trial_message(notice, channel)
        if notice.edge is Edge.SUMMARY:
            told = self._told_of(notice)
            return summary_message(notice, told, channel, now) if told else None
        incident = self._incident(notice)
        return None if incident is None else incident_message(notice, incident, channel)

    def _told_of(self, summary: Notice) -> Sequence[tuple[Notice, Incident]]:
        notices = ask(lambda: self._store.list_notices(summary.tenant, summary.holds))
        known: dict[str, Incident | None] = {}
        for notice in notices:
            if notice.incident_id not in known:
                known[notice.incident_id] = self._incident(notice)
        pairs = [(notice, known[notice.incident_id]) for notice in notices]
        return [(notice, incident) for notice, incident in pairs if incident is not None]

    def _incident(self, notice: Notice) -> Incident | None:
        return ask(lambda: self._store.get_incident(notice.tenant, notice.incident_id))

    def _delivered(self, notice: Notice, channel: Channel, message: Message, deadline_at: Instant) -> Instant | None:
        result = self._courier.deliver(channel, message, deadline_at)
        now = self._clock.now()
        if result.outcome is Outcome.SUCCEEDED:
            self._telemetry.count("notices_sent")
            self._noted(notice.sent(now))
            return None
        after = notice.failed(now, result.error or result.outcome.value, retryable=result.retryable)
        self._noted(after)
        if after.status is NoticeStatus.GIVEN_UP:
            self._telemetry.alarm("notice_given_up", tenant=notice.tenant, channel=notice.channel, error=after.error)
            return None
        return None if after.next_at is None else ceil_second(after.next_at)

    def _noted(self, notice: Notice) -> None:
        """Write what became of it; who finds another's word there leaves it."""
        try:
            ask(lambda: self._store.commit([PutAlert(notice)]))
        except Refused:
            return
