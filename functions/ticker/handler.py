"""Entry of the ticker: EventBridge Scheduler calls it once a minute."""

import functools
from typing import Any

from aws_lambda_powertools import Logger

from cronfleet import bootstrap, settings
from cronfleet.domain.errors import ClockSkewed
from cronfleet.services.ticker import Ticker

logger = Logger(service="ticker")


@functools.cache
def _service() -> Ticker:
    return bootstrap.ticker(settings.from_environment(settings.TICK_QUEUE_URL))


def handle(_event: dict[str, Any], _context: object) -> dict[str, int]:
    """Lay the ticks of the next minutes; answers how many the queue accepted."""
    try:
        return {"ticks": _service().tick()}
    except ClockSkewed as error:
        # The sentence says it all: this machine's clock is wrong, whatever the code was doing.
        logger.error("ticks_refused_here", extra={"error": str(error)})  # noqa: TRY400 - see the line above
        return {"ticks": 0}
