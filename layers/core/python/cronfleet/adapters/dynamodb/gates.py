"""`GateStore` on DynamoDB: a schedule's gate in its partition of `schedules`, a key's in the tenant's of `slots`."""

from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.breakers import breaker_of, parts_of_breaker
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import ConditionFailed, Item
from cronfleet.adapters.dynamodb.items.timers import run_timer_item, run_timer_of
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.records import GateRecord
from cronfleet.domain.breaker import Breaker
from cronfleet.domain.claim import RunTimer
from cronfleet.domain.gate import Gate, GateName, Waiting
from cronfleet.domain.instant import DAY, SECOND, Instant
from cronfleet.domain.run import RunKey
from cronfleet.ports.breakers import PutBreaker
from cronfleet.ports.gates import GuardWrite, PutGate

KEPT: Final = 30 * DAY
"""How long the gate of a key is kept after its latest write: its runs are long over."""

_WAKE: Final = Expression("attribute_not_exists(#claim_batch) AND #due_at > :due_at", "SET #due_at = :due_at")

_STILL_WAITS: Final = Expression("attribute_not_exists(#claim_batch) AND #due_at = :due_at")
_STILL_CLAIMED: Final = Expression("#claim_batch = :claim_batch")


class DynamoGates:
    """Gates with their lines."""

    _database: Database

    def get_gate(self, name: GateName) -> Gate:
        item = self._database.get(*_place(name))
        return Gate(name) if item is None else _gate_of(name, item)

    def put_gate(self, gate: Gate, before: Gate) -> bool:
        try:
            item = _gate_item(gate, self._database.clock.now())
            self._database.put(_place(gate.name)[0], item, *_same(before))
        except ConditionFailed as failed:
            return failed.item is not None and _gate_of(gate.name, failed.item) == gate
        return True

    def get_run_timer(self, key: RunKey, attempt: int) -> RunTimer | None:
        place = (keys.schedule(key.tenant, key.schedule_id), keys.run_timer(key, attempt))
        item = self._database.get(schema.SCHEDULES, *place)
        return None if item is None or "claim_batch" in item else run_timer_of(item)

    def wake_run(self, key: RunKey, attempt: int, due_at: Instant) -> bool:
        place = (keys.schedule(key.tenant, key.schedule_id), keys.run_timer(key, attempt))
        try:
            self._database.update(schema.SCHEDULES, *place, _WAKE, {":due_at": number(due_at)})
        except ConditionFailed:
            return False
        return True


def parts_of_gates(write: GuardWrite, now: Instant) -> tuple[schema.Table, Item, Expression, Item | None]:
    """The table, item and condition of a write."""
    if isinstance(write, PutBreaker):
        return parts_of_breaker(write)
    if isinstance(write, PutGate):
        return _place(write.gate.name)[0], _gate_item(write.gate, now), *_same(write.before)
    if write.before.claim_batch is not None:
        claimed = {":claim_batch": text(write.before.claim_batch)}
        return schema.SCHEDULES, run_timer_item(write.timer), _STILL_CLAIMED, claimed
    return schema.SCHEDULES, run_timer_item(write.timer), _STILL_WAITS, {":due_at": number(write.before.due_at)}


def read_of_gates(write: GuardWrite, item: Item) -> Gate | RunTimer | Breaker:
    """What stands where `write` is to write."""
    if isinstance(write, PutBreaker):
        return breaker_of(item)
    return _gate_of(write.gate.name, item) if isinstance(write, PutGate) else run_timer_of(item)


def _place(name: GateName) -> tuple[schema.Table, str, str]:
    if name.key:
        return schema.SLOTS, name.tenant, keys.group_gate(name.key)
    return schema.SCHEDULES, keys.schedule(name.tenant, name.schedule_id), keys.GATE


def _same(before: Gate) -> tuple[Expression, Item | None]:
    """The condition that a gate is as it was read. Plain gates have no `rev`; what is done to one moves the rest."""
    if not before.holder:
        return ABSENT, None
    conditions, values = ["#holder = :holder"], {":holder": text(before.holder)}
    for name, value in (("ended_at", before.ended_at), ("rev", before.rev or None)):
        conditions.append(f"attribute_not_exists(#{name})" if value is None else f"#{name} = :{name}")
        values |= {} if value is None else {f":{name}": number(value)}
    return Expression(" AND ".join(conditions)), values


def _gate_item(gate: Gate, now: Instant) -> Item:
    _, partition, sort = _place(gate.name)
    return written(
        GateRecord,
        partition,
        sort,
        holder=gate.holder,
        ended_at=gate.ended_at,
        line=[[one.run_id, one.attempt] for one in gate.line] or None,
        rev=gate.rev or None,
        expires_at=(now + KEPT) // SECOND if gate.name.key else None,
    )


def _gate_of(name: GateName, item: Item) -> Gate:
    record = read(GateRecord, item)
    try:
        line = tuple(Waiting(str(run_id), int(attempt)) for run_id, attempt in record.line or ())
    except (ValueError, TypeError) as error:
        raise damaged(item, error) from error
    return Gate(name, record.holder, record.ended_at, line, record.rev or 0)
