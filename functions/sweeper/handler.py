"""Entry of the sweeper: EventBridge Scheduler calls it once a minute, directly and not through a queue."""

import functools
from dataclasses import asdict
from typing import Any, Final

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from cronfleet import bootstrap, settings
from cronfleet.domain.errors import ClockSkewed
from cronfleet.services.sweeper import Sweeper

MARGIN_MS: Final = 20_000
"""Kept back from the function's time limit: writing the books of the shards that were read."""

logger = Logger(service="sweeper")


@functools.cache
def _service() -> Sweeper:
    return bootstrap.sweeper(settings.from_environment(settings.RUN_QUEUE_URLS, settings.ERRAND_QUEUE_URL))


def handle(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Sweep every shard once; answers what was done, in counts."""
    deadline_at = bootstrap.deadline_at(context.get_remaining_time_in_millis(), MARGIN_MS)
    try:
        report = asdict(_service().sweep(deadline_at))
    except ClockSkewed as error:
        # The sentence says it all: this machine's clock is wrong, whatever the code was doing.
        logger.error("sweep_refused", extra={"error": str(error)})  # noqa: TRY400 - see the line above
        return {}
    logger.info("swept", extra=report)
    return report
