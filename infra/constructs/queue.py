"""Queue: one queue of `cronfleet.adapters.sqs.queues` with its dead-letter queue."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronfleet.adapters.sqs import queues
from infra.config import Config


class Queue(Construct):
    """A standard queue and `<name>-dead`, both encrypted at rest and open to TLS only."""

    def __init__(self, scope: Construct, construct_id: str, config: Config, queue: queues.Queue) -> None:
        super().__init__(scope, construct_id)
        self.name = queue.name
        name = f"{config.prefix}-{queue.name}"
        self.dead_letters = sqs.Queue(
            self,
            "DeadLetters",
            queue_name=f"{config.prefix}-{queue.dead_letter_name}",
            retention_period=cdk.Duration.seconds(queues.RETENTION_SECONDS),
            visibility_timeout=cdk.Duration.seconds(queues.DEAD_VISIBILITY_SECONDS),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            redrive_allow_policy=sqs.RedriveAllowPolicy(source_queues=[self._by_name(name)]),
        )
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=name,
            visibility_timeout=cdk.Duration.seconds(queue.visibility_seconds),
            retention_period=cdk.Duration.seconds(queue.retention_seconds),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead_letters, max_receive_count=queue.max_receive_count),
        )

    @property
    def url(self) -> str:
        """The address messages are sent to."""
        return self.queue.queue_url

    def grant_send(self, role: iam.Role) -> None:
        """Let `role` send to this queue, one message or a batch, and nothing else."""
        role.add_to_policy(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[self.queue.queue_arn]))

    def _by_name(self, name: str) -> sqs.IQueue:
        # By name and not by reference: the two queues would otherwise wait for each other.
        arn = cdk.Stack.of(self).format_arn(service="sqs", resource=name)
        return sqs.Queue.from_queue_arn(self, "Source", arn)
