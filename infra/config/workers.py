"""How many runs go on at once: for each run queue at most so many, or so many pollers held ready."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cronfleet.settings import RUN_QUEUES
from infra.config.context import ConfigError, Context

DEFAULT_CONCURRENCY: Final = {"standard": 500, "priority": 300, "backfill": 50}
"""Runs of each queue at once. A new account has 1,000 in all: the rest is for the functions that decide."""
LOCAL_CONCURRENCY: Final = {"backfill": 2}
"""On one machine what yields to live traffic leaves it the processor."""

FEWEST_WORKERS: Final = 2
MOST_WORKERS: Final = 1_000
WHY_WORKERS: Final = "which is what a queue's trigger takes"

FEWEST_POLLERS: Final = 2
MOST_POLLERS_READY: Final = 200
MOST_POLLERS: Final = 2_000
WHY_POLLERS: Final = "which is what a trigger in provisioned mode takes"


@dataclass(frozen=True, slots=True)
class Pollers:
    """Pollers of a queue that are held ready, and up to how many there may be; each keeps ten invocations going."""

    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class Workers:
    """`concurrency` is how many runs of each queue go on at once at most; one that is not named has no limit.

    `pollers` is for queues whose trigger is provisioned instead; no queue is in both.
    """

    concurrency: Mapping[str, int]
    pollers: Mapping[str, Pollers]


def workers_of(context: Context, *, local: bool) -> Workers:
    """The choices under `workers.<queue>`."""
    pollers = {name: found for name in RUN_QUEUES if (found := _pollers(context, name)) is not None}
    defaults = LOCAL_CONCURRENCY if local else DEFAULT_CONCURRENCY
    concurrency = {}
    for name in RUN_QUEUES:
        key = f"workers.{name}.max_concurrency"
        chosen = context.maybe_number(key, FEWEST_WORKERS, MOST_WORKERS, WHY_WORKERS)
        if chosen is not None and name in pollers:
            raise ConfigError(
                f"context {key!r} and 'workers.{name}.pollers.maximum' exclude each other: "
                "write one of them, as a trigger of Lambda takes (ten runs for each poller is the limit of the other)"
            )
        if name not in pollers and (chosen is not None or name in defaults):
            concurrency[name] = chosen or defaults[name]
    return Workers(concurrency, pollers)


def _pollers(context: Context, queue: str) -> Pollers | None:
    least, most = f"workers.{queue}.pollers.minimum", f"workers.{queue}.pollers.maximum"
    maximum = context.maybe_number(most, FEWEST_POLLERS, MOST_POLLERS, WHY_POLLERS)
    minimum = context.maybe_number(least, FEWEST_POLLERS, MOST_POLLERS_READY, WHY_POLLERS)
    if maximum is None and minimum is None:
        return None
    if maximum is None or minimum is None or minimum > maximum:
        raise ConfigError(f"context {least!r} is {minimum} and {most!r} is {maximum}: write both, the least first")
    return Pollers(minimum, maximum)
