"""Fairness inside a shard: tenants take turns, and one that has had its share is deferred, never dropped."""

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def rounds(tenants_and_items: Iterable[tuple[str, Item]]) -> list[Item]:
    """The items in rounds: every tenant's first, every tenant's second, …; each tenant's own order is kept."""
    queues: dict[str, deque[Item]] = defaultdict(deque)
    for tenant, item in tenants_and_items:
        queues[tenant].append(item)
    ordered: list[Item] = []
    while queues:
        for tenant in list(queues):
            ordered.append(queues[tenant].popleft())
            if not queues[tenant]:
                del queues[tenant]
    return ordered
