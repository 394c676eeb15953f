"""Entry of the ticker: EventBridge Scheduler calls it once a minute."""

import functools
from typing import Any

from cronfleet import bootstrap, settings
from cronfleet.services.ticker import Ticker


@functools.cache
def _service() -> Ticker:
    return bootstrap.ticker(settings.from_environment(settings.TICK_QUEUE_URL))


def handle(_event: dict[str, Any], _context: object) -> dict[str, int]:
    """Lay the ticks of the next minutes; answers how many the queue accepted."""
    return {"ticks": _service().tick()}
