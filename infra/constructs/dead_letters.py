"""DeadLetters: behind every dead-letter queue, writes what nobody could take on into the history."""

from collections.abc import Sequence
from typing import Final

from constructs import Construct

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.sqs import queues
from infra.config.installation import Config
from infra.config.triggers import Trigger
from infra.constructs.code import Code
from infra.constructs.event_bus import EventBus
from infra.constructs.function import Function, Part, Size
from infra.constructs.job_store import APPEND, CHANGE, LOOK_UP, LOOK_UP_MANY, QUERY, JobStore
from infra.constructs.queue import Queue
from infra.constructs.rollout import Shift

SIZE: Final = Size(memory_mb=512, timeout_seconds=queues.DEAD_LETTERS_TIMEOUT_SECONDS)

CONCURRENCY: Final = 2
"""Invocations per queue: a storm of dead messages must not take the store's throughput from what still runs."""


class DeadLetters(Function):
    """The function, and its place behind the dead-letter queues."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        config: Config,
        code: Code,
        *,
        job_store: JobStore,
        event_bus: EventBus,
        sources: Sequence[Queue],
    ) -> None:
        part = Part("dead_letters", SIZE, environment=event_bus.settings, shift=Shift.AT_ONCE)
        super().__init__(scope, construct_id, config, code, part)
        event_bus.grant_tell(self.role)
        job_store.grant(self.role, schema.RUNS, LOOK_UP + QUERY + APPEND)
        # What follows from a run's end, and the gate that it held.
        job_store.grant(self.role, schema.SCHEDULES, LOOK_UP + CHANGE)
        job_store.grant(self.role, schema.SLOTS, LOOK_UP + APPEND)
        job_store.grant(self.role, schema.AUDIT, APPEND)
        job_store.grant(self.role, schema.CHAINS, LOOK_UP + LOOK_UP_MANY + APPEND)
        # The noticeboard says which tenants are told of what became of their runs.
        job_store.grant(self.role, schema.TENANTS, LOOK_UP + QUERY)
        job_store.grant(self.role, schema.CALENDARS, LOOK_UP)
        # It opens the installation's incident of what comes here.
        job_store.grant(self.role, schema.ALERTS, LOOK_UP + QUERY + APPEND)
        # Messages that nobody can read.
        job_store.grant(self.role, schema.SHARDS, APPEND)
        for source in sources:
            self.take_from(source.dead_letters, Trigger(max_concurrency=CONCURRENCY))
