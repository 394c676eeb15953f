"""Fairness inside a shard: tenants take turns by deficit round robin, so that nobody waits behind another's backlog."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

Item = TypeVar("Item")

QUANTA: Final[Mapping[str, int]] = {"standard": 1, "priority": 5}
"""Fires that a tenant of each tier may send in a round."""


def quantum_of(tier: str) -> int:
    """A tier's quantum; at least one, or its tenants would never have their turn."""
    return QUANTA.get(tier, 1)


def rounds(
    queues: Mapping[str, Iterable[Item]], cost: Callable[[Item], int], quantum: Callable[[str], int]
) -> list[Item]:
    """The items of all tenants in rounds; each tenant's own order is kept.

    In a round each tenant gets its quantum, and sends what that pays for; what is left it keeps for the next, unless it
    has nothing more to send. Tenants come in the order in which they are named.
    """
    waiting = {tenant: deque(items) for tenant, items in queues.items()}
    quanta = {tenant: quantum(tenant) for tenant in waiting}
    credit = dict.fromkeys(waiting, 0)
    ordered: list[Item] = []
    while waiting:
        for tenant, queue in list(waiting.items()):
            left = credit[tenant] + quanta[tenant]
            while queue and (price := cost(queue[0])) <= left:
                left -= price
                ordered.append(queue.popleft())
            credit[tenant] = left
            if not queue:
                del waiting[tenant]
    return ordered
