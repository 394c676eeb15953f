"""What the tables may take, keep and give back: capacity, warm throughput, recovery, protection."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cronfleet.adapters.dynamodb import schema
from infra.config.context import ConfigError, Context

ON_DEMAND: Final = "on_demand"
PROVISIONED: Final = "provisioned"

LONGEST_RECOVERY_DAYS: Final = 35
WHY_RECOVERY: Final = "which is what DynamoDB keeps"

MOST_UNITS: Final = 1_000_000
FEWEST_WARM_READ: Final = 12_000
FEWEST_WARM_WRITE: Final = 4_000
WHY_WARM: Final = "the least being what a new table on demand takes anyway"

DEFAULT_TARGET_PERCENT: Final = 70
LEAST_TARGET_PERCENT: Final = 20
MOST_TARGET_PERCENT: Final = 90


@dataclass(frozen=True, slots=True)
class Scaling:
    """Provisioned units that follow the load between two bounds, used to `target_percent`."""

    minimum: int
    maximum: int
    target_percent: int


@dataclass(frozen=True, slots=True)
class Warmth:
    """Units a second that a table or an index takes from one moment to the next; it can be raised, never lowered."""

    read: int | None
    write: int | None


@dataclass(frozen=True, slots=True)
class Capacity:
    """Of a table or an index: provisioned with `read` and `write`, or on demand with neither.

    On demand, `most_read` and `most_write` are units a second at which DynamoDB begins to refuse: a guard for the bill.
    """

    read: Scaling | None = None
    write: Scaling | None = None
    most_read: int | None = None
    most_write: int | None = None
    warm: Warmth | None = None


@dataclass(frozen=True, slots=True)
class Tables:
    """`protected` tables cannot be deleted, and outlive their stack. `recovery_days` 0 means no recovery to a point.

    `prefix` begins the names of the tables that are used: of those that were restored beside the stack's own, if any.
    `capacity` stands by the name of a table, or of a table and its index: `schedules`, `schedules.due`.
    """

    prefix: str
    protected: bool
    recovery_days: int
    capacity: Mapping[str, Capacity]


def tables_of(context: Context, *, local: bool, prefix: str) -> Tables:
    """The choices under `tables`."""
    guard = Capacity(
        most_read=context.maybe_number("tables.max_read_units", 1, MOST_UNITS),
        most_write=context.maybe_number("tables.max_write_units", 1, MOST_UNITS),
    )
    capacity = {}
    for table in schema.TABLES:
        own = capacity[table.name] = _capacity(context, f"tables.{table.name}", guard)
        for index in table.indexes:
            name = f"{table.name}.{index.name}"
            capacity[name] = _index_capacity(context, f"tables.{name}", own)
    return Tables(
        prefix=_prefix(context, prefix),
        protected=context.flag("tables.protected", default=not local),
        recovery_days=context.number(
            "tables.recovery_days", 0 if local else LONGEST_RECOVERY_DAYS, 0, LONGEST_RECOVERY_DAYS, WHY_RECOVERY
        ),
        capacity=capacity,
    )


def _prefix(context: Context, default: str) -> str:
    name = context.text("tables.prefix") or default
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", name):
        context.refuse("tables.prefix", name, "at most 40 small letters, digits and hyphens")
    return name


def _capacity(context: Context, key: str, guard: Capacity) -> Capacity:
    mode = context.one_of(f"{key}.mode", ON_DEMAND, (ON_DEMAND, PROVISIONED))
    return _require_sense(key, mode, _chosen(context, key, guard), needed=mode == PROVISIONED)


def _index_capacity(context: Context, key: str, own: Capacity) -> Capacity:
    """An index is paid for as its table is, with its table's figures where it has none of its own."""
    chosen = _chosen(context, key, own)
    mode = ON_DEMAND if own.read is None else PROVISIONED
    found = Capacity(
        read=chosen.read or own.read,
        write=chosen.write or own.write,
        most_read=chosen.most_read,
        most_write=chosen.most_write,
        warm=chosen.warm,
    )
    return _require_sense(key, mode, found, needed=False)


def _chosen(context: Context, key: str, guard: Capacity) -> Capacity:
    most_read = context.maybe_number(f"{key}.max_read_units", 1, MOST_UNITS)
    most_write = context.maybe_number(f"{key}.max_write_units", 1, MOST_UNITS)
    return Capacity(
        read=_scaling(context, f"{key}.read"),
        write=_scaling(context, f"{key}.write"),
        most_read=most_read or guard.most_read,
        most_write=most_write or guard.most_write,
        warm=_warmth(context, key),
    )


def _require_sense(key: str, mode: str, chosen: Capacity, *, needed: bool) -> Capacity:
    """The capacity, less a guard that provisioned units make needless."""
    scaled = chosen.read is not None or chosen.write is not None
    if needed and (chosen.read is None or chosen.write is None):
        raise ConfigError(
            f"context '{key}.mode' is {PROVISIONED!r}: write '{key}.read.maximum' and '{key}.write.maximum' as well"
        )
    if scaled and mode == ON_DEMAND:
        raise ConfigError(
            f"context '{key}' has provisioned units, and its table is paid for on demand: write "
            f"'{PROVISIONED}' as the table's mode, or leave 'read' and 'write' out"
        )
    for word, warm, most in (
        ("read", chosen.warm and chosen.warm.read, chosen.most_read),
        ("write", chosen.warm and chosen.warm.write, chosen.most_write),
    ):
        if not scaled and warm and most and warm > most:
            raise ConfigError(
                f"context '{key}.warm_{word}_units' is {warm} and the most it may take is {most} "
                f"('{key}.max_{word}_units' or 'tables.max_{word}_units'): write a warm throughput that may be used"
            )
    return Capacity(chosen.read, chosen.write, warm=chosen.warm) if scaled else chosen


def _scaling(context: Context, key: str) -> Scaling | None:
    minimum = context.number(f"{key}.minimum", 1, 1, MOST_UNITS)
    percent = context.number(f"{key}.target_percent", DEFAULT_TARGET_PERCENT, LEAST_TARGET_PERCENT, MOST_TARGET_PERCENT)
    maximum = context.maybe_number(f"{key}.maximum", 1, MOST_UNITS)
    if maximum is None:
        for given in (f"{key}.minimum", f"{key}.target_percent"):
            if context.text(given):
                raise ConfigError(f"context '{given}' without '{key}.maximum': write the maximum as well")
        return None
    if minimum > maximum:
        context.refuse(f"{key}.maximum", maximum, f"no less than the minimum, which is {minimum}")
    return Scaling(minimum, maximum, percent)


def _warmth(context: Context, key: str) -> Warmth | None:
    read = context.maybe_number(f"{key}.warm_read_units", FEWEST_WARM_READ, MOST_UNITS, WHY_WARM)
    write = context.maybe_number(f"{key}.warm_write_units", FEWEST_WARM_WRITE, MOST_UNITS, WHY_WARM)
    return None if read is None and write is None else Warmth(read, write)
