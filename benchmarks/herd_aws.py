"""An AWS that holds a herd (`benchmarks.herd`) and nothing else, as bodies of answers (`benchmarks.canned`).

Claims win, the queue takes every message, tenants have quotas that do not hold the herd back.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.herd import due_items, herd
from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.dynamodb.items.tenants import tenant_item
from cronfleet.domain.lease import slot_of
from cronfleet.domain.tenant import Tenant
from cronfleet.services.look_ahead import PAGE_ITEMS
from tests.support.settable_clock import NOON

PREFIX: Final = "herd"
_QUOTAS: Final = (("burst", 100_000), ("fires_per_second", 10_000))
_CHANGED: Final = (
    b'{"Attributes":{"pk":{"S":"SHARD#0"},"sk":{"S":"LEASE"},"owner":{"S":"OWNER"},"fence":{"N":"1"},'
    b'"until":{"N":"1"},"slot_at":{"N":"%d"},"at":{"N":"1"}}}'
) % slot_of(NOON)
"""A lease that was taken, and a tenant's line after places of it were drawn."""

_ID: Final = re.compile(rb'"Id":\s?"(\d+)"')
_AFTER: Final = re.compile(rb'"ExclusiveStartKey":.*?"pk":\s?\{"S":\s?"([^"]+)"')
_PLACE: Final = re.compile(rb'"pk":\s?\{"S":\s?"([^"]+)"')


@dataclass(frozen=True, slots=True)
class Aws:
    """Answers of DynamoDB and SQS to who dispatches the herd; see `canned.Answers`."""

    pages: Mapping[bytes, bytes]
    """Of the due index, by the partition that a page begins after; the first by nothing."""
    tenants: Mapping[bytes, bytes]
    """Records by their partitions."""

    def __call__(self, operation: str, body: bytes) -> bytes:
        match operation:
            case "Query":
                after = _AFTER.search(body)
                return self.pages[after[1] if after else b""]
            case "UpdateItem":
                return _CHANGED if b'"ALL_NEW"' in body else b"{}"
            case "BatchGetItem":
                found = [self.tenants[one] for one in _PLACE.findall(body) if one in self.tenants]
                return b'{"Responses":{"%s-tenants":[%s]}}' % (PREFIX.encode(), b",".join(found))
            case "BatchExecuteStatement":
                won = [b'{"TableName":"herd-schedules"}'] * body.count(b'"Statement"')
                return b'{"Responses":[' + b",".join(won) + b"]}"
            case "SendMessageBatch":
                return b'{"Successful":[' + b",".join(_accepted(one) for one in _ID.findall(body)) + b"]}"
            case _:
                return b"{}"


def _accepted(entry: bytes) -> bytes:
    digest = b"c0ffee00c0ffee00c0ffee00c0ffee00"
    return b'{"Id":"%s","MessageId":"5fea7756-0ea4-451a-a703-a558b933e274","MD5OfMessageBody":"%s"}' % (entry, digest)


def aws(firings: int) -> Aws:
    """The AWS that holds a herd of so many."""
    timers = list(herd(firings))
    tenants = (tenant_item(Tenant(one, quotas=_QUOTAS, rev=1)) for one in {timer.tenant for timer in timers})
    records = {item["pk"]["S"].encode(): _json(item) for item in tenants}
    return Aws(dict(_pages(due_items(timers))), records)


def _pages(items: Sequence[Any]) -> list[tuple[bytes, bytes]]:
    pages, after = [], b""
    for first in range(0, len(items), PAGE_ITEMS):
        page = items[first : first + PAGE_ITEMS]
        fields: dict[str, Any] = {"Items": page, "Count": len(page), "ScannedCount": len(page)}
        if first + PAGE_ITEMS < len(items):
            of_the_index = (schema.DUE.partition.name, schema.DUE.sort.name, "pk", "sk")
            fields["LastEvaluatedKey"] = {name: page[-1][name] for name in of_the_index}
        pages.append((after, _json(fields)))
        after = page[-1]["pk"]["S"].encode()
    return pages


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
