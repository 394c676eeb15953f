"""Messages as text: `RunMessage`, `Tick` and `ErrandMessage` to JSON and back.

A message from another deployment's code must still be read, so fields are named, and what is unknown is ignored.
"""

import json
from collections.abc import Mapping
from typing import Any

import orjson

from cronfleet.domain.errand import ErrandKind, ErrandMessage, checked_id
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import EARLIEST, LATEST, SECOND
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.lease import SLOT
from cronfleet.domain.run import ROW_LIFE_DAYS, RunKey, RunMessage
from cronfleet.domain.shard import MAX_SHARDS
from cronfleet.domain.slot import SlotLease
from cronfleet.domain.tenant import ID_PATTERN, TIERS
from cronfleet.domain.trace import read_traceparent
from cronfleet.ports.queues import Tick


def encode_run(message: RunMessage) -> str:
    """A run message as compact JSON text."""
    fields: dict[str, Any] = {
        "run_id": message.key.run_id,
        "tier": message.tier,
        "attempt": message.attempt,
        "due_at": message.due_at,
        "claimed_at": message.claimed_at,
        "batch": message.batch,
        "version": message.version,
        "timeout_seconds": message.timeout_seconds,
    }
    if message.resent_at is not None:
        fields["resent_at"] = message.resent_at
    if message.kept_days != ROW_LIFE_DAYS:
        fields["kept_days"] = message.kept_days
    late = message.late
    if late is not None:
        fields["late"] = {**late.detail}
    slot = message.slot
    if slot is not None:
        fields["slot"] = [slot.number, slot.fence, slot.until]
    if message.trace is not None:
        fields["trace"] = message.trace.traceparent
    return orjson.dumps(fields).decode()


def decode_run(text: str) -> RunMessage:
    """The reverse of `encode_run`; raises `Invalid`, naming the field, for anything else."""
    fields = _object(text)
    tier = _text(fields, "tier")
    if tier not in TIERS:
        raise Invalid("tier", f"is {tier!r}; the tiers are {', '.join(TIERS)}")
    return RunMessage(
        RunKey.parse(_text(fields, "run_id")),
        tier,
        attempt=_number(fields, "attempt", 1),
        due_at=_number(fields, "due_at", EARLIEST, LATEST),
        claimed_at=_number(fields, "claimed_at", EARLIEST, LATEST),
        batch=_text(fields, "batch"),
        version=_number(fields, "version", 0),
        timeout_seconds=_number(fields, "timeout_seconds", 1),
        resent_at=_number(fields, "resent_at", EARLIEST, LATEST) if "resent_at" in fields else None,
        kept_days=_number(fields, "kept_days", 1) if "kept_days" in fields else ROW_LIFE_DAYS,
        late=_late(fields["late"]) if "late" in fields else None,
        slot=_slot(fields["slot"]) if "slot" in fields else None,
        trace=read_traceparent(fields.get("trace")),
    )


def _slot(stored: Any) -> SlotLease:
    if not isinstance(stored, list) or len(stored) != 3 or not all(type(one) is int and one > 0 for one in stored):
        raise Invalid("slot", f"is {stored!r:.80}; it must be a number, a fence and an end")
    return SlotLease(*stored)


def _late(stored: Any) -> Late:
    if not isinstance(stored, dict) or stored.get("cause") not in set(Cause):
        raise Invalid("late", f"is {stored!r:.80}; it must say what the fire was late for")
    names = ("missed_from_at", "missed_until_at", "noticed_at")
    return Late(Cause(stored["cause"]), *(_number(stored, name, EARLIEST, LATEST) for name in names))


def encode_tick(tick: Tick) -> str:
    """A tick as JSON text; its slot in epoch seconds."""
    fields = {"shard": tick.shard, "slot": tick.slot_at // SECOND}
    if tick.shards is not None:
        fields["shards"] = tick.shards
    return json.dumps(fields, separators=(",", ":"))


def decode_tick(text: str) -> Tick:
    """The reverse of `encode_tick`; raises `Invalid`, naming the field, for anything else."""
    fields = _object(text)
    shard = _number(fields, "shard", 0, MAX_SHARDS - 1)
    slot_at = _number(fields, "slot", EARLIEST, LATEST // SECOND) * SECOND
    if slot_at % SLOT:
        raise Invalid("slot", f"is {slot_at // SECOND}; slots begin at multiples of {SLOT // SECOND} s")
    return Tick(shard, slot_at, _number(fields, "shards", 1, MAX_SHARDS) if "shards" in fields else None)


def encode_errand(message: ErrandMessage) -> str:
    """An errand's message as JSON text."""
    fields = {"tenant": message.tenant, "kind": message.kind.value, "id": message.errand_id, "rev": message.rev}
    return json.dumps(fields, separators=(",", ":"))


def decode_errand(text: str) -> ErrandMessage:
    """The reverse of `encode_errand`; raises `Invalid`, naming the field, for anything else."""
    fields = _object(text)
    tenant, kind = _text(fields, "tenant"), _text(fields, "kind")
    if not ID_PATTERN.fullmatch(tenant):
        raise Invalid("tenant", f"is {tenant!r:.80}; it must be a tenant's id")
    if kind not in set(ErrandKind):
        raise Invalid("kind", f"is {kind!r:.80}; the kinds are {', '.join(ErrandKind)}")
    return ErrandMessage(tenant, ErrandKind(kind), checked_id(_text(fields, "id")), rev=_number(fields, "rev", 0))


def _object(text: str) -> Mapping[str, Any]:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Invalid("message", f"is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise Invalid("message", "is not a JSON object")
    return fields


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise Invalid(name, f"is {value!r}; it must be a string")
    return value


def _number(fields: Mapping[str, Any], name: str, least: int, most: int | None = None) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < least or (most is not None and value > most):
        raise Invalid(
            name, f"is {value!r}; it must be a whole number from {least}{'' if most is None else f' to {most}'}"
        )
    return value
