"""Sweeper: once a minute, proves that every claimed fire started, and ticks shards that went quiet."""

from typing import Final

from constructs import Construct

from cronfleet.adapters.dynamodb import schema
from infra.config.installation import Config
from infra.constructs.code import Code
from infra.constructs.dispatcher import dispatching, grant_dispatch
from infra.constructs.event_bus import EventBus
from infra.constructs.every_minute import EveryMinute
from infra.constructs.function import Function, Part, Size
from infra.constructs.job_store import APPEND, DELETE, ERASE, LOOK_UP, LOOK_UP_MANY, QUERY, UPDATE, JobStore
from infra.constructs.queue import Queue
from infra.constructs.rollout import Shift
from infra.constructs.run_queues import RunQueues

# Longer than the minute until the next one: of two sweepers side by side only one writes a shard's books, and what the
# other has sent as well is a copy, which starts nothing.
SIZE: Final = Size(memory_mb=1024, timeout_seconds=120)


class Sweeper(Function):
    """The function, its schedule, and the rights of a dispatcher.

    It is invoked directly and never through a queue: it must work while queue polling is down.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        config: Config,
        code: Code,
        *,
        job_store: JobStore,
        run_queues: RunQueues,
        errand_queue: Queue,
        event_bus: EventBus,
    ) -> None:
        part = Part(
            "sweeper", SIZE, environment=dispatching(config, run_queues, errand_queue, event_bus), shift=Shift.TURNS
        )
        super().__init__(scope, construct_id, config, code, part)
        grant_dispatch(self.role, job_store, run_queues, errand_queue)
        event_bus.grant_tell(self.role)
        # Its jobs that look at schedules again: over a tenant's, or over all there are.
        job_store.grant(self.role, schema.RETIMINGS, LOOK_UP + APPEND + DELETE)
        job_store.grant(self.role, schema.SCHEDULES, (), indexes=(schema.BY_TENANT,))
        job_store.grant_walk(self.role, schema.SCHEDULES, schema.BY_TENANT)
        # A fire that is in no book may have been changed away: who did that stands in the audit log.
        job_store.grant(self.role, schema.AUDIT, LOOK_UP_MANY, indexes=(schema.BY_SUBJECT,))
        # It seals the audit log, of which it may say what holds an end, and nothing about what an entry says.
        job_store.grant(self.role, schema.CHAINS, UPDATE, indexes=(schema.UNSEALED,))
        # What it closes the books by, rows that it ends, and the log that it reads.
        job_store.grant(self.role, schema.RUNS, LOOK_UP + LOOK_UP_MANY)
        job_store.grant(self.role, schema.SHARDS, QUERY)
        job_store.grant(self.role, schema.SLOTS, LOOK_UP)
        # It opens the incidents of shards that nobody dispatches.
        job_store.grant(self.role, schema.ALERTS, LOOK_UP + APPEND)
        # And of each tenant's dead letters that are about to be removed.
        job_store.grant(self.role, schema.TENANTS, (), indexes=(schema.DIRECTORY,))
        job_store.grant(self.role, schema.RUNS, (), indexes=(schema.DEAD_LETTERS,))
        self._grant_deletions(job_store)
        EveryMinute(self, "EveryMinute", name=self.name, function=self.live)

    def _grant_deletions(self, job_store: JobStore) -> None:
        """What removes a deleted tenant: it finds things by keys, and walks the one table where some have none."""
        for table in schema.OWNED:
            job_store.grant(self.role, table, QUERY + ERASE)
        # Its tombstone, its certificate, the end of its freezes.
        job_store.grant(self.role, schema.TENANTS, APPEND)
        job_store.grant_walk(self.role, schema.TENANTS)
