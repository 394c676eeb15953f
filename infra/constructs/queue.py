"""Queue: one queue of `cronfleet.adapters.sqs.queues` with its dead-letter queue."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronfleet.adapters.sqs import queues
from infra.config.installation import Config


class Queue(Construct):
    """A queue and its dead-letter queue as those know them who send and receive: by their names, in whatever stack."""

    def __init__(self, scope: Construct, construct_id: str, config: Config, queue: queues.Queue) -> None:
        super().__init__(scope, construct_id)
        self.name = queue.name
        self.queue: sqs.IQueue = self._by_name("Queue", f"{config.prefix}-{queue.name}")
        self.dead_letters: sqs.IQueue = self._by_name("DeadLetters", f"{config.prefix}-{queue.dead_letter_name}")

    @property
    def url(self) -> str:
        """The address messages are sent to."""
        return self.queue.queue_url

    def grant_send(self, role: iam.Role) -> None:
        """Let `role` send to this queue, one message or a batch, and nothing else."""
        role.add_to_policy(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[self.queue.queue_arn]))

    def _by_name(self, construct_id: str, name: str) -> sqs.IQueue:
        arn = cdk.Stack.of(self).format_arn(service="sqs", resource=name)
        return sqs.Queue.from_queue_arn(self, construct_id, arn)


class NewQueue(Queue):
    """The queue itself, a standard one, and `<name>-dead`, both encrypted at rest and open to TLS only."""

    def __init__(self, scope: Construct, construct_id: str, config: Config, queue: queues.Queue) -> None:
        Construct.__init__(self, scope, construct_id)
        self.name = queue.name
        name = f"{config.prefix}-{queue.name}"
        dead_letters = sqs.Queue(
            self,
            "DeadLetters",
            queue_name=f"{config.prefix}-{queue.dead_letter_name}",
            retention_period=cdk.Duration.seconds(queues.RETENTION_SECONDS),
            visibility_timeout=cdk.Duration.seconds(queues.DEAD_VISIBILITY_SECONDS),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            # By name and not by reference: the two queues would otherwise wait for each other.
            redrive_allow_policy=sqs.RedriveAllowPolicy(source_queues=[self._by_name("Source", name)]),
        )
        self.dead_letters = dead_letters
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=name,
            visibility_timeout=cdk.Duration.seconds(queue.visibility_seconds),
            retention_period=cdk.Duration.seconds(queue.retention_seconds),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            dead_letter_queue=sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=queue.max_receive_count),
        )
