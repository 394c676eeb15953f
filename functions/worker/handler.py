"""Entry of the worker: the run queue of its tier calls it with one message per invocation (decision 0004)."""

import functools
from typing import Any, Final

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from cronfleet import bootstrap, settings
from cronfleet.domain.errors import Invalid
from cronfleet.services.worker import Worker

HANDLERS: Final = f"{__package__}.handlers"
"""The folder beside this file: `worker.handlers` on Lambda, where the function's folder is a root."""

logger = Logger(service="worker")


@functools.cache
def _service() -> Worker:
    return bootstrap.worker(settings.from_environment(settings.RUN_QUEUE_URLS), HANDLERS)


def handle(event: dict[str, Any], _context: LambdaContext) -> dict[str, list[dict[str, str]]]:
    """Execute each message; those that must be delivered again are named, and cost their neighbours nothing."""
    failed = [record["messageId"] for record in event["Records"] if not _handled(record)]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _handled(record: dict[str, Any]) -> bool:
    message_id = record.get("messageId")
    try:
        _service().handle(bootstrap.run_message_of(record["body"]), bootstrap.delivery_of(record))
    except Invalid as error:
        # It goes to the dead-letter queue after its last delivery, where an operator can read it.
        bootstrap.telemetry("worker").alarm("message_unreadable", message_id=message_id, error=str(error))
        return False
    except Exception:
        logger.exception("message_unfinished", extra={"message_id": message_id})
        return False
    return True
