"""Errands: what must happen at a time and is neither a schedule's fire nor a run's attempt.

An errand waits in the due index as timers do. The dispatcher takes one that is due by a lease and sends it; the clerk
carries it on, and says when it is due next. Whatever dies on the way, it comes again when its lease is over.
"""

import hashlib
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import MINUTE, SECOND, Instant

ERRAND_LEASE: Final = 2 * MINUTE
"""After this an errand that was taken is due again, unless the clerk has said otherwise."""

ERRAND_MARGIN: Final = 10 * SECOND
"""So long before its lease ends the clerk stops carrying it on: what it says then still counts."""

LEAST_WORK: Final = 5 * SECOND
"""With less time than this left of its lease an errand is not begun: it comes again in a moment."""

FIRST_BACKOFF: Final = MINUTE
LONGEST_BACKOFF: Final = 60 * MINUTE
"""An errand that fails again and again waits twice as long each time, up to this. It is never given up."""

MAX_FAILURES: Final = 1_000
"""Failures in a row that are counted."""

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:-]{0,239}")


class ErrandKind(StrEnum):
    """What is to be done."""

    OPERATION = "operation"
    """The next page of a backfill, a re-run or a redrive."""
    WATCH = "watch"
    """A look at what is expected of one schedule; the errand's id is that of the schedule."""
    NOTICE = "notice"
    """The delivery of one alert."""
    EXECUTION = "execution"
    """A look at what goes on elsewhere for a run; the errand's id is the run's."""


@dataclass(frozen=True, slots=True)
class Errand:
    """At most one of each (tenant, kind, errand_id). `rev` rises with every write, and is never drawn twice.

    `failures` says how often in a row it could not be carried on.
    """

    tenant: str
    kind: ErrandKind
    errand_id: str
    shard: int
    due_at: Instant
    rev: int
    failures: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it the same errand."""
        return self.tenant, self.kind.value, self.errand_id

    def is_at(self, other: "Errand") -> bool:
        """Whether both are due at the same time under the same `rev`."""
        return (self.rev, self.due_at) == (other.rev, other.due_at)

    def moved(self, due_at: Instant, failures: int | None = None) -> "Errand":
        """This errand, due at another time; with `failures` it has failed so often by now."""
        counted = self.failures if failures is None else min(failures, MAX_FAILURES)
        return replace(self, due_at=due_at, failures=counted, rev=self.rev + 1)


@dataclass(frozen=True, slots=True)
class ErrandMessage:
    """What travels through the errand queue: an errand, as it was taken under `rev`."""

    tenant: str
    kind: ErrandKind
    errand_id: str
    rev: int


def new_errand(tenant: str, kind: ErrandKind, errand_id: str, due_at: Instant, *, now: Instant, shards: int) -> Errand:
    """An errand where none is, in one of the installation's `shards`. Raises `Invalid` for an id that is no key.

    Its first `rev` is the time: one that is made again after it was retired has none of the revs it had before, so
    that a stale message means nothing to it.
    """
    return Errand(tenant, kind, checked_id(errand_id), errand_shard(tenant, kind, errand_id, shards), due_at, rev=now)


def checked_id(errand_id: str) -> str:
    """`errand_id`, if it is one; raises `Invalid`."""
    if not _ID.fullmatch(errand_id):
        raise Invalid("errand_id", f"is {errand_id!r:.80}; write up to 240 letters, digits and . _ ~ : -")
    return errand_id


def errand_shard(tenant: str, kind: ErrandKind, errand_id: str, shards: int) -> int:
    """The shard, in 0..shards-1, whose dispatcher wakes the errand."""
    digest = hashlib.blake2b(f"{tenant}#{kind.value}#{errand_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % shards


def backoff(failures: int) -> int:
    """How long an errand waits that has failed so often in a row."""
    return min(FIRST_BACKOFF << min(max(failures, 1) - 1, 16), LONGEST_BACKOFF)
