"""Chains: the place of each audit entry of a transaction, and the heads that are moved on in the same transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number
from cronfleet.adapters.dynamodb.items.chains import head_item, head_of
from cronfleet.domain.audit import AuditEntry
from cronfleet.domain.audit_chain import Chain, Head, chain_of, linked

_SAME_END: Final = Expression("#seq = :seq")


@dataclass(frozen=True, slots=True)
class Grown:
    """The entries of a transaction in their places, and the actions that move the ends of their chains on."""

    entries: Sequence[AuditEntry]
    moves: Sequence[Mapping[str, Any]]


def grow(database: Database, entries: Sequence[AuditEntry]) -> Grown:
    """`entries` as they follow on what is stored now."""
    if not entries:
        return Grown((), ())
    before = read_heads(database, list(dict.fromkeys(map(chain_of, entries))))
    placed, after = linked(entries, before)
    return Grown(placed, [_move(database, head, before.get(chain)) for chain, head in after.items()])


def read_heads(database: Database, chains: Sequence[Chain]) -> dict[Chain, Head]:
    """The ends of `chains`, read strongly."""
    places = [(tenant, keys.head(subject)) for tenant, subject in chains]
    if len(places) == 1:
        item = database.get(schema.CHAINS, *places[0])
        items = [] if item is None else [item]
    else:
        items = list(database.batch_get(schema.CHAINS, places, consistent=True))
    return {(head.tenant, head.subject): head for head in map(head_of, items)}


def _move(database: Database, head: Head, before: Head | None) -> dict[str, Any]:
    asked = ABSENT.request() if before is None else _SAME_END.request({":seq": number(before.seq)})
    return {"Put": {"TableName": database.name(schema.CHAINS), "Item": head_item(head), **asked}}
