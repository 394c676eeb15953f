"""Data plane: running it. For each tier its run queue and the worker behind it."""

import aws_cdk as cdk
from constructs import Construct

from cronfleet import settings
from infra.config.installation import Config
from infra.constructs.code import Code
from infra.constructs.event_bus import EventBus
from infra.constructs.job_store import JobStore
from infra.constructs.queue import NewQueue
from infra.constructs.run_queues import RunQueues
from infra.constructs.worker import Worker
from infra.stacks.environment import environment_of
from infra.stacks.outputs import list_functions


class DataPlane(cdk.Stack):
    """Run queue and worker of each tier."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(
            scope, construct_id, description="Cronfleet: run queues and workers", env=environment_of(config)
        )
        job_store, event_bus = JobStore(config), EventBus(config)
        code = Code(self, "Code", config)
        run_queues = RunQueues(self, "RunQueues", config, NewQueue)
        workers = [
            Worker(
                self,
                f"Worker{tier.capitalize()}",
                config,
                code,
                tier=tier,
                job_store=job_store,
                event_bus=event_bus,
                run_queues=run_queues,
            )
            for tier in settings.FUNCTION_QUEUES
        ]
        list_functions(self, workers)
        cdk.CfnOutput(self, "RunQueueUrls", value=run_queues.urls, description="JSON: tier and URL")
