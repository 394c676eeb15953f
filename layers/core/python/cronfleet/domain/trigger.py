"""What names a schedule's fires: a cron expression in a zone, an interval with an anchor, or one instant.

Every trigger answers `next_after(instant)`: the first nominal time strictly later, or None for never again. Nominal
times are whole seconds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias

from cronfleet.domain import cron, cron_grammar, zones
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import LATEST, MINUTE, SECOND, Instant, floor_second, to_text
from cronfleet.domain.time_text import (
    LONGEST_INTERVAL_SECONDS,
    OLDEST,
    SHORTEST_INTERVAL_SECONDS,
    Moment,
    interval_text,
    parse_interval,
    parse_moment,
)


@dataclass(frozen=True, slots=True)
class CronTrigger:
    """Fires when the clock in `timezone` (an IANA name) shows a time that `expression` names."""

    expression: str
    timezone: str

    def next_after(self, instant: Instant) -> Instant | None:
        """The first nominal time strictly later; raises `Invalid` if the expression or the zone is none."""
        found = cron.next_fire(cron.parse(self.expression), zones.load(self.timezone), instant // SECOND)
        if found is None:
            return None
        if found * SECOND <= instant:  # would be our own error: better a parked schedule than a loop without end
            raise Invalid(
                "cron", f"`{self.expression}` gave {to_text(found * SECOND)}, not later than {to_text(instant)}"
            )
        return found * SECOND


@dataclass(frozen=True, slots=True)
class IntervalTrigger:
    """Fires at `anchor_at` and every `every_seconds` before and after it."""

    every_seconds: int
    anchor_at: Instant

    def next_after(self, instant: Instant) -> Instant | None:
        """The first nominal time strictly later; None after the year 9999."""
        every = self.every_seconds * SECOND
        found = self.anchor_at + ((instant - self.anchor_at) // every + 1) * every
        return found if found <= LATEST else None


@dataclass(frozen=True, slots=True)
class OneShotTrigger:
    """Fires once, at `at`. `text` and `timezone` are what the user wrote."""

    at: Instant
    text: str
    timezone: str | None

    def next_after(self, instant: Instant) -> Instant | None:
        """`at` while that is strictly later, then None."""
        return self.at if self.at > instant else None


Trigger: TypeAlias = CronTrigger | IntervalTrigger | OneShotTrigger

UNCOMPUTABLE: Final = (Invalid, ValueError, ArithmeticError)
"""What a trigger raises that no longer computes: its zone has left the package, or the product is at fault."""

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "cron": ("cron", "timezone"),
    "every": ("every", "anchor"),
    "at": ("at", "timezone"),
}


def fires(trigger: Trigger, after: Instant, until: Instant | None = None) -> Iterator[Instant]:
    """The nominal times strictly after `after`, up to and including `until`, oldest first."""
    nominal_at = trigger.next_after(after)
    while nominal_at is not None and (until is None or nominal_at <= until):
        yield nominal_at
        nominal_at = trigger.next_after(nominal_at)


def latest_fires(trigger: Trigger, after: Instant, until: Instant, limit: int) -> list[Instant]:
    """The newest `limit` nominal times in `(after, until]`, oldest first."""
    if limit <= 0 or until <= after:
        return []
    if isinstance(trigger, IntervalTrigger):
        after = max(after, until - limit * trigger.every_seconds * SECOND)
        return list(fires(trigger, after, until))[-limit:]
    return _latest(trigger, after, until, limit)


def _latest(trigger: Trigger, after: Instant, until: Instant, limit: int) -> list[Instant]:
    """Halves the stretch, newer half first: what is empty costs one look, what is too old none."""
    first = trigger.next_after(after)
    if first is None or first > until:
        return []
    if until - after <= limit * MINUTE:  # a cron names at most one time a minute
        return list(fires(trigger, after, until))[-limit:]
    middle = (after + until) // 2
    newer = _latest(trigger, middle, until, limit)
    older = _latest(trigger, after, middle, limit - len(newer)) if len(newer) < limit else []
    return older + newer


def parse_trigger(fields: Mapping[str, object], now: Instant, timezone: str | None = None) -> Trigger:
    """Reads the API's form: `{"cron", "timezone"}`, `{"every"[, "anchor"]}` or `{"at"[, "timezone"]}`.

    `timezone` is what counts where the fields name none. `Invalid` names the field: `cron`, `timezone`, `every`,
    `anchor`, `at`, an unknown one, or none where the kind is not clear.
    """
    kinds = [kind for kind in _KINDS if kind in fields]
    if len(kinds) != 1:
        found = f"not {' and '.join(kinds)} together" if kinds else "not none of them"
        raise Invalid("", f"a trigger has exactly one of cron, every and at, {found}")
    kind = kinds[0]
    for name in fields:
        if name not in _KINDS[kind]:
            raise Invalid(str(name), f"is no field of a trigger with `{kind}`; it has {' and '.join(_KINDS[kind])}")
    zone_name = fields.get("timezone", timezone)
    if kind == "cron":
        return _cron(fields["cron"], zone_name)
    if kind == "every":
        return _interval(fields["every"], fields.get("anchor"), now)
    return _one_shot(fields["at"], zone_name, now)


def _cron(expression: object, timezone: object) -> CronTrigger:
    normal = cron_grammar.normalise(expression)
    cron.parse(normal)
    if timezone is None:
        raise Invalid(
            "timezone", "is missing; write the IANA name the expression is meant in, such as Asia/Kolkata or UTC"
        )
    return CronTrigger(normal, _zone_name(timezone))


def _interval(every: object, anchor: object, now: Instant) -> IntervalTrigger:
    seconds = parse_interval(every)
    anchor_at = floor_second(now) if anchor is None else parse_moment(anchor, "anchor").rounded_up().instant("anchor")
    return IntervalTrigger(seconds, anchor_at)


def _one_shot(text: object, timezone: object, now: Instant) -> OneShotTrigger:
    moment = parse_moment(text, "at")
    zone_name = None if timezone is None else _zone_name(timezone)
    at = _exact(moment.rounded_up(), zone_name)
    if at is None or not OLDEST <= at <= LATEST:
        raise Invalid("at", f"{text!r} lies outside the years 1 to 9999 in UTC")
    if at <= now:
        raise Invalid("at", f"{text!r} ({to_text(at)}) is past; a one-shot lies after {to_text(now)}")
    return OneShotTrigger(at, str(text), zone_name)


def _exact(moment: Moment, zone_name: str | None) -> Instant | None:
    if moment.offset_seconds is not None:
        return moment.instant("at")
    if zone_name is None:
        raise Invalid(
            "at", "has neither an offset nor a zone; end it with Z or an offset such as +05:30, or name the timezone"
        )
    second = zones.load(zone_name).first_instant(moment.wall_seconds)
    return None if second is None else second * SECOND


def _zone_name(timezone: object) -> str:
    if not isinstance(timezone, str):
        raise Invalid("timezone", f"must be text, an IANA name such as Asia/Kolkata, not {type(timezone).__name__}")
    return zones.load(timezone).name


def describe(trigger: Trigger) -> dict[str, object]:
    """The API's form, as `parse_trigger` reads it."""
    match trigger:
        case CronTrigger(expression, timezone):
            return {"cron": expression, "timezone": timezone}
        case IntervalTrigger(every_seconds, anchor_at):
            return {"every": interval_text(every_seconds), "anchor": to_text(anchor_at)}
        case OneShotTrigger(_, text, None):
            return {"at": text}
        case OneShotTrigger(_, text, zone_name):
            return {"at": text, "timezone": zone_name}


def to_record(trigger: Trigger) -> dict[str, str | int]:
    """The form kept in the job store: `c` expression, `i` interval in seconds, `o` one instant; `z` zone, `a` anchor,
    `t` text. Short keys, because every claim pays for the size of its item; instants are epoch seconds.
    """
    match trigger:
        case CronTrigger(expression, timezone):
            return {"c": expression, "z": timezone}
        case IntervalTrigger(every_seconds, anchor_at):
            return {"i": every_seconds, "a": anchor_at // SECOND}
        case OneShotTrigger(at, text, None):
            return {"o": at // SECOND, "t": text}
        case OneShotTrigger(at, text, zone_name):
            return {"o": at // SECOND, "t": text, "z": str(zone_name)}


def from_record(record: Mapping[str, object]) -> Trigger:
    """The reverse of `to_record`. `Invalid` for a damaged one, and for an expression or zone that is none any more:
    such a schedule is parked.
    """
    if "c" in record:
        expression = _text(record, "c", "cron")
        cron.parse(expression)
        return CronTrigger(expression, _zone_name(_text(record, "z", "timezone")))
    if "i" in record:
        every_seconds = _whole(record, "i", "every")
        if not SHORTEST_INTERVAL_SECONDS <= every_seconds <= LONGEST_INTERVAL_SECONDS:
            raise Invalid("every", f"the stored interval of {every_seconds} s is outside its limits")
        return IntervalTrigger(every_seconds, _instant(record, "a", "anchor"))
    if "o" in record:
        zone_name = _zone_name(record["z"]) if "z" in record else None
        return OneShotTrigger(_instant(record, "o", "at"), _text(record, "t", "at"), zone_name)
    raise Invalid("", "the stored trigger is of no known kind")


def _text(record: Mapping[str, object], key: str, field: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise Invalid(field, f"the stored trigger has {type(value).__name__} where text belongs (`{key}`)")
    return value


def _whole(record: Mapping[str, object], key: str, field: str) -> int:
    value = record.get(key)
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)  # the store hands numbers out like that
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(field, f"the stored trigger has {value!r:.40} where a whole number belongs (`{key}`)")
    return value


def _instant(record: Mapping[str, object], key: str, field: str) -> Instant:
    instant = _whole(record, key, field) * SECOND
    if abs(instant) > LATEST:
        raise Invalid(field, f"the stored trigger names an instant outside the calendar (`{key}`)")
    return instant
