"""Claims as writes: which condition, what is set and what is removed, in neither of DynamoDB's two languages.

`claims.py` says them as UpdateItem, `claim_batches.py` as statements of PartiQL. What a claim does is said here alone,
so the two cannot come to differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.database import number, text
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.backlogs import backlog_json
from cronfleet.adapters.dynamodb.items.reasons import reason_json
from cronfleet.adapters.dynamodb.items.timers import expiry_of_retired
from cronfleet.adapters.dynamodb.records import JsonAttribute
from cronfleet.domain.claim import Claim, RunClaim, ScheduleClaim
from cronfleet.domain.instant import Instant
from cronfleet.domain.schedule import Status

_JSON: Final = JsonAttribute()

Value: TypeAlias = Mapping[str, Any]
"""A typed value."""


class Form(NamedTuple):
    """The names in a write. There are a few forms of claims, so each writer words each form once."""

    equal: tuple[str, ...]
    """What must be stored as it was read. One of them at least, so that an absent item never meets the condition."""
    absent: tuple[str, ...]
    """What must not be stored."""
    sets: tuple[str, ...]
    removes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClaimWrite:
    """A claim as a conditional write of one item; values stand in the order of the form's names."""

    partition: str
    sort: str
    form: Form
    equal: tuple[Value, ...]
    sets: tuple[Value, ...]

    @property
    def place(self) -> tuple[str, str]:
        """The key of its item."""
        return self.partition, self.sort


def write_of(batch: str, claim: Claim, now: Instant) -> ClaimWrite:
    """What `claim` does to its item under the id `batch`; `now` is only looked at for how long the item is kept."""
    return _run_write(batch, claim, now) if isinstance(claim, RunClaim) else _schedule_write(batch, claim)


def claimed_by(item: Item | None) -> str | None:
    """The batch that has the stored timer, or had it last."""
    return None if item is None else item.get("claim_batch", {}).get("S")


def _schedule_write(batch: str, claim: ScheduleClaim) -> ClaimWrite:
    equal: dict[str, Value] = {"rev": number(claim.rev), "due_at": number(claim.due_at)}
    if claim.nominal_at is not None:
        equal["nominal_at"] = number(claim.nominal_at)
    if claim.backlog_at is not None:
        # Without one no more is asked: what begins a backlog moves `nominal_at`, or raises `rev`.
        equal["backlog_at"] = number(claim.backlog_at)
    absent = ("nominal_at",) if claim.nominal_at is None else ()
    changed = {"claim_batch": text(batch), **_waiting(claim), **_next(claim), **_backlog(claim)}
    sets = {name: value for name, value in changed.items() if value is not None}
    removes = tuple(name for name, value in changed.items() if value is None)
    form = Form(tuple(equal), absent, tuple(sets), removes)
    partition = keys.schedule(claim.tenant, claim.schedule_id)
    return ClaimWrite(partition, keys.TIMER, form, tuple(equal.values()), tuple(sets.values()))


def _next(claim: ScheduleClaim) -> dict[str, Value | None]:
    """What the timer waits for next."""
    changed: dict[str, Value | None] = {}
    if claim.following is not None:
        changed["nominal_at"] = number(claim.following.nominal_at)
    elif claim.nominal_at is not None:
        changed["nominal_at"] = None
    if claim.wakes_at is not None:
        changed["due_at"] = number(claim.wakes_at)
    else:
        changed |= {"due_at": None, "due_shard": None, "tz": None}
        if not claim.is_shadow:  # A held schedule that has noted its last fire stays held: nobody has turned it on.
            changed["status"] = text(Status.COMPLETED.value)
    if claim.zone_data is not None:
        changed["tz"] = text(str(claim.zone_data))
    return changed


def _backlog(claim: ScheduleClaim) -> dict[str, Value | None]:
    if claim.backlog is not None:
        backlog = text(_JSON.serialize(backlog_json(claim.backlog)))
        return {"backlog": backlog, "backlog_at": number(claim.backlog.next_at)}
    return {} if claim.backlog_at is None else {"backlog": None, "backlog_at": None}


def _waiting(claim: ScheduleClaim) -> dict[str, Value | None]:
    """What the timer says of the place it waits for; a place without a reason is the one that it waits for already."""
    if claim.reserved_at is None:
        return {"deferred": None, "reserved_at": None}
    if claim.deferred is None:
        return {}
    reason = text(_JSON.serialize(reason_json(claim.deferred)))
    return {"deferred": reason, "reserved_at": number(claim.reserved_at)}


_RETIRE: Final = Form(("due_at",), ("claim_batch",), ("claim_batch", "expires_at"), ("due_shard",))


def _run_write(batch: str, claim: RunClaim, now: Instant) -> ClaimWrite:
    timer = claim.timer
    return ClaimWrite(
        keys.schedule(timer.key.tenant, timer.key.schedule_id),
        keys.run_timer(timer.key, timer.attempt),
        _RETIRE,
        (number(timer.due_at),),
        (text(batch), number(expiry_of_retired(max(now, timer.due_at)))),
    )
