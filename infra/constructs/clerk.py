"""Clerk: takes one errand at a time and carries it on."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda_event_sources as event_sources
from constructs import Construct

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.sqs import queues
from infra.config import Config
from infra.constructs.code import Code
from infra.constructs.function import Function, Part, Size
from infra.constructs.job_store import CHANGE, DELETE, LOOK_UP, LOOK_UP_MANY, QUERY, READ, WRITE, JobStore
from infra.constructs.queue import Queue

SIZE: Final = Size(memory_mb=1024, timeout_seconds=queues.ERRANDS.function_timeout_seconds)

CONCURRENCY: Final = 10
"""Errands that are carried on at once: none of them is anybody's live run, whose throughput they share."""
LOCAL_CONCURRENCY: Final = 2

OLD_SECONDS: Final = 300
"""An errand's message that waits for longer has been replaced by two others meanwhile: the clerk does not keep up."""


class Clerk(Function):
    """The function, its place behind the errand queue, its rights, and the alarm that says that it does not keep up."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        config: Config,
        code: Code,
        *,
        job_store: JobStore,
        errand_queue: Queue,
    ) -> None:
        super().__init__(scope, construct_id, config, code, Part("clerk", SIZE))
        # Errands are moved, and retired.
        job_store.grant(self.role, schema.SCHEDULES, READ + WRITE + DELETE)
        self._grant_operations(job_store)
        self.function.add_event_source(
            event_sources.SqsEventSource(
                errand_queue.queue,
                batch_size=1,
                report_batch_item_failures=True,
                max_concurrency=LOCAL_CONCURRENCY if config.local else CONCURRENCY,
            )
        )
        self._alarm(errand_queue, config)

    def _grant_operations(self, job_store: JobStore) -> None:
        """What a page of a backfill, a re-run or a redrive reads and writes, and what ends with a run of it."""
        job_store.grant(self.role, schema.OPERATIONS, READ + WRITE)
        job_store.grant(self.role, schema.RUNS, READ + WRITE, indexes=(schema.DEAD_LETTERS,))
        job_store.grant(self.role, schema.TENANTS, LOOK_UP + LOOK_UP_MANY)
        job_store.grant(self.role, schema.CALENDARS, LOOK_UP)
        job_store.grant(self.role, schema.SLOTS, QUERY + LOOK_UP + CHANGE)

    def _alarm(self, errand_queue: Queue, config: Config) -> None:
        cloudwatch.Alarm(
            self,
            "Old",
            alarm_name=f"{config.prefix}-{errand_queue.name}-old",
            alarm_description="Errands wait for the clerk: see docs/architecture.md, Errands",
            metric=errand_queue.queue.metric_approximate_age_of_oldest_message(period=cdk.Duration.minutes(1)),
            threshold=OLD_SECONDS,
            evaluation_periods=2,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
