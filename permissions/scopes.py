"""Scopes: which part may write only some partitions of a table. The templates say so in conditions, and so does this.

A test holds both to each other (tests/integration/infra/test_roles.py), and what a part writes on moto is held to this
(tests/support/guard.py), for reading the code does not tell one partition from another.
"""

from collections.abc import Mapping
from typing import Final

from cronfleet.adapters.dynamodb import schema

SCOPES: Final[Mapping[tuple[str, str, str], frozenset[str]]] = {
    ("api", "dynamodb:PutItem", schema.SHARDS.name): frozenset({schema.UNREADABLE}),
    ("api", "dynamodb:UpdateItem", schema.SHARDS.name): frozenset({schema.SHARD_PARTITIONS}),
    ("ticker", "dynamodb:UpdateItem", schema.SHARDS.name): frozenset({schema.FIRST_SHARD}),
}
"""(part, action, table) → its partitions, as IAM's patterns."""
