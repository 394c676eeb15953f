"""When an operation is carried on next: its errand, put with the change that makes there be something to do."""

from cronfleet.domain.errand import ErrandKind, new_errand
from cronfleet.domain.instant import Instant
from cronfleet.domain.operation import Operation
from cronfleet.ports.errands import PutErrand
from cronfleet.ports.job_store import JobStore
from cronfleet.services.changing import answer_of


def woken(store: JobStore, operation: Operation, now: Instant, shards: int) -> PutErrand:
    """The write that has the operation carried on at once."""
    tenant, errand_id = operation.tenant, operation.operation_id
    before = answer_of(lambda: store.get_errand(tenant, ErrandKind.OPERATION, errand_id))
    if before is not None:
        return PutErrand(before.moved(now), before)
    return PutErrand(new_errand(tenant, ErrandKind.OPERATION, errand_id, now, now=now, shards=shards))
