"""Has the emulator look for delayed messages at once: by itself it does so only once a second when all is quiet.

On AWS, a poller sees a message as soon as it may be seen. The emulator looks whenever a message of any queue
becomes visible by request, so a message is kept for that alone, in a queue that nobody reads.
"""

from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from local.aws import Aws

QUEUE: Final = "cronfleet-local-bell"


class Bell:
    """One message, made visible again and again."""

    def __init__(self, aws: Aws) -> None:
        self._sqs = aws.client("sqs")
        self._url: str = self._sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
        self._sqs.purge_queue(QueueUrl=self._url)
        self._sqs.send_message(QueueUrl=self._url, MessageBody="ring")
        self._handle: str = self._sqs.receive_message(QueueUrl=self._url)["Messages"][0]["ReceiptHandle"]

    def ring(self) -> None:
        """Have the emulator look now. Without an answer it looks a little later."""
        try:
            self._sqs.change_message_visibility(QueueUrl=self._url, ReceiptHandle=self._handle, VisibilityTimeout=0)
        except (ClientError, BotoCoreError):
            return
