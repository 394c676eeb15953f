"""Claims, one by one: each a conditional update of a base item that says afterwards which batch has it."""

from typing import Final

from botocore.exceptions import ClientError

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import REFUSED_FOR_GOOD, ConditionFailed, Item
from cronfleet.adapters.dynamodb.items.timers import expiry_of_retired
from cronfleet.domain.claim import BatchId, Claim, ClaimOutcome, RunClaim, ScheduleClaim
from cronfleet.domain.schedule import Status
from cronfleet.ports.job_store import NoAnswer

_AS_READ: Final = "#rev = :rev AND #nominal_at = :nominal_at AND #due_at = :due_at"
_ADVANCE: Final = Expression(
    _AS_READ,
    "SET #claim_batch = :batch, #nominal_at = :next_nominal_at, #due_at = :next_due_at REMOVE #deferred",
)
_ADVANCE_IN_ZONE: Final = Expression(
    _AS_READ,
    "SET #claim_batch = :batch, #nominal_at = :next_nominal_at, #due_at = :next_due_at, #tz = :tz REMOVE #deferred",
)
_COMPLETE: Final = Expression(
    _AS_READ,
    "SET #claim_batch = :batch, #status = :completed REMOVE #nominal_at, #due_at, #due_shard, #deferred, #tz",
)
_EXHAUST: Final = Expression(_AS_READ, "SET #claim_batch = :batch REMOVE #nominal_at, #due_at, #due_shard, #tz")
"""A held schedule that has noted its last fire stays held: nobody has turned it on."""
_RETIRE: Final = Expression(
    "attribute_exists(#pk) AND #due_at = :due_at AND attribute_not_exists(#claim_batch)",
    "SET #claim_batch = :batch, #expires_at = :expires_at REMOVE #due_shard",
)


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
    values = {
        ":batch": text(batch),
        ":rev": number(claim.rev),
        ":nominal_at": number(claim.nominal_at),
        ":due_at": number(claim.due_at),
    }
    following = claim.following
    if following is None and claim.is_shadow:
        expression = _EXHAUST
    elif following is None:
        expression = _COMPLETE
        values[":completed"] = text(Status.COMPLETED.value)
    else:
        expression = _ADVANCE if claim.zone_data is None else _ADVANCE_IN_ZONE
        if claim.zone_data is not None:
            values[":tz"] = text(str(claim.zone_data))
        values[":next_nominal_at"] = number(following.nominal_at)
        values[":next_due_at"] = number(following.due_at)
    database.update(schema.SCHEDULES, keys.schedule(claim.tenant, claim.schedule_id), keys.TIMER, expression, values)


def _claim_run(database: Database, batch: str, claim: RunClaim) -> None:
    timer = claim.timer
    values = {
        ":batch": text(batch),
        ":due_at": number(timer.due_at),
        ":expires_at": number(expiry_of_retired(max(database.clock.now(), timer.due_at))),
    }
    partition = keys.schedule(timer.key.tenant, timer.key.schedule_id)
    database.update(schema.SCHEDULES, partition, keys.run_timer(timer.key, timer.attempt), _RETIRE, values)
