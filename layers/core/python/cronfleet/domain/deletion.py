"""Deletion: a stored job that removes all that a tenant owns, page by page, and says at the end what it was.

What a page holds is noted before it is removed, so that a crash between the two loses no count: whoever goes on removes
the noted page again, which changes nothing where it is gone, and only then counts it. The sweeper carries the job on.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from cronfleet.domain.form import Form
from cronfleet.domain.instant import SECOND, Instant, to_text

SETTLES_AFTER: Final = 90 * SECOND
"""After this nothing that was under way when the tenant's schedules went can still write for it: a dispatcher's tick
lasts a minute at most, and so do a request to the API and what a process knows of a tenant together, half of one each.
"""

MAX_PAGE: Final = 200
"""Things that are removed between two notes."""


class Stage(StrEnum):
    """What is being removed, in this order."""

    KEYS = "keys"
    """Its API keys: they are refused from the request on, and gone first."""
    SCHEDULES = "schedules"
    """Every schedule that its audit log names, deleted ones too, with all that is its own."""
    LISTED = "listed_schedules"
    """Every schedule that the index lists, should the log not name it."""
    AGAIN = "schedules_again"
    """The first once more, when all that was under way has come to its end."""
    CALENDARS = "calendars"
    JOBS = "jobs"
    """Its errands, operations and alerts, and jobs that looked at its schedules again."""
    COUNTS = "counts"
    """Slots, counters, lines of rates, remembered answers, the list of its freezes."""
    AUDIT = "audit"
    """Its audit log, last: it names what there was."""


class Kind(StrEnum):
    """What can be removed, as the certificate counts it."""

    API_KEYS = "api_keys"
    KEY_LISTINGS = "key_listings"
    """Where the tenant's list of keys names them."""
    SCHEDULES = "schedules"
    VERSIONS = "versions"
    DEPENDANTS = "dependants"
    """The list of the schedules that run after one."""
    GATES = "gates"
    RUN_TIMERS = "run_timers"
    RUNS = "runs"
    RECEIPTS = "receipts"
    ATTEMPT_LOGS = "attempt_logs"
    HEARTBEATS = "heartbeats"
    PINGS = "pings"
    CALENDARS = "calendars"
    CALENDAR_VERSIONS = "calendar_versions"
    RETIMINGS = "retimings"
    ERRANDS = "errands"
    OPERATIONS = "operations"
    ALERTS = "alerts"
    """Incidents, channels, notices, watches."""
    BREAKERS = "breakers"
    SLOTS = "slots"
    COUNTERS = "counters"
    LINES = "lines"
    ANSWERS = "remembered_answers"
    FREEZE_LISTS = "freeze_lists"
    AUDIT_ENTRIES = "audit_entries"
    AUDIT_CHAINS = "audit_chains"
    """What ties the entries together: heads and seals."""


@dataclass(frozen=True, slots=True)
class Owned:
    """A stored thing of a tenant: what it is, and its place in the words of the store."""

    kind: Kind
    place: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """Who asked for the deletion, with which credential, and why; `home_tenant` is where the certificate is filed."""

    actor: str
    credential: str
    home_tenant: str
    request_id: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Deletion:
    """One job. `cursor` names where the stage goes on; `pending` is what is being removed and not counted yet.

    `digest` runs over every place that was removed, in their order. `stage_since` is when the stage began. `rev` rises
    with every write.
    """

    tenant: str
    request: Request
    started_at: Instant
    stage: Stage = Stage.KEYS
    stage_since: Instant = 0
    cursor: str | None = None
    pending: tuple[Owned, ...] = ()
    removed: Mapping[str, int] = field(default_factory=dict)
    digest: str = ""
    finished_at: Instant | None = None
    rev: int = 1

    @property
    def is_open(self) -> bool:
        """Whether there is something left to remove."""
        return self.finished_at is None

    def waits_until(self) -> Instant:
        """When its stage may begin; only the second look at the schedules waits."""
        return self.stage_since + SETTLES_AFTER if self.stage is Stage.AGAIN else self.stage_since

    def counted(self) -> "Deletion":
        """The job once its pending page is removed."""
        if not self.pending:
            return self
        removed = Counter(self.removed) + Counter(owned.kind.value for owned in self.pending)
        return replace(self, removed=dict(removed), pending=())

    def announcing(self, page: Iterable[Owned]) -> "Deletion":
        """The job about to remove `page`, the one before being counted."""
        pending = tuple(page)
        return replace(self.counted(), pending=pending, digest=_rolled(self.digest, pending), rev=self.rev + 1)

    def on_to(self, cursor: str) -> "Deletion":
        """The job, going on from `cursor`: nothing is left before it. Not a write of its own."""
        return replace(self, cursor=cursor)

    def in_next_stage(self, now: Instant) -> "Deletion":
        """The job with the next stage begun; raises `ValueError` after the last."""
        stages = list(Stage)
        following = stages[stages.index(self.stage) + 1]
        return replace(self.counted(), stage=following, stage_since=now, cursor=None, rev=self.rev + 1)

    @property
    def is_in_last_stage(self) -> bool:
        """Whether no stage follows."""
        return self.stage is list(Stage)[-1]

    def ended(self, now: Instant) -> "Deletion":
        """The job, over; what stays of the tenant is this and its tombstone."""
        return replace(self.counted(), cursor=None, finished_at=now, rev=self.rev + 1)


def _rolled(digest: str, page: Iterable[Owned]) -> str:
    """`digest` after the places of `page`."""
    rolled = hashlib.sha256(digest.encode())
    for owned in page:
        rolled.update(f"\n{owned.kind.value} {' '.join(owned.place)}".encode())
    return rolled.hexdigest()


EXPIRING: Final = (
    "lines of the dispatch log and messages in queues hold the tenant's and schedules' ids, no payload, and expire by "
    "themselves within 30 days; the installation's own incidents that name its schedules, 90 days after they ended; "
    "function logs and backups by their own retention"
)
"""What a deletion cannot reach, said in every certificate."""


def certificate(job: Deletion) -> Form:
    """What was removed, for whom, from when to when; `digest` is the SHA-256 of the rest as compact JSON, names sorted.

    Raises `ValueError` for a job that is not over.
    """
    if job.finished_at is None:
        raise ValueError(f"the deletion of {job.tenant} is not over")
    said: Form = {
        "tenant": job.tenant,
        "requested_by": job.request.actor,
        "credential": job.request.credential,
        "home_tenant": job.request.home_tenant,
        "request_id": job.request.request_id,
        "reason": job.request.reason,
        "requested_at": to_text(job.started_at // SECOND * SECOND),
        "finished_at": to_text(job.finished_at // SECOND * SECOND),
        "removed": dict(sorted(job.removed.items())),
        "places_digest": job.digest,
        "expiring": EXPIRING,
    }
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return {**said, "digest": hashlib.sha256(text.encode()).hexdigest()}


def deletion_form(job: Deletion) -> Form:
    """How far a deletion is, and its certificate once it is over."""
    return {
        "tenant": job.tenant,
        "status": "deleting" if job.is_open else "deleted",
        "stage": job.stage.value if job.is_open else None,
        "requested_by": job.request.actor,
        "requested_at": to_text(job.started_at),
        "reason": job.request.reason,
        "removed": dict(sorted(job.counted().removed.items())) if job.is_open else dict(sorted(job.removed.items())),
        "finished_at": None if job.finished_at is None else to_text(job.finished_at),
        "certificate": None if job.is_open else certificate(job),
    }
