"""`RunQueue` on SQS: a standard queue per tier and one for backfills, fair between tenants by message group."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from botocore.config import Config

from cronfleet.adapters.sqs.messages import encode_run
from cronfleet.adapters.sqs.sending import Entry, send_all
from cronfleet.domain.run import RunMessage
from cronfleet.domain.trace import is_sampled
from cronfleet.ports.queues import DelayedMessage

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


CONFIG: Final = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 4})
"""A request is given up early: what was not sent is sent again by whoever asked."""


class SqsRunQueue:
    """The run queues; `urls` maps each tier, and the lane of backfills, to its queue.

    With a `trace_ratio` each message says to X-Ray, and to whatever else reads its header, of which trace it is.
    """

    def __init__(self, client: "SQSClient", urls: Mapping[str, str], trace_ratio: float | None = None) -> None:
        self._client = client
        self._urls = urls
        self._trace_ratio = trace_ratio

    def send(self, messages: Sequence[DelayedMessage]) -> Sequence[DelayedMessage]:
        """See `RunQueue.send`."""
        by_queue: defaultdict[str, list[DelayedMessage]] = defaultdict(list)
        for one in messages:
            by_queue[one.message.queue].append(one)
        unsent: list[DelayedMessage] = []
        for queue, ours in by_queue.items():
            entries = [self._entry(one) for one in ours]
            unsent += [ours[place] for place in send_all(self._client, self._urls[queue], entries)]
        return unsent

    def _entry(self, one: DelayedMessage) -> Entry:
        message = one.message
        return Entry(encode_run(message), one.delay_seconds, message.key.tenant, self._trace(message))

    def _trace(self, message: RunMessage) -> str:
        if self._trace_ratio is None:
            return ""
        context = message.context
        if message.trace is None:
            context = replace(context, sampled=is_sampled(context.trace_id, self._trace_ratio))
        return context.xray_header
