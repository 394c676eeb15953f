"""Dispatcher: takes one tick at a time, claims what is due in its shard and sends it to the run queues."""

from collections.abc import Mapping
from typing import Final

from aws_cdk import aws_iam as iam
from constructs import Construct

from cronfleet import settings
from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.sqs import queues
from infra.config.installation import Config
from infra.constructs.code import Code
from infra.constructs.event_bus import EventBus
from infra.constructs.function import Function, Part, Size
from infra.constructs.job_store import APPEND, CHANGE, LOOK_UP, LOOK_UP_MANY, QUERY, UPDATE, UPDATE_MANY, JobStore
from infra.constructs.queue import Queue
from infra.constructs.run_queues import RunQueues

SIZE: Final = Size(memory_mb=1024, timeout_seconds=queues.TICKS.function_timeout_seconds)


class Dispatcher(Function):
    """The function, its place behind the tick queue, and the right to claim and to send."""

    def __init__(  # noqa: PLR0913 - it stands between the job store and all that it sends to
        self,
        scope: Construct,
        construct_id: str,
        config: Config,
        code: Code,
        *,
        job_store: JobStore,
        tick_queue: Queue,
        errand_queue: Queue,
        run_queues: RunQueues,
        event_bus: EventBus,
    ) -> None:
        part = Part("dispatcher", SIZE, environment=dispatching(config, run_queues, errand_queue, event_bus))
        super().__init__(scope, construct_id, config, code, part)
        grant_dispatch(self.role, job_store, run_queues, errand_queue)
        event_bus.grant_tell(self.role)
        self.take_from(tick_queue.queue, config.triggers.ticks)


def dispatching(config: Config, run_queues: RunQueues, errand_queue: Queue, event_bus: EventBus) -> Mapping[str, str]:
    """What a dispatcher reads from its environment: how it claims, and the addresses to which it sends."""
    return {
        settings.CLAIMS: config.claiming.value,
        settings.RUN_QUEUE_URLS: run_queues.urls,
        settings.ERRAND_QUEUE_URL: errand_queue.url,
        **event_bus.settings,
    }


def grant_dispatch(role: iam.Role, job_store: JobStore, run_queues: RunQueues, errand_queue: Queue) -> None:
    """Let `role` claim and send. The sweeper, which ticks shards that went quiet, needs the same."""
    # It claims in batches, and looks again by itself at what a batch could not settle.
    job_store.grant(role, schema.SCHEDULES, LOOK_UP + LOOK_UP_MANY + CHANGE + UPDATE_MANY, indexes=(schema.DUE,))
    # It looks at a schedule's newest rows before it ends one that died.
    job_store.grant(role, schema.RUNS, QUERY + APPEND)
    job_store.grant(role, schema.CALENDARS, LOOK_UP)
    job_store.grant(role, schema.SHARDS, LOOK_UP + CHANGE)
    job_store.grant(role, schema.SLOTS, QUERY + CHANGE)
    # Which tenants' records say what rate, the lines of their rates, and what is frozen, with
    # the rest of the noticeboard.
    job_store.grant(role, schema.TENANTS, LOOK_UP + LOOK_UP_MANY + QUERY + UPDATE + UPDATE_MANY)
    job_store.grant(role, schema.AUDIT, APPEND)
    job_store.grant(role, schema.CHAINS, LOOK_UP + LOOK_UP_MANY + APPEND)
    run_queues.grant_send(role)
    errand_queue.grant_send(role)
