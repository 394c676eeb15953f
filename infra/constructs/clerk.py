"""Clerk: takes one errand at a time and carries it on."""

from collections.abc import Mapping
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from cronfleet import settings
from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.sqs import queues
from infra.config.installation import APPLICATION, Config
from infra.constructs.code import Code
from infra.constructs.event_bus import EventBus
from infra.constructs.function import Function, Part, Size
from infra.constructs.job_store import APPEND, CHANGE, DELETE, LOOK_UP, LOOK_UP_MANY, QUERY, READ, JobStore
from infra.constructs.queue import Queue
from infra.constructs.target_roles import let_call_targets, target_settings

SIZE: Final = Size(memory_mb=1024, timeout_seconds=queues.ERRANDS.function_timeout_seconds)

SECRETS: Final = f"{APPLICATION}/*"
TOPICS: Final = f"{APPLICATION}-alerts-*"
"""What a channel may name: an installation opts a secret or a topic in by giving it such a name."""


class Clerk(Function):
    """The function, its place behind the errand queue and its rights."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        config: Config,
        code: Code,
        *,
        job_store: JobStore,
        event_bus: EventBus,
        errand_queue: Queue,
    ) -> None:
        environment = {
            settings.WEBHOOK_ALLOWED_NETWORKS: config.webhook_allowed_networks,
            settings.EMAIL_SENDER: config.email_sender,
            **event_bus.settings,
            **target_settings(config),
        }
        super().__init__(scope, construct_id, config, code, Part("clerk", SIZE, environment=environment))
        event_bus.grant_tell(self.role)
        let_call_targets(self.role, config, "clerk")
        # Errands are moved, and retired.
        job_store.grant(self.role, schema.SCHEDULES, LOOK_UP + LOOK_UP_MANY + CHANGE + DELETE)
        self._grant_operations(job_store)
        self._grant_executions(job_store)
        self._grant_alerts(job_store, config)
        self.take_from(errand_queue.queue, config.triggers.errands)

    def _grant_operations(self, job_store: JobStore) -> None:
        """What a page of a backfill, a re-run or a redrive reads and writes, and what ends with a run of it."""
        job_store.grant(self.role, schema.OPERATIONS, LOOK_UP + LOOK_UP_MANY + APPEND, indexes=(schema.BY_CREATION,))
        job_store.grant(self.role, schema.RUNS, READ + APPEND, indexes=(schema.DEAD_LETTERS,))
        # With the noticeboard, which says which tenants are told of what became of their runs.
        job_store.grant(self.role, schema.TENANTS, LOOK_UP + LOOK_UP_MANY + QUERY)
        job_store.grant(self.role, schema.CALENDARS, LOOK_UP)
        job_store.grant(self.role, schema.SLOTS, LOOK_UP + CHANGE)

    def _grant_executions(self, job_store: JobStore) -> None:
        """What the end of an execution writes, as a worker does at the end of an attempt."""
        job_store.grant(self.role, schema.ATTEMPTS, APPEND + DELETE)
        job_store.grant(self.role, schema.BREAKERS, LOOK_UP + APPEND)
        job_store.grant(self.role, schema.TENANTS, APPEND)
        job_store.grant(self.role, schema.AUDIT, APPEND)
        job_store.grant(self.role, schema.CHAINS, LOOK_UP + LOOK_UP_MANY + APPEND)

    def _grant_alerts(self, job_store: JobStore, config: Config) -> None:
        """What a look at a schedule and the delivery of a notice read and write, and the channels they reach."""
        job_store.grant(self.role, schema.ALERTS, READ + APPEND)
        job_store.grant(self.role, schema.HEARTBEATS, QUERY)
        self._allow(
            "secretsmanager:GetSecretValue", "secretsmanager", "secret", SECRETS, cdk.ArnFormat.COLON_RESOURCE_NAME
        )
        self._allow("sns:Publish", "sns", TOPICS, None, cdk.ArnFormat.NO_RESOURCE_NAME)
        if config.email_sender:
            # Whichever identity SES takes the sender from, its own or that of its domain; and as nobody else.
            only = {"StringEquals": {"ses:FromAddress": config.email_sender}}
            self._allow("ses:SendEmail", "ses", "identity", "*", cdk.ArnFormat.SLASH_RESOURCE_NAME, only)

    def _allow(
        self,
        action: str,
        service: str,
        resource: str,
        name: str | None,
        form: cdk.ArnFormat,
        conditions: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        arn = cdk.Stack.of(self).format_arn(service=service, resource=resource, resource_name=name, arn_format=form)
        self.role.add_to_policy(iam.PolicyStatement(actions=[action], resources=[arn], conditions=conditions))
