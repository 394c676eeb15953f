"""How many messages of a queue are worked on at once: at most so many, or with so many pollers held ready."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

from cronfleet.adapters.sqs import queues
from cronfleet.settings import FUNCTION_QUEUES
from infra.config.context import ConfigError, Context

DEFAULT_CONCURRENCY: Final = {"standard": 500, "priority": 300, "backfill": 50}
"""Runs of each queue at once. A new account has 1,000 in all: the rest is for the functions that decide."""
LOCAL_CONCURRENCY: Final = {"backfill": 2}
"""On one machine what yields to live traffic leaves it the processor."""

ERRANDS_AT_ONCE: Final = 10
"""None of them is anybody's live run, whose throughput they share."""
LOCAL_ERRANDS_AT_ONCE: Final = 2

FEWEST_AT_ONCE: Final = 2
MOST_AT_ONCE: Final = 1_000
WHY_AT_ONCE: Final = "which is what a queue's trigger takes"

FEWEST_POLLERS: Final = 2
MOST_POLLERS_READY: Final = 200
MOST_POLLERS: Final = 2_000
WHY_POLLERS: Final = "which is what a trigger in provisioned mode takes"

INVOCATIONS_PER_POLLER: Final = 10
"""How many invocations one provisioned poller keeps going side by side (Lambda, SQS provisioned mode)."""


@dataclass(frozen=True, slots=True)
class Pollers:
    """Pollers of a queue that are held ready, and up to how many there may be."""

    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class Trigger:
    """What stands between a queue and its function: `max_concurrency`, or `pollers`, or neither."""

    max_concurrency: int | None = None
    pollers: Pollers | None = None


@dataclass(frozen=True, slots=True)
class Triggers:
    """The triggers of the run queues by tier and lane, of the queue of ticks, and of errands."""

    workers: Mapping[str, Trigger]
    ticks: Trigger
    errands: Trigger


def triggers_of(context: Context, *, local: bool, shards: int) -> Triggers:
    """The choices under `workers.<queue>`, `ticks` and `errands`."""
    concurrency = LOCAL_CONCURRENCY if local else DEFAULT_CONCURRENCY
    errands = LOCAL_ERRANDS_AT_ONCE if local else ERRANDS_AT_ONCE
    return Triggers(
        workers={
            name: _trigger(context, f"workers.{name}", Trigger(max_concurrency=concurrency.get(name)))
            for name in FUNCTION_QUEUES
        },
        ticks=_trigger(context, queues.TICKS.name, _for_all_shards(shards, local=local)),
        errands=_trigger(context, queues.ERRANDS.name, Trigger(max_concurrency=errands)),
    )


def _for_all_shards(shards: int, *, local: bool) -> Trigger:
    if local:
        # One for each shard: on a small machine, five that start cold take a minute from everything else.
        return Trigger(max_concurrency=max(FEWEST_AT_ONCE, shards))
    # Without them the mapping starts at five invocations and adds 300 a minute: at a full hour the shards
    # would wait for each other.
    needed = max(FEWEST_POLLERS, ceil(shards / INVOCATIONS_PER_POLLER))
    return Trigger(pollers=Pollers(min(needed, MOST_POLLERS_READY), 2 * needed))


def _trigger(context: Context, key: str, default: Trigger) -> Trigger:
    most = context.maybe_number(f"{key}.max_concurrency", FEWEST_AT_ONCE, MOST_AT_ONCE, WHY_AT_ONCE)
    pollers = _pollers(context, f"{key}.pollers")
    if most is not None and pollers is not None:
        raise ConfigError(
            f"context '{key}.max_concurrency' and '{key}.pollers.maximum' exclude each other: write one of them, as "
            f"Lambda takes one (the most at once with pollers is {INVOCATIONS_PER_POLLER} for each)"
        )
    return default if most is None and pollers is None else Trigger(most, pollers)


def _pollers(context: Context, key: str) -> Pollers | None:
    minimum = context.maybe_number(f"{key}.minimum", FEWEST_POLLERS, MOST_POLLERS_READY, WHY_POLLERS)
    maximum = context.maybe_number(f"{key}.maximum", FEWEST_POLLERS, MOST_POLLERS, WHY_POLLERS)
    if maximum is None and minimum is None:
        return None
    if maximum is None or minimum is None or minimum > maximum:
        raise ConfigError(
            f"context '{key}.minimum' is {minimum} and '{key}.maximum' is {maximum}: write both, the maximum no less"
        )
    return Pollers(minimum, maximum)
