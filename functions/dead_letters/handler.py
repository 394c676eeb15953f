"""Entry of the consumer of dead letters: every dead-letter queue calls it, one message per invocation."""

import functools
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from cronfleet import bootstrap, settings
from cronfleet.domain.errors import ClockSkewed, Contended, Invalid, OnStandby
from cronfleet.domain.undelivered import Delivery
from cronfleet.ports.job_store import NoAnswer
from cronfleet.services.undelivered import Undelivered

logger = Logger(service="dead_letters")


@functools.cache
def _service() -> Undelivered:
    return bootstrap.undelivered(settings.from_environment())


def handle(event: dict[str, Any], _context: LambdaContext) -> dict[str, list[dict[str, str]]]:
    """Write each message into the history; what could not be written stays in its queue and comes again."""
    failed = [record["messageId"] for record in event["Records"] if not _handled(record)]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _handled(record: dict[str, Any]) -> bool:
    delivery = _delivery(record)
    try:
        _take(record["body"], delivery)
    except (NoAnswer, Contended, ClockSkewed, OnStandby) as error:
        logger.warning("dead_message_unfinished", extra={"error": str(error)})
        return False
    except Exception:
        logger.exception("dead_message_unfinished", extra={"message_id": delivery.message_id})
        return False
    return True


def _take(body: str, delivery: Delivery) -> None:
    if not bootstrap.is_run_queue(delivery.queue):
        _service().lapsed(delivery)
        return
    try:
        message = bootstrap.run_message_of(body)
    except Invalid as error:
        _service().unreadable(body, str(error), delivery)
        return
    _service().run(message, delivery)


def _delivery(record: dict[str, Any]) -> Delivery:
    """What the queue says of a message; the name of the dead-letter queue stands for the queue that it belongs to."""
    said = record.get("attributes", {})
    queue = record["eventSourceARN"].rpartition(":")[2]
    receives, sent_at = said.get("ApproximateReceiveCount", "1"), said.get("SentTimestamp", "0")
    return Delivery(queue, record["messageId"], int(receives), int(sent_at))
