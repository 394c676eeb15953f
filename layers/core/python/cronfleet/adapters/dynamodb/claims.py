"""Claims, one by one: each a conditional update of a base item that says afterwards which batch has it."""

from functools import lru_cache
from typing import Final

from botocore.exceptions import ClientError

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import REFUSED_FOR_GOOD, ConditionFailed, Item
from cronfleet.adapters.dynamodb.items.backlogs import backlog_json
from cronfleet.adapters.dynamodb.items.reasons import reason_json
from cronfleet.adapters.dynamodb.items.timers import expiry_of_retired
from cronfleet.adapters.dynamodb.records import JsonAttribute
from cronfleet.adapters.dynamodb.transactions import place_condition
from cronfleet.domain.claim import BatchId, Claim, ClaimOutcome, RunClaim, ScheduleClaim
from cronfleet.domain.schedule import Status
from cronfleet.ports.job_store import NoAnswer

_JSON: Final = JsonAttribute()
_RETIRE: Final = Expression(
    "attribute_exists(#pk) AND #due_at = :due_at AND attribute_not_exists(#claim_batch)",
    "SET #claim_batch = :batch, #expires_at = :expires_at REMOVE #due_shard",
)


@lru_cache(maxsize=64)
def _expression(condition: str, change: str) -> Expression:
    # There are a few forms of claims, and each names its attributes by a search through its text.
    return Expression(condition, change)


def claim_one(database: Database, batch_id: BatchId, claim: Claim) -> ClaimOutcome:
    """One claim on its own condition; see `ShardStore.claim`."""
    batch = str(batch_id)
    try:
        if isinstance(claim, RunClaim):
            _claim_run(database, batch, claim)
        else:
            _claim_schedule(database, batch, claim)
    except ConditionFailed as failed:
        # The stored item may say that this very batch won before, and only the reply was lost.
        return ClaimOutcome.WON if _claimed_by(failed.item) == batch else ClaimOutcome.LOST
    except NoAnswer:
        return ClaimOutcome.UNANSWERED
    except ClientError as error:
        if error.response["Error"]["Code"] in REFUSED_FOR_GOOD:
            return ClaimOutcome.IMPOSSIBLE
        raise
    return ClaimOutcome.WON


def _claimed_by(item: Item | None) -> str | None:
    return None if item is None else item.get("claim_batch", {}).get("S")


def _claim_schedule(database: Database, batch: str, claim: ScheduleClaim) -> None:
    as_read, values = place_condition(claim.rev, claim.nominal_at, claim.backlog_at)
    condition = f"{as_read} AND #due_at = :due_at"
    named: dict[str, Item | None] = {"claim_batch": text(batch), **_waiting(claim)}
    if claim.following is not None:
        named["nominal_at"] = number(claim.following.nominal_at)
    elif claim.nominal_at is not None:
        named["nominal_at"] = None
    if claim.wakes_at is None:
        named |= {"due_at": None, "due_shard": None, "tz": None}
        if not claim.is_shadow:  # A held schedule that has noted its last fire stays held: nobody has turned it on.
            named["status"] = text(Status.COMPLETED.value)
    else:
        named["due_at"] = number(claim.wakes_at)
    if claim.backlog is not None:
        named["backlog"] = text(_JSON.serialize(backlog_json(claim.backlog)))
        named["backlog_at"] = number(claim.backlog.next_at)
    elif claim.backlog_at is not None:
        named |= {"backlog": None, "backlog_at": None}
    if claim.zone_data is not None:
        named["tz"] = text(str(claim.zone_data))
    sets = {name: value for name, value in named.items() if value is not None}
    removed = ", ".join(f"#{name}" for name in named if name not in sets)
    change = f"SET {', '.join(f'#{name} = :next_{name}' for name in sets)}"
    change += f" REMOVE {removed}" if removed else ""
    values = {**values, ":due_at": number(claim.due_at), **{f":next_{name}": value for name, value in sets.items()}}
    place = keys.schedule(claim.tenant, claim.schedule_id), keys.TIMER
    database.update(schema.SCHEDULES, *place, _expression(condition, change), values)


def _waiting(claim: ScheduleClaim) -> dict[str, Item | None]:
    """What the timer says of the place it waits for; a place without a reason is the one that it waits for already."""
    if claim.reserved_at is None:
        return {"deferred": None, "reserved_at": None}
    if claim.deferred is None:
        return {}
    reason = text(_JSON.serialize(reason_json(claim.deferred)))
    return {"deferred": reason, "reserved_at": number(claim.reserved_at)}


def _claim_run(database: Database, batch: str, claim: RunClaim) -> None:
    timer = claim.timer
    values = {
        ":batch": text(batch),
        ":due_at": number(timer.due_at),
        ":expires_at": number(expiry_of_retired(max(database.clock.now(), timer.due_at))),
    }
    partition = keys.schedule(timer.key.tenant, timer.key.schedule_id)
    database.update(schema.SCHEDULES, partition, keys.run_timer(timer.key, timer.attempt), _RETIRE, values)
