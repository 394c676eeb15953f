"""`RunSource` on SQS, by long polling."""

from typing import TYPE_CHECKING, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from cronfleet.adapters.sqs.messages import decode_run
from cronfleet.domain.errors import Invalid
from cronfleet.domain.run_spans import Delivery
from cronfleet.ports.clock import Clock
from cronfleet.ports.queues import NoQueue, Taken

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

WAIT_SECONDS: Final = 5
"""How long a poll waits. SQS would wait for twenty; but who is told to stop should not take that long to hear it."""

CONFIG: Final = Config(connect_timeout=2, read_timeout=WAIT_SECONDS + 5, retries={"total_max_attempts": 1})
"""A poll that failed is not repeated at once: whoever polls decides when."""


def polling_client() -> "SQSClient":
    """A client whose requests may wait for a message."""
    return boto3.client("sqs", config=CONFIG)


class SqsRunSource:
    """The run queue at `url`."""

    def __init__(self, client: "SQSClient", url: str, clock: Clock) -> None:
        self._clock = clock
        self._client = client
        self._url = url

    def receive(self) -> Taken | None:
        """See `RunSource.receive`."""
        try:
            answer = self._client.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=1,
                WaitTimeSeconds=WAIT_SECONDS,
                AttributeNames=["SentTimestamp", "ApproximateReceiveCount"],
            )
        except (ClientError, BotoCoreError) as error:
            raise NoQueue(str(error)) from error
        for message in answer.get("Messages", []):
            receipt, delivery = message["ReceiptHandle"], self._delivery(message)
            try:
                return Taken(receipt, decode_run(message["Body"]), delivery)
            except Invalid as error:
                return Taken(receipt, None, delivery, str(error))
        return None

    def _delivery(self, message: "MessageTypeDef") -> Delivery:
        said = message.get("Attributes", {})
        sent_at, receives = said.get("SentTimestamp", ""), said.get("ApproximateReceiveCount", "")
        return Delivery(
            self._clock.now(),
            int(sent_at) if sent_at.isdecimal() else None,
            message.get("MessageId", ""),
            int(receives) if receives.isdecimal() else 1,
        )

    def delete(self, receipt: str) -> None:
        """See `RunSource.delete`."""
        try:
            self._client.delete_message(QueueUrl=self._url, ReceiptHandle=receipt)
        except (ClientError, BotoCoreError) as error:
            raise NoQueue(str(error)) from error

    def give_back(self, receipt: str) -> None:
        """See `RunSource.give_back`."""
        try:
            self._client.change_message_visibility(QueueUrl=self._url, ReceiptHandle=receipt, VisibilityTimeout=0)
        except (ClientError, BotoCoreError) as error:
            raise NoQueue(str(error)) from error
