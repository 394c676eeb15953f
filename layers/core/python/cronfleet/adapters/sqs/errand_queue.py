"""`ErrandQueue` on SQS, fair between tenants by message group."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cronfleet.adapters.sqs.messages import encode_errand
from cronfleet.adapters.sqs.sending import Entry, send_all
from cronfleet.domain.errand import ErrandMessage

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class SqsErrandQueue:
    """The queue between the dispatcher and the clerk."""

    def __init__(self, client: "SQSClient", url: str) -> None:
        self._client = client
        self._url = url

    def send(self, messages: Sequence[ErrandMessage]) -> Sequence[ErrandMessage]:
        """See `ErrandQueue.send`."""
        entries = [Entry(encode_errand(message), 0, message.tenant) for message in messages]
        return [messages[place] for place in send_all(self._client, self._url, entries)]
