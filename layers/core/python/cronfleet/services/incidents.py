"""Incidents: opened and ended by whoever watches, each with what has to be told; read and acknowledged by callers.

An edge is one transaction: the incident, its standing, and for each channel a notice with the errand that delivers it.
So whoever dies in the middle has told nothing and noted nothing, and whoever finds it done does nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from cronfleet.domain.audit import subject as audit_subject
from cronfleet.domain.errand import ErrandKind, new_errand
from cronfleet.domain.errors import NotFound
from cronfleet.domain.form import Form
from cronfleet.domain.incident import (
    PLATFORM,
    Broken,
    Incident,
    IncidentKind,
    IncidentStatus,
    Standing,
    incident_form,
    incident_id_of,
)
from cronfleet.domain.instant import Instant, ceil_second
from cronfleet.domain.notice import Edge, Notice, notice_form, notice_id_of
from cronfleet.domain.role import Role
from cronfleet.ports.alerts import PutAlert
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.errands import PutErrand
from cronfleet.ports.job_store import JobStore, NoAnswer, Page, Refused, Write
from cronfleet.services.access import Caller
from cronfleet.services.asking import ask
from cronfleet.services.changing import Answer, Changing, Draft, Once, answer_of, audit

ACKNOWLEDGE: Final = "acknowledge_incident"
"""The action, as the audit log names it."""

MAX_TURNS: Final = 8
"""How often an edge is decided anew because somebody else's write came first."""

MAX_PAGES: Final = 10
"""Pages of incidents that one answer looks through for those that are asked for."""

_ENDS: Final = {IncidentStatus.HEALED: Edge.HEALED, IncidentStatus.WITHDRAWN: Edge.WITHDRAWN}


@dataclass(frozen=True, slots=True)
class Sought:
    """Which incidents are asked for; what is `None` does not matter."""

    status: IncidentStatus | None = None
    schedule_id: str | None = None

    def takes(self, incident: Incident) -> bool:
        """Whether `incident` is one of them."""
        return self.status in (None, incident.status) and self.schedule_id in (None, incident.schedule_id)


class Incidents:
    """Both sides of incidents; `shards` is the installation's number of them."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids, shards: int) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._shards = shards
        self._changing = Changing(store, clock)

    # --- for whoever watches -------------------------------------------------------------------------------------

    def open(
        self, tenant: str, subject: str, kind: IncidentKind, broken: Broken, channels: Sequence[str] = ()
    ) -> Incident | None:
        """Open an incident and owe its notices; `None` when one of this subject and kind is open, or this very break
        (by `broken.since_at`) was told before.

        It is told to `channels`; where none are named, to the tenant's default ones. Raises `NoAnswer`.
        """

        def edge(standing: Standing) -> tuple[Incident | None, Sequence[Write]]:
            if standing.incident_id is not None:
                return None, ()
            incident_id = incident_id_of(tenant, subject, kind, broken.since_at)
            if ask(lambda: self._store.get_incident(tenant, incident_id)) is not None:
                return None, ()
            now, change_id = self._clock.now(), self._ids.unique()
            told = self._told(tenant, channels)
            incident = Incident(tenant, incident_id, subject, kind, broken, now, channels=told, change_id=change_id)
            moved = standing.moved(incident.incident_id, change_id)
            return incident, [PutAlert(moved), PutAlert(incident), *self._owed(incident, Edge.OPENED, now)]

        return self._decided(tenant, subject, kind, edge)

    def heal(
        self,
        tenant: str,
        subject: str,
        kind: IncidentKind,
        text: str,
        *,
        status: IncidentStatus = IncidentStatus.HEALED,
    ) -> Incident | None:
        """End the open incident of this subject and kind, and owe its notices; `None` when none is open.

        `status` may be `withdrawn`: nobody watches it any more. Raises `NoAnswer`.
        """

        def edge(standing: Standing) -> tuple[Incident | None, Sequence[Write]]:
            before = self._open_one(standing)
            if before is None:
                return None, ()
            now, change_id = self._clock.now(), self._ids.unique()
            after = before.ended(status, now, text, change_id)
            moved = standing.moved(None, change_id)
            return after, [PutAlert(moved), PutAlert(after), *self._owed(after, _ENDS[status], now)]

        return self._decided(tenant, subject, kind, edge)

    def widen(
        self, tenant: str, subject: str, kind: IncidentKind, change: Callable[[Broken], Broken]
    ) -> Incident | None:
        """Note more of the open incident of this subject and kind, and tell nobody; `None`: nothing was to be noted."""

        def edge(standing: Standing) -> tuple[Incident | None, Sequence[Write]]:
            before = self._open_one(standing)
            broken = None if before is None else change(before.broken)
            if before is None or broken is None or broken == before.broken:
                return None, ()
            after = before.widened(broken, self._ids.unique())
            return after, [PutAlert(after)]

        return self._decided(tenant, subject, kind, edge)

    def find_open(self, tenant: str, subject: str, kind: IncidentKind) -> Incident | None:
        """The open incident of this subject and kind. Raises `NoAnswer`."""
        return self._open_one(ask(lambda: self._store.get_standing(tenant, subject, kind)))

    def _open_one(self, standing: Standing) -> Incident | None:
        found = standing.incident_id
        return None if found is None else ask(lambda: self._store.get_incident(standing.tenant, found))

    def _decided(
        self,
        tenant: str,
        subject: str,
        kind: IncidentKind,
        edge: Callable[[Standing], tuple[Incident | None, Sequence[Write]]],
    ) -> Incident | None:
        for _ in range(MAX_TURNS):
            incident, writes = edge(ask(partial(self._store.get_standing, tenant, subject, kind)))
            if incident is None:
                return None
            try:
                ask(partial(self._store.commit, writes))
            except Refused:
                continue  # Somebody else was faster: what they did is decided upon.
            return incident
        raise NoAnswer(f"others kept moving the incident of {subject} ({kind})")

    def _told(self, tenant: str, names: Sequence[str]) -> tuple[str, ...]:
        """The channels that are told: those named which are there; where there is none of them, the default ones."""
        there = ask(lambda: self._store.list_channels(tenant))
        wanted = tuple(one.name for one in there if one.name in names)
        return wanted or tuple(one.name for one in there if one.is_default)

    def _owed(self, incident: Incident, edge: Edge, now: Instant) -> list[Write]:
        owed: list[Write] = []
        for channel in incident.channels:
            notice_id = notice_id_of(incident.incident_id, edge, channel)
            notice = Notice(incident.tenant, notice_id, edge, channel, now, incident.incident_id)
            owed += owing(notice, now, self._shards)
        return owed

    # --- for callers ---------------------------------------------------------------------------------------------

    def list(self, caller: Caller, sought: Sought, *, platform: bool, cursor: str | None, limit: int) -> Page[Form]:
        """A page of incidents, newest first; it may be short and still have a cursor."""
        owner = owner_of(caller, platform=platform)
        if sought.status is IncidentStatus.OPEN:
            return self._open_page(owner, sought, cursor, limit)
        found: list[Form] = []
        for _ in range(MAX_PAGES):
            page = answer_of(partial(self._store.list_incidents, owner, cursor=cursor, limit=limit - len(found)))
            found += [incident_form(one) for one in page.items if sought.takes(one)]
            cursor = page.cursor
            if cursor is None or len(found) >= limit:
                break
        return Page(found, cursor)

    def _open_page(self, owner: str, sought: Sought, cursor: str | None, limit: int) -> Page[Form]:
        """Open ones are found by their standings, however long ago they opened."""
        subject = "" if sought.schedule_id is None else f"schedule:{sought.schedule_id}"
        page = answer_of(lambda: self._store.list_standings(owner, subject=subject, cursor=cursor, limit=limit))
        found = [answer_of(partial(self._open_one, standing)) for standing in page.items]
        shown = [incident_form(one) for one in found if one is not None and sought.takes(one)]
        return Page(shown, page.cursor)

    def get(self, caller: Caller, incident_id: str, *, platform: bool) -> Form:
        """One incident with what became of its notices; `NotFound`."""
        incident = self._require(owner_of(caller, platform=platform), incident_id)
        edges = [Edge.OPENED, *([] if incident.is_open else [_ENDS[incident.status]])]
        ids = [notice_id_of(incident_id, edge, channel) for edge in edges for channel in incident.channels]
        notices = answer_of(lambda: self._store.list_notices(incident.tenant, ids))
        return {**incident_form(incident), "notices": [notice_form(notice) for notice in notices]}

    def acknowledge(
        self, caller: Caller, incident_id: str, note: str, *, platform: bool, once: Once | None = None
    ) -> Answer:
        """Say that somebody has seen it; `Conflict` when it is over, `NotFound`."""
        owner = owner_of(caller, platform=platform)

        def decide(now: Instant) -> Draft:
            before = self._require(owner, incident_id)
            change_id = self._ids.unique()
            after = before.seen(caller.actor, now, note, change_id)
            said = {"before": incident_form(before), "after": incident_form(after), "reason": note}
            entry = audit(caller, change_id, now, ACKNOWLEDGE, audit_subject("incident", incident_id), **said)
            return Draft([PutAlert(after), entry], Answer(incident_form(after)))

        return self._changing.change(caller, once, decide)

    def _require(self, owner: str, incident_id: str) -> Incident:
        found = answer_of(lambda: self._store.get_incident(owner, incident_id))
        if found is None:
            raise NotFound("incident", incident_id)
        return found


def owner_of(caller: Caller, *, platform: bool) -> str:
    """Whose incidents and channels are meant; `Forbidden` where the installation's are asked for by anybody else."""
    if not platform:
        return caller.tenant.tenant_id
    caller.require(Role.PLATFORM_ADMIN)
    return PLATFORM


def owing(notice: Notice, due_at: Instant, shards: int) -> list[Write]:
    """The writes by which a new notice is owed, and delivered from `due_at` on."""
    due = ceil_second(due_at)
    errand = new_errand(notice.tenant, ErrandKind.NOTICE, notice.notice_id, due, now=notice.created_at, shards=shards)
    return [PutAlert(notice), PutErrand(errand)]
