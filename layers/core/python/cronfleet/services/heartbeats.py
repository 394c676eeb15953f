"""Heartbeats: the URL of a schedule that a job outside pings, and the pings.

Whoever makes a URL needs a key; whoever pings it needs the URL alone. The token is shown once, in the answer that
makes it, and kept as a digest; so that answer is not remembered under an Idempotency-Key.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from cronfleet.domain.audit import schedule_subject
from cronfleet.domain.errors import Invalid, NotFound
from cronfleet.domain.form import Form
from cronfleet.domain.heartbeat import (
    SECRET_BYTES,
    Heartbeat,
    Ping,
    PingState,
    counted,
    digest_of,
    heartbeat_name,
    is_token_of,
    name_in,
    token_of,
)
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.clock import Clock, Ids, Secrets
from cronfleet.ports.job_store import InsertPing, JobStore, PutHeartbeat, Write
from cronfleet.services.access import Caller
from cronfleet.services.changing import Answer, Changing, Draft, Once, answer_of, audit

MAKE: Final = "make_heartbeat"
"""The audit log's word for a new URL, the first or one in place of another."""

LONGEST_SHOWN: Final = 64
"""Of a token that is none, in the refusal."""

PINGER: Final = "heartbeat"
"""Who a ping comes from, where a caller has a key."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a job says of itself; without a state, its exit code says it, and without either it is a success."""

    state: PingState | None = None
    exit_code: int | None = None
    message: str = ""

    @property
    def said(self) -> PingState:
        """The state; raises `Invalid` where it contradicts the exit code."""
        by_code = None if self.exit_code is None else PingState.FAIL if self.exit_code else PingState.SUCCESS
        if self.state is not None and by_code is not None and self.state is not by_code:
            raise Invalid("exit_code", f"is {self.exit_code}, which is no {self.state}; leave one of the two out")
        return self.state or by_code or PingState.SUCCESS


class Heartbeats:
    """The service behind a schedule's /heartbeat and behind /v1/heartbeats."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids, secrets: Secrets) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._secrets = secrets
        self._changing = Changing(store, clock)

    def make(self, caller: Caller, schedule_id: str, reason: str = "") -> Answer:
        """A new URL, its token shown here and nowhere again. The one before, if any, is dead once this returns."""
        secret = self._secrets.secret(SECRET_BYTES)
        return self._changing.change(caller, None, lambda now: self._made(caller, schedule_id, secret, reason, now))

    def _made(self, caller: Caller, schedule_id: str, secret: bytes, reason: str, now: Instant) -> Draft:
        tenant = caller.tenant.tenant_id
        timer = self._live(tenant, schedule_id)
        before = self._stored(heartbeat_name(tenant, schedule_id))
        token = token_of(heartbeat_name(tenant, schedule_id), secret)
        change_id = self._ids.unique()
        is_first = before is None or before.born_epoch != timer.born_epoch
        after = Heartbeat(
            tenant,
            schedule_id,
            timer.born_epoch,
            digest_of(token),
            caller.actor,
            now,
            since=now if before is None or is_first else before.since,
            change_id=change_id,
        )
        entry = audit(
            caller,
            change_id,
            now,
            MAKE,
            schedule_subject(schedule_id),
            before=None if before is None or is_first else _form(before),
            after=_form(after),
            reason=reason,
        )
        form = {**_form(after), "token": token}
        return Draft([PutHeartbeat(after, before), entry], Answer(form, created=is_first))

    def show(self, caller: Caller, schedule_id: str) -> Form:
        """Who made the schedule's URL and when, and the latest ping; `NotFound` where none was made."""
        tenant = caller.tenant.tenant_id
        timer = self._live(tenant, schedule_id)
        stored = self._stored(heartbeat_name(tenant, schedule_id))
        if stored is None or stored.born_epoch != timer.born_epoch:
            raise NotFound("heartbeat", schedule_id)
        now = self._clock.now()
        read = partial(self._store.list_pings, stored.name, since=stored.since, until=now, cursor=None, limit=1)
        latest = answer_of(read).items
        return {**_form(stored), "last_ping": ping_form(latest[0]) if latest else None}

    def ping(self, token: str, report: Report, once: Once | None = None, request_id: str = "") -> Form:
        """Note a ping. `NotFound`, without a word on why, for a token that is none; `RateLimited` past a minute's."""
        state = report.said
        stored = self._pinged(token)
        # The URL's own, whatever a caller with a key uses: `~` is in no name.
        own = None if once is None else replace(once, key=f"{PINGER}~{stored.name}~{once.key}")
        caller = Caller(Tenant(stored.tenant), PINGER, request_id)

        seen = [stored]

        def decide(now: Instant) -> Draft:
            # Read anew only when somebody else's ping came first.
            before = seen.pop() if seen else self._pinged(token)
            ping_id = self._ids.unique()
            ping = Ping(before.tenant, before.schedule_id, ping_id, now, state, report.exit_code, report.message)
            writes: list[Write] = [PutHeartbeat(counted(before, now, ping_id), before), InsertPing(ping)]
            return Draft(writes, Answer(ping_form(ping)))

        return self._changing.change(caller, own, decide).form

    def _pinged(self, token: str) -> Heartbeat:
        """The URL of `token`, if it is one of a schedule that lives."""
        stored = self._stored(name_in(token))
        if not is_token_of(token, stored) or stored is None:
            raise NotFound("heartbeat", token[:LONGEST_SHOWN])
        timer = answer_of(lambda: self._store.get_timer(stored.tenant, stored.schedule_id))
        if timer is None or timer.status is Status.CANCELLED or timer.born_epoch != stored.born_epoch:
            raise NotFound("heartbeat", token[:LONGEST_SHOWN])
        return stored

    def _stored(self, name: str) -> Heartbeat | None:
        return answer_of(lambda: self._store.get_heartbeat(name))

    def _live(self, tenant: str, schedule_id: str) -> Timer:
        timer = answer_of(lambda: self._store.get_timer(tenant, schedule_id))
        if timer is None or timer.status is Status.CANCELLED:
            raise NotFound("schedule", schedule_id)
        return timer


def _form(heartbeat: Heartbeat) -> Form:
    """A URL without its token."""
    return {
        "schedule_id": heartbeat.schedule_id,
        "made_by": heartbeat.made_by,
        "made_at": to_text(heartbeat.made_at),
        "since": to_text(heartbeat.since),
    }


def ping_form(ping: Ping) -> Form:
    """A ping, as whoever sends it and whoever reads it sees it."""
    return {
        "at": to_text(ping.at),
        "state": ping.state.value,
        "exit_code": ping.exit_code,
        "message": ping.message,
    }
