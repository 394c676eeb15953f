"""Claims, one by one: each an UpdateItem on its condition, whose refusal shows what is stored."""

from functools import lru_cache

from botocore.exceptions import ClientError

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.dynamodb.claim_writes import ClaimWrite, Form, claimed_by
from cronfleet.adapters.dynamodb.database import Database, Expression
from cronfleet.adapters.dynamodb.errors import REFUSED_FOR_GOOD, ConditionFailed
from cronfleet.domain.claim import ClaimOutcome
from cronfleet.ports.job_store import NoAnswer


def claim_one(database: Database, batch: str, write: ClaimWrite) -> ClaimOutcome:
    """One claim on its own condition; see `ShardStore.claim`."""
    named = {f":{name}": value for name, value in zip(write.form.equal, write.equal, strict=True)}
    named |= {f":next_{name}": value for name, value in zip(write.form.sets, write.sets, strict=True)}
    try:
        database.update(schema.SCHEDULES, *write.place, _expression(write.form), named)
    except ConditionFailed as failed:
        # The stored item may say that this very batch won before, and only the reply was lost.
        return ClaimOutcome.WON if claimed_by(failed.item) == batch else ClaimOutcome.LOST
    except NoAnswer:
        return ClaimOutcome.UNANSWERED
    except ClientError as error:
        if error.response["Error"]["Code"] in REFUSED_FOR_GOOD:
            return ClaimOutcome.IMPOSSIBLE
        raise
    return ClaimOutcome.WON


@lru_cache(maxsize=64)
def _expression(form: Form) -> Expression:
    tests = [f"#{name} = :{name}" for name in form.equal]
    tests += [f"attribute_not_exists(#{name})" for name in form.absent]
    change = f"SET {', '.join(f'#{name} = :next_{name}' for name in form.sets)}"
    if form.removes:
        change += f" REMOVE {', '.join(f'#{name}' for name in form.removes)}"
    return Expression(" AND ".join(tests), change)
