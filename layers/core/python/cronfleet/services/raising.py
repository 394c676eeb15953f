"""More shards on a live system: first they are served, then schedules are put into them."""

from cronfleet.domain.errors import Invalid
from cronfleet.domain.shard import MAX_SHARDS
from cronfleet.ports.job_store import ShardStore
from cronfleet.services.asking import ask


def raise_shards(store: ShardStore, shards: int) -> int:
    """Have so many served from the ticker's next minute on; returns how many were before, 0 where nothing says it.

    Raises `Invalid` for fewer than are served: what waits in a shard waits there, and nothing moves it.
    """
    if not 1 <= shards <= MAX_SHARDS:
        raise Invalid("shards", f"is {shards}; write a whole number from 1 to {MAX_SHARDS}")
    lease = ask(lambda: store.get_lease(0))
    if lease is None:
        raise Invalid("shards", "nothing is served yet: the first deployment says how many there are")
    if shards < lease.shards:
        raise Invalid(
            "shards",
            f"is {shards}, and {lease.shards} are served: a schedule stays in its shard, so none is ever taken away. "
            "To put new schedules into fewer, deploy with fewer; the others go on being served",
        )
    ask(lambda: store.raise_shards(shards))
    return lease.shards
