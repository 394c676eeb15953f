"""RunQueues: one run queue per tier, and one for what yields to live traffic."""

import json

from aws_cdk import aws_iam as iam
from constructs import Construct

from cronfleet.adapters.sqs import queues
from infra.config.installation import Config
from infra.constructs.queue import NewQueue, Queue


class RunQueues(Construct):
    """The run queues by tier and lane, with what a sender needs to know; `kind` says whether they are made here."""

    def __init__(
        self, scope: Construct, construct_id: str, config: Config, kind: type[Queue] | type[NewQueue] = Queue
    ) -> None:
        super().__init__(scope, construct_id)
        self.by_tier = {tier: kind(self, tier.capitalize(), config, queue) for tier, queue in queues.RUN_QUEUES.items()}

    @property
    def urls(self) -> str:
        """A JSON object of tier or lane and URL, as `settings.RUN_QUEUE_URLS` wants it."""
        return json.dumps({tier: queue.url for tier, queue in self.by_tier.items()})

    def grant_send(self, role: iam.Role) -> None:
        """Let `role` send to every run queue."""
        for queue in self.by_tier.values():
            queue.grant_send(role)
