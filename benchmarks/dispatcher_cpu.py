"""What a thousand firings cost the dispatcher in CPU, as a ratio to what its bare requests cost in the same run.

    python -m benchmarks.dispatcher_cpu

The real dispatcher and adapters run with real AWS clients, whose requests are signed and serialised; only the network
is replaced: each is answered from memory. The yardstick is as many single updates and sends by bare clients that decide
nothing: what is left above it is ours. The budget is 0.5 s for 1,000 firings with claims in batches, which are not
built yet; until then the clients' own work is most of it.
"""

import io
import json
import time
from collections.abc import Callable
from typing import Any, Final

import boto3
from botocore.awsrequest import AWSResponse, HeadersDict
from botocore.config import Config

from benchmarks.metering.chain import Silent
from cronfleet.adapters.dynamodb.items.timers import timer_item
from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.adapters.sqs.errand_queue import SqsErrandQueue
from cronfleet.adapters.sqs.run_queue import SqsRunQueue
from cronfleet.adapters.system.clock import SystemClock, SystemIds
from cronfleet.adapters.system.side_by_side import Threads
from cronfleet.domain.claim import MAX_BATCH_ENTRIES
from cronfleet.domain.instant import DAY
from cronfleet.domain.lease import slot_of
from cronfleet.ports.queues import Tick
from cronfleet.services.dispatcher import Dispatcher
from tests.support.builders import cron, timer
from tests.support.settable_clock import NOON, SettableClock

FIRINGS: Final = 1_000
ROUNDS: Final = 5
BUDGET_SECONDS: Final = 0.5
_MESSAGES: Final = 10
_HEADERS: Final = {"Content-Type": "application/x-amz-json-1.0"}
_LEASE: Final = (
    '{"Attributes": {"pk": {"S": "SHARD#0"}, "sk": {"S": "LEASE"}, "owner": {"S": "OWNER"}, "fence": {"N": "1"}, '
    '"until": {"N": "1"}, "slot_at": {"N": "1"}}}'
)


class Canned:
    """Answers every request of a client from memory; `asked` holds the operations."""

    def __init__(self, answer: Callable[[str, Any], bytes]) -> None:
        self._answer = answer
        self.asked: list[str] = []

    def __call__(self, request: Any, **_: Any) -> AWSResponse:
        operation = _header(request, "X-Amz-Target").rpartition(".")[2]
        self.asked.append(operation)
        headers: Any = HeadersDict(_HEADERS)
        return AWSResponse(request.url, 200, headers, _Raw(self._answer(operation, request)))


class _Raw(io.BytesIO):
    """The part of urllib3's answer that botocore reads."""

    def stream(self, **_: Any) -> Any:
        yield self.getvalue()


def _header(request: Any, name: str) -> str:
    value = request.headers[name]
    return value.decode() if isinstance(value, bytes) else str(value)


def _client(service: str, canned: Canned) -> Any:
    make: Any = boto3.client  # Its hundreds of overloads know no name that comes in a variable.
    client = make(
        service,
        region_name="us-east-1",
        endpoint_url="http://127.0.0.1:9",
        aws_access_key_id="none",
        aws_secret_access_key="none",  # noqa: S106 - nobody checks it
        config=Config(retries={"max_attempts": 1}),
    )
    client.meta.events.register(f"before-send.{service}", canned)
    return client


def _page(first: int) -> str:
    """A page of the due index, as DynamoDB answers."""
    trigger = cron("0 12 * * *", "UTC")
    items = []
    for number in range(first, first + MAX_BATCH_ENTRIES):
        due = timer(trigger, NOON, schedule_id=f"nightly-billing-{number:06}", tenant=f"customer-{number % 20:03}")
        items.append(timer_item(due))
    page: dict[str, Any] = {"Items": items}
    if first + MAX_BATCH_ENTRIES < FIRINGS:
        page["LastEvaluatedKey"] = {name: items[-1][name] for name in ("due_shard", "due_at", "pk", "sk")}
    return json.dumps(page)


def _dynamodb() -> Canned:
    pages = iter([_page(first).encode() for first in range(0, FIRINGS, MAX_BATCH_ENTRIES)])
    taken = iter([_LEASE.encode()])

    def answer(operation: str, _request: Any) -> bytes:
        return next(pages) if operation == "Query" else next(taken, b"{}")

    return Canned(answer)


def _sqs() -> Canned:
    accepted = ", ".join(f'{{"Id": "{place}", "MessageId": "m", "MD5OfMessageBody": "d"}}' for place in range(FIRINGS))
    body = f'{{"Successful": [{accepted}], "Failed": []}}'.encode()
    return Canned(lambda *_: body)


def dispatched() -> tuple[float, int]:
    """CPU seconds of one tick that dispatches `FIRINGS`, and the requests it made."""
    store, queue = _dynamodb(), _sqs()
    clock = SettableClock(NOON)
    dynamodb = DynamoJobStore("canned", _client("dynamodb", store), SystemClock())
    run_queue = SqsRunQueue(_client("sqs", queue), {"standard": "http://127.0.0.1:9/000000000000/standard"})
    dispatcher = Dispatcher(
        store=dynamodb,
        run_queue=run_queue,
        errand_queue=SqsErrandQueue(_client("sqs", queue), "http://127.0.0.1:9/000000000000/errands"),
        side_by_side=Threads(),
        clock=clock,
        ids=SystemIds(),
        telemetry=Silent(),
    )
    dynamodb.skew_ms = lambda: 0  # type: ignore[method-assign]  # a warm process has heard the time
    begin = time.process_time()
    report = dispatcher.tick(Tick(0, slot_of(NOON)), NOON + DAY)
    taken = time.process_time() - begin
    assert report.fires == FIRINGS, report
    return taken, len(store.asked) + len(queue.asked)


def bare() -> float:
    """CPU seconds of as many single updates and sends as the dispatcher makes, by clients that decide nothing."""
    client, queue = _client("dynamodb", Canned(lambda *_: b"{}")), _client("sqs", _sqs())
    request = {
        "TableName": "canned-schedules",
        "UpdateExpression": "SET #claim_batch = :batch, #nominal_at = :next, #due_at = :next",
        "ConditionExpression": "#rev = :rev AND #nominal_at = :nominal_at AND #due_at = :nominal_at",
        "ExpressionAttributeNames": {f"#{name}": name for name in ("claim_batch", "nominal_at", "due_at", "rev")},
        "ReturnValues": "NONE",
    }
    entries = [{"Id": str(n), "MessageBody": "x" * 220, "DelaySeconds": 0} for n in range(_MESSAGES)]
    begin = time.process_time()
    for number in range(FIRINGS):
        client.update_item(
            **request,
            Key={"pk": {"S": f"acme#nightly-billing-{number:06}"}, "sk": {"S": "TIMER"}},
            ExpressionAttributeValues={
                ":batch": {"S": "0.1.1"},
                ":rev": {"N": "1"},
                ":nominal_at": {"N": str(NOON)},
                ":next": {"N": str(NOON + DAY)},
            },
        )
    for _ in range(FIRINGS // _MESSAGES):
        queue.send_message_batch(QueueUrl="http://127.0.0.1:9/000000000000/standard", Entries=entries)
    return time.process_time() - begin


def main() -> None:
    """Print the figure."""
    dispatched()
    bare()
    found = [dispatched() for _ in range(ROUNDS)]
    ours, requests = min(one[0] for one in found), found[0][1]
    yardstick = min(bare() for _ in range(ROUNDS))
    print(
        f"dispatcher: {ours / yardstick:.2f} of the CPU of its bare requests "
        f"({ours:.2f} s against {yardstick:.2f} s for {FIRINGS:,} firings; {requests / FIRINGS:.2f} requests each)"
    )
    print(f"budget: {BUDGET_SECONDS} s for 1,000 firings with claims in batches, which are not built yet")


if __name__ == "__main__":
    main()
