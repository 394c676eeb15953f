"""Entry of the dispatcher: the tick queue calls it with one tick per invocation."""

import functools
from dataclasses import asdict
from typing import Any, Final

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from cronfleet import bootstrap, settings
from cronfleet.domain.errors import ClockSkewed, Invalid
from cronfleet.ports.job_store import NoAnswer
from cronfleet.services.dispatcher import Dispatcher

MARGIN_MS: Final = 15_000
"""Kept back from the function's time limit: carrying out the batch that is open, and letting go of the shard."""

logger = Logger(service="dispatcher")


@functools.cache
def _service() -> Dispatcher:
    return bootstrap.dispatcher(settings.from_environment(settings.RUN_QUEUE_URLS, settings.ERRAND_QUEUE_URL))


def handle(event: dict[str, Any], context: LambdaContext) -> dict[str, list[dict[str, str]]]:
    """Serve each tick of the event. A tick that fails is not worth a second delivery: the next slot does its work."""
    for record in event["Records"]:
        try:
            tick = bootstrap.tick_of(record["body"])
            deadline_at = bootstrap.deadline_at(context.get_remaining_time_in_millis(), MARGIN_MS)
            report = _service().tick(tick, deadline_at)
            if report.batches or report.finished_for_predecessor or report.parks:
                logger.info("tick_served", extra=asdict(report))
        except Invalid as error:
            # The sentence says it all; a traceback would only lead into the parser.
            logger.error("tick_unreadable", extra={"error": str(error)})  # noqa: TRY400 - see the line above
        except (NoAnswer, ClockSkewed) as error:
            logger.warning("tick_unfinished", extra={"error": str(error)})
    return {"batchItemFailures": []}
