"""Entry of the clerk: the errand queue calls it with one errand per invocation."""

import functools
from typing import Any, Final

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from cronfleet import bootstrap, settings
from cronfleet.domain.errors import ClockSkewed, Invalid
from cronfleet.ports.job_store import NoAnswer
from cronfleet.services.clerk import Clerk

MARGIN_MS: Final = 15_000
"""Kept back from the function's time limit: the step that a doer has begun, and saying when the errand is due next."""

logger = Logger(service="clerk")


@functools.cache
def _service() -> Clerk:
    return bootstrap.clerk(settings.from_environment())


def handle(event: dict[str, Any], context: LambdaContext) -> dict[str, list[dict[str, str]]]:
    """Carry each errand of the event on. One that fails is not worth a second delivery: it is due again by itself."""
    for record in event["Records"]:
        try:
            message = bootstrap.errand_message_of(record["body"])
            deadline_at = bootstrap.deadline_at(context.get_remaining_time_in_millis(), MARGIN_MS)
            _service().handle(message, deadline_at)
        except Invalid as error:
            # The sentence says it all; a traceback would only lead into the parser.
            logger.error("errand_unreadable", extra={"error": str(error)})  # noqa: TRY400 - see the line above
        except (NoAnswer, ClockSkewed) as error:
            logger.warning("errand_unfinished", extra={"error": str(error)})
    return {"batchItemFailures": []}
