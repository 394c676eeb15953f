"""Freezes: a label, a tenant or a tier in which nothing starts, whoever's schedules they are, until it is thawed.

One write begins it, however many schedules it holds; each schedule's own pause is untouched. Readers hold what is
frozen for at most `HELD`, and whoever freezes or thaws waits `OBEYED_AFTER` before saying that it is done: by then
everybody obeys. Not to be confused with the dates that a calendar takes away (`domain/calendar.py`).
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final, TypeAlias

from cronfleet.domain.errors import Conflict
from cronfleet.domain.instant import DAY, MINUTE, SECOND, Instant, ceil_second

HELD: Final = SECOND
"""How long a process goes by what it has read of the freezes."""

OBEYED_AFTER: Final = 2 * SECOND
"""After this everybody has read a freeze that was written, or its end."""

MAX_FREEZES: Final = 20
"""Freezes in force of one tenant, and as many of tiers; an ended one makes room."""

KEPT_ENDED: Final = DAY
"""How long a freeze that has ended is kept: what it held back is noted by then, and explained by the ledger."""

MAX_KEPT_ENDED: Final = 20
"""Of those the latest to end."""

MAX_ENDS: Final = 40
"""Ends that are remembered of a bucket of tenants, the soonest and those that have just come."""

JUST_ENDED: Final = 2 * MINUTE
"""How long an end is remembered there: longer than what it has put off may wait."""

BUCKETS: Final = 1_024
"""Tenants are marked as frozen by so many buckets: the directory stays small however many there are."""

HASH_CHARACTERS: Final = 6
"""Of a label's hash: 36 bits. Of a tenant's 100,000 other labels one is taken for a frozen one in 700,000 freezes."""


@dataclass(frozen=True, slots=True)
class TierScope:
    """Every schedule of every tenant of a tier."""

    tier: str


@dataclass(frozen=True, slots=True)
class TenantScope:
    """Every schedule of a tenant."""

    tenant: str


@dataclass(frozen=True, slots=True)
class LabelScope:
    """A tenant's schedules that have all of `labels` (name and value, sorted)."""

    tenant: str
    labels: tuple[tuple[str, str], ...]

    @property
    def hashes(self) -> tuple[str, ...]:
        """The labels as timers hold them."""
        return label_hashes(dict(self.labels))


Scope: TypeAlias = TierScope | TenantScope | LabelScope


def label_hashes(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Labels as timers hold them: a short hash of each, sorted."""
    return tuple(sorted(_hash(name, value) for name, value in labels.items()))


def _hash(name: str, value: str) -> str:
    digest = blake2b(f"{name}\0{value}".encode(), digest_size=HASH_CHARACTERS).digest()
    return urlsafe_b64encode(digest).decode()[:HASH_CHARACTERS]


@dataclass(frozen=True, slots=True)
class Thaw:
    """Who ended a freeze before its time, when and why."""

    by: str
    at: Instant
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Freeze:
    """Nothing in `scope` starts from `at` until `until` (`None`: until it is thawed): who said so, and why.

    One that `suspends` its tenant is ended by the tenant's resumption alone.
    """

    freeze_id: str
    scope: Scope
    by: str
    at: Instant
    reason: str = ""
    until: Instant | None = None
    suspends: bool = False
    thawed: Thaw | None = None

    def covers(self, at: Instant) -> bool:
        """Whether it is in force at that time."""
        return self.at <= at and (self.until is None or at < self.until)

    def has_ended(self, now: Instant) -> bool:
        """Whether its end has come."""
        return self.until is not None and self.until <= now

    def holds(self, labels: Sequence[str] | None) -> bool:
        """Whether it holds a schedule of its tenant or tier with these hashes; unknown (`None`), no label's does."""
        if not isinstance(self.scope, LabelScope):
            return True
        return labels is not None and set(self.scope.hashes).issubset(labels)

    def thawed_at(self, until: Instant, thaw: Thaw) -> "Freeze":
        """The same, ended at `until` by `thaw`, unless it has an earlier end."""
        end = until if self.until is None else min(self.until, until)
        return replace(self, until=end, thawed=thaw)

    def thawed_by(self, thaw: Thaw) -> "Freeze":
        """The same, ended by `thaw` a moment ahead: everybody knows the end when it comes, and notes nothing later."""
        return self.thawed_at(ceil_second(thaw.at + OBEYED_AFTER), thaw)


@dataclass(frozen=True, slots=True)
class FreezeList:
    """A tenant's freezes, oldest first. `rev` rises with each write; 0 before the first."""

    tenant: str
    freezes: tuple[Freeze, ...] = ()
    rev: int = 0
    change_id: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """Of the tenants in one bucket: how many have a freeze without an end, and when the last of the others ends.

    `ends` has each end that is still to come, or has just come; one that was moved since may be among them.
    """

    open: int = 0
    last_until: Instant = 0
    ends: tuple[Instant, ...] = ()

    def matters(self, now: Instant) -> bool:
        """Whether a tenant in the bucket may have a freeze that is in force, or has lately ended."""
        return self.open > 0 or now < self.last_until + KEPT_ENDED


@dataclass(frozen=True, slots=True)
class FreezeDirectory:
    """The freezes of tiers, and a mark for each bucket of tenants some of which have freezes of their own.

    The one small item that everybody reads. `rev` rises with each write; 0 before the first.
    """

    tiers: tuple[Freeze, ...] = ()
    marks: Mapping[int, Mark] = field(default_factory=dict)
    rev: int = 0
    change_id: str = ""

    def ends(self) -> Iterator[Instant]:
        """When freezes end, or have lately ended."""
        yield from (freeze.until for freeze in self.tiers if freeze.until is not None)
        for mark in self.marks.values():
            yield mark.last_until
            yield from mark.ends

    def holds_a_tier(self, now: Instant) -> bool:
        """Whether any tier is frozen."""
        return any(not freeze.has_ended(now) for freeze in self.tiers)

    def may_hold(self, tenant: str, now: Instant) -> bool:
        """Whether `tenant` may have freezes: its list has to be read."""
        mark = self.marks.get(bucket_of(tenant))
        return mark is not None and mark.matters(now)


def bucket_of(tenant: str) -> int:
    """The bucket by which a tenant is marked."""
    return int.from_bytes(blake2b(tenant.encode(), digest_size=4).digest()) % BUCKETS


@dataclass(frozen=True, slots=True)
class Freezes:
    """What a reader knows: the freezes of tiers, and of those tenants that it asked for."""

    tiers: tuple[Freeze, ...] = ()
    by_tenant: Mapping[str, tuple[Freeze, ...]] = field(default_factory=dict)

    def over(self, tenant: str, tier: str, labels: Sequence[str] | None, at: Instant) -> Freeze | None:
        """The freeze that holds a schedule at that time; of several the one that lasts longest."""
        return lasting(freeze for freeze in self.of(tenant, tier, labels) if freeze.covers(at))

    def of(self, tenant: str, tier: str, labels: Sequence[str] | None) -> tuple[Freeze, ...]:
        """Every known freeze of a schedule, ended ones too."""
        own = (freeze for freeze in self.by_tenant.get(tenant, ()) if freeze.holds(labels))
        return (*(freeze for freeze in self.tiers if freeze.scope == TierScope(tier)), *own)

    def asks_for_labels(self, tenant: str) -> bool:
        """Whether one of the tenant's freezes goes by labels."""
        return any(isinstance(freeze.scope, LabelScope) for freeze in self.by_tenant.get(tenant, ()))


def lasting(freezes: Iterable[Freeze]) -> Freeze | None:
    """The one that lasts longest, the oldest of several without an end."""
    found = list(freezes)
    endless = [freeze for freeze in found if freeze.until is None]
    if endless:
        return min(endless, key=lambda freeze: freeze.at)
    return max(found, key=lambda freeze: freeze.until or 0, default=None)


# --- changes of what is stored ---------------------------------------------------------------------------------


def with_freeze(
    kept: FreezeList, directory: FreezeDirectory, freeze: Freeze, *, now: Instant, change_id: str
) -> tuple[FreezeList, FreezeDirectory]:
    """The tenant's list with `freeze` added, or in place of that of its id, and the directory that goes with it.

    `Conflict` when too many are in force; one that suspends its tenant is always taken.
    """
    freezes = _put(kept.freezes, freeze, now)
    after = FreezeList(kept.tenant, freezes, kept.rev + 1, change_id)
    marks = {bucket: mark for bucket, mark in directory.marks.items() if mark.matters(now)}
    mark = _moved(marks.get(bucket_of(kept.tenant), Mark()), kept.freezes, freezes, now)
    if mark.matters(now):
        marks[bucket_of(kept.tenant)] = mark
    return after, replace(directory, marks=marks, rev=directory.rev + 1, change_id=change_id)


def with_tier_freeze(directory: FreezeDirectory, freeze: Freeze, *, now: Instant, change_id: str) -> FreezeDirectory:
    """The directory with a tier's `freeze` added, or in place of that of its id; `Conflict` when there are too many."""
    tiers = _put(directory.tiers, freeze, now)
    return replace(directory, tiers=tiers, rev=directory.rev + 1, change_id=change_id)


def _put(freezes: Sequence[Freeze], freeze: Freeze, now: Instant) -> tuple[Freeze, ...]:
    others = [one for one in freezes if one.freeze_id != freeze.freeze_id]
    in_force = [one for one in others if not one.has_ended(now)]
    is_new = len(others) == len(freezes)
    if is_new and not freeze.suspends and len(in_force) >= MAX_FREEZES:
        raise Conflict(f"{MAX_FREEZES} freezes are in force, which is as many as there may be; thaw one of them first")
    ended = [one for one in others if one.has_ended(now) and now < (one.until or 0) + KEPT_ENDED]
    kept = sorted(ended, key=lambda one: one.until or 0)[-MAX_KEPT_ENDED:]
    return tuple(sorted((*kept, *in_force, freeze), key=lambda one: (one.at, one.freeze_id)))


def _moved(mark: Mark, before: Sequence[Freeze], after: Sequence[Freeze], now: Instant) -> Mark:
    """The bucket's mark after a tenant's freezes changed."""
    is_open = _is_open(after) - _is_open(before)
    own = {freeze.until for freeze in after if freeze.until is not None}
    # An end that was moved stays: another tenant may have the same, and one too many costs a longer look, no more.
    ends = sorted(end for end in {*mark.ends, *own} if now < end + JUST_ENDED)
    return Mark(mark.open + is_open, max([mark.last_until, *own]), tuple(ends[:MAX_ENDS]))


def _is_open(freezes: Sequence[Freeze]) -> bool:
    return any(freeze.until is None for freeze in freezes)
