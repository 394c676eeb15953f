"""Worker: takes runs of one tier, or of the lane of backfills, one at a time, and calls their targets."""

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
from infra.constructs.job_store import APPEND, CHANGE, CHECK, DELETE, LOOK_UP, LOOK_UP_MANY, QUERY, JobStore
from infra.constructs.run_queues import RunQueues
from infra.constructs.target_roles import let_call_targets, target_settings

SIZE: Final = Size(memory_mb=1024, timeout_seconds=queues.WORKER_TIMEOUT_SECONDS)

# What a schedule may name: an installation opts a secret or a function in by giving it such a name.
SECRETS: Final = f"{APPLICATION}/*"
TARGET_FUNCTIONS: Final = f"{APPLICATION}-target-*"


class Worker(Function):
    """The function of one tier, its place behind that tier's run queue, and the right to reach targets."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        config: Config,
        code: Code,
        *,
        tier: str,
        job_store: JobStore,
        event_bus: EventBus,
        run_queues: RunQueues,
    ) -> None:
        environment = {
            settings.RUN_QUEUE_URLS: run_queues.urls,
            settings.WEBHOOK_ALLOWED_NETWORKS: config.webhook_allowed_networks,
            **event_bus.settings,
            **target_settings(config),
        }
        part = Part("worker", SIZE, variant=tier, environment=environment)
        super().__init__(scope, construct_id, config, code, part)
        let_attempt(self.role, job_store)
        event_bus.grant_tell(self.role)
        let_read_secrets(self.role)
        _grant(self.role, "lambda:InvokeFunction", "lambda", "function", TARGET_FUNCTIONS)
        let_call_targets(self.role, config, part.function_name)
        own_queue = run_queues.by_tier[tier]
        # A message that comes before its time goes back to where it came from, with the delay that is left.
        own_queue.grant_send(self.role)
        # Of its own, so that one tier's backlog never takes the account's whole concurrency from the others.
        self.take_from(own_queue.queue, config.triggers.workers[tier])


def let_attempt(role: iam.Role, job_store: JobStore) -> None:
    """Let `role` read and write what an attempt needs, from its start to its end."""
    job_store.grant(role, schema.SCHEDULES, LOOK_UP + CHANGE)
    # A receipt is put on the condition that the row still has the fence of its attempt.
    job_store.grant(role, schema.RUNS, LOOK_UP + QUERY + APPEND + CHECK)
    # A late message of a deleted tenant leaves no row.
    job_store.grant(role, schema.RUNS, DELETE)
    # Tenants' records and freezes, and the noticeboard, on which it says of targets what it has found.
    job_store.grant(role, schema.TENANTS, LOOK_UP + LOOK_UP_MANY + QUERY + APPEND)
    # Schedules whose runs die one after the other are paused, with an entry of that.
    job_store.grant(role, schema.AUDIT, APPEND)
    job_store.grant(role, schema.CHAINS, LOOK_UP + LOOK_UP_MANY + APPEND)
    job_store.grant(role, schema.BREAKERS, LOOK_UP + APPEND)
    job_store.grant(role, schema.CALENDARS, LOOK_UP)
    job_store.grant(role, schema.RECEIPTS, APPEND)
    job_store.grant(role, schema.SLOTS, QUERY + LOOK_UP + CHANGE)
    # What an attempt said; of a tenant that was deleted meanwhile it is taken back.
    job_store.grant(role, schema.ATTEMPTS, APPEND + DELETE)


def let_read_secrets(role: iam.Role) -> None:
    """Let `role` read the secrets that schedules may name."""
    _grant(role, "secretsmanager:GetSecretValue", "secretsmanager", "secret", SECRETS)


def _grant(role: iam.Role, action: str, service: str, resource: str, name: str) -> None:
    arn = cdk.Stack.of(role).format_arn(
        service=service, resource=resource, resource_name=name, arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
    )
    role.add_to_policy(iam.PolicyStatement(actions=[action], resources=[arn]))
