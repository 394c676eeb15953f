"""The whole chain on moto in travelled time: the real entry of every function, driven as AWS would drive it.

Requests enter as events of the HTTP API, ticks and runs travel through (mocked) SQS as event-source batches, and
time moves only when a test says so. Nothing sleeps.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

import boto3
import time_machine

from cronfleet import settings
from cronfleet.domain.claiming import Claiming
from cronfleet.domain.instant import SECOND, Instant, to_datetime
from cronfleet.domain.lease import SLOT, slot_of
from functions.api import handler as api
from functions.clerk import handler as clerk
from functions.dispatcher import handler as dispatcher
from functions.sweeper import handler as sweeper
from functions.ticker import handler as ticker
from functions.worker import handler as worker
from tests.support.api import Answer, answer_of, event_of
from tests.support.moto import mocked_aws
from tests.support.tables import create_queues, create_tables

PREFIX: Final = "cronfleet"
SHARDS: Final = 2
TIME_LEFT_MS: Final = 60_000
CONTEXT = SimpleNamespace(
    aws_request_id="11111111-2222-3333-4444-555555555555",
    function_name="cronfleet",
    get_remaining_time_in_millis=lambda: TIME_LEFT_MS,
)
MAX_ROUNDS: Final = 1_000
PARTS: Final = (api, clerk, dispatcher, sweeper, ticker, worker)


class Chain:
    """One installation, its clock, and the parts of AWS that move things between its functions."""

    def __init__(self, traveller: time_machine.Traveller, urls: dict[str, str]) -> None:
        self._traveller = traveller
        self._sqs = boto3.client("sqs")
        self.urls = urls
        self.now: Instant = 0
        self.dead_workers = 0
        self._settings: dict[str, dict[str, str]] = {}

    def travel(self, instant: Instant) -> None:
        """Be at `instant`."""
        self.now = instant
        self._traveller.move_to(to_datetime(instant), tick=False)

    # --- what callers do ---------------------------------------------------------------------------------------

    def call(self, method: str, target: str, body: Any = None, **more: Any) -> Answer:
        """A request to the API, as the gateway hands it on."""
        return answer_of(self._invoke(api, event_of(method, target, body, **more)))

    def put(self, schedule_id: str, **fields: Any) -> Answer:
        answer = self.call("PUT", f"/v1/schedules/{schedule_id}", {"id": schedule_id, **fields})
        assert answer.status in (200, 201), answer.text
        return answer

    def history(self, schedule_id: str) -> list[dict[str, Any]]:
        """Every row of the schedule, newest first, page by page."""
        rows: list[dict[str, Any]] = []
        target = f"/v1/schedules/{schedule_id}/runs"
        while True:
            page = self.call("GET", target).json
            rows += page["runs"]
            if not page["cursor"]:
                return rows
            target = f"/v1/schedules/{schedule_id}/runs?cursor={page['cursor']}"

    # --- what AWS does -----------------------------------------------------------------------------------------

    def minute(self) -> None:
        """What EventBridge Scheduler does each minute."""
        self._invoke(ticker, {})
        self._invoke(sweeper, {})

    def until(self, end: Instant) -> None:
        """Let time pass slot by slot to `end`: minute calls, ticks, run messages, each as it comes."""
        self._deliver()
        while self.now < end:
            following = min(slot_of(self.now) + SLOT, end)
            is_new_minute = following // 60_000 != self.now // 60_000
            self.travel(following)
            if is_new_minute:
                self.minute()
            self._deliver()

    def deploy(self, *parts: Any, **environment: str) -> None:
        """Have `parts`, which are modules above, begin anew under other settings; none given means all of them."""
        for part in parts or PARTS:
            self._settings[part.__name__] = environment
            _forget_services(part.__name__.removesuffix("handler"))

    def _invoke(self, part: Any, event: dict[str, Any]) -> Any:
        with patch.dict(os.environ, self._settings.get(part.__name__, {})):
            return part.handle(event, CONTEXT)

    def skip_to(self, instant: Instant) -> None:
        """Jump over a stretch in which nothing is due; the ticks laid for it are stale by then, and expire."""
        self.travel(instant)
        self._sqs.purge_queue(QueueUrl=self.urls["ticks"])
        _forget_services("functions.ticker.")  # which remembers having laid them
        self.minute()

    def claim_until(self, end: Instant) -> None:
        """Let time pass to `end` while dispatchers work and nobody takes what they send."""
        while self.now < end:
            self.travel(min(slot_of(self.now) + SLOT, end))
            while self._deliver_from("ticks", dispatcher):
                pass

    def _deliver(self) -> None:
        for _ in range(MAX_ROUNDS):
            delivered = self._deliver_from("ticks", dispatcher) + self._deliver_from("errands", clerk)
            for tier in settings.RUN_QUEUES:
                delivered += self._deliver_from(f"runs-{tier}", worker)
            if not delivered:
                return
        raise AssertionError("the queues never run dry")

    def _deliver_from(self, queue: str, function: Any) -> int:
        """One poll: a message per invocation; what the function does not name as failed is deleted."""
        url = self.urls[queue]
        messages = self._sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        for message in messages:
            record = {"messageId": message["MessageId"], "body": message["Body"]}
            answer = self._invoke(function, {"Records": [record]})
            if not answer["batchItemFailures"]:
                self._sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return len(messages)


@contextmanager
def chain(start: Instant) -> Iterator[Chain]:
    """A fresh installation on moto, at `start`."""
    with mocked_aws(), time_machine.travel(to_datetime(start), tick=False) as traveller:
        create_tables(boto3.client("dynamodb"), PREFIX)
        urls = create_queues(boto3.client("sqs"), PREFIX)
        run_queues = {tier: urls[f"runs-{tier}"] for tier in settings.RUN_QUEUES}
        environment = {
            settings.TABLE_PREFIX: PREFIX,
            settings.SHARDS: str(SHARDS),
            settings.TICK_QUEUE_URL: urls["ticks"],
            settings.ERRAND_QUEUE_URL: urls["errands"],
            settings.RUN_QUEUE_URLS: json.dumps(run_queues),
            # moto takes no account of a statement's conditions.
            settings.CLAIMS: Claiming.SINGLE,
        }
        with patch.dict(os.environ, environment):
            _forget_services()
            try:
                made = Chain(traveller, urls)
                made.travel(start)
                yield made
            finally:
                _forget_services()


def _forget_services(package: str = "functions.") -> None:
    """Functions keep their service between invocations; a new installation needs new ones."""
    for module in [module for name, module in sys.modules.items() if name.startswith(package)]:
        for name, cached in vars(module).items():
            if name.startswith("_") and hasattr(cached, "cache_clear"):
                cached.cache_clear()


def seconds(number: float) -> int:
    return int(number * SECOND)
