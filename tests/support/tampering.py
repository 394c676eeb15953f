"""Whoever can write the tables: alters, takes out, swaps and adds what no service would."""

from dataclasses import replace
from typing import Any

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.items.audit import audit_item, audit_of
from cronfleet.adapters.dynamodb.items.chains import head_item, head_of
from cronfleet.domain.audit import AuditEntry
from cronfleet.domain.audit_chain import Head
from tests.support.stores import Engine


class Tampering:
    """Behind the back of a store, whichever engine it is on; all of one tenant."""

    def __init__(self, engine: Engine, tenant: str) -> None:
        self._engine = engine
        self._tenant = tenant
        self._is_memory = engine.client is None

    @property
    def _state(self) -> Any:
        return self._engine.store.state

    def get(self, entry_id: str) -> AuditEntry:
        if self._is_memory:
            return self._state.audit[self._tenant, entry_id]
        return audit_of(self._item(schema.AUDIT, entry_id))

    def put(self, entry: AuditEntry) -> None:
        if self._is_memory:
            self._state.audit[self._tenant, entry.entry_id] = entry
        else:
            self._put(schema.AUDIT, audit_item(entry))

    def alter(self, entry_id: str, **changes: Any) -> None:
        self.put(replace(self.get(entry_id), **changes))

    def take_out(self, entry_id: str) -> None:
        if self._is_memory:
            del self._state.audit[self._tenant, entry_id]
        else:
            self._delete(schema.AUDIT, entry_id)

    def swap(self, one: str, other: str) -> None:
        """What each says stands under the other's id."""
        first, second = self.get(one), self.get(other)
        self.put(replace(second, entry_id=one))
        self.put(replace(first, entry_id=other))

    def head(self, subject: str) -> Head:
        if self._is_memory:
            return self._state.audit_heads[self._tenant, subject]
        return head_of(self._item(schema.CHAINS, keys.head(subject)))

    def put_head(self, head: Head) -> None:
        if self._is_memory:
            self._state.audit_heads[self._tenant, head.subject] = head
        else:
            self._put(schema.CHAINS, head_item(head))

    def take_out_head(self, subject: str) -> None:
        if self._is_memory:
            del self._state.audit_heads[self._tenant, subject]
        else:
            self._delete(schema.CHAINS, keys.head(subject))

    def take_out_seal(self, number: int) -> None:
        if self._is_memory:
            seals = self._state.seals[self._tenant]
            seals.remove(next(seal for seal in seals if seal.number == number))
        else:
            self._delete(schema.CHAINS, keys.seal(number))

    def _table(self, table: schema.Table) -> str:
        return f"{self._engine.prefix}-{table.name}"

    def _item(self, table: schema.Table, sort: str) -> Any:
        key = {"pk": {"S": self._tenant}, "sk": {"S": sort}}
        return self._engine.client.get_item(TableName=self._table(table), Key=key, ConsistentRead=True)["Item"]

    def _put(self, table: schema.Table, item: Any) -> None:
        self._engine.client.put_item(TableName=self._table(table), Item=item)

    def _delete(self, table: schema.Table, sort: str) -> None:
        key = {"pk": {"S": self._tenant}, "sk": {"S": sort}}
        self._engine.client.delete_item(TableName=self._table(table), Key=key)
