"""What names a schedule's fires: a cron expression in a zone, an interval with an anchor, one instant, or the runs
of other schedules (`domain/dependency.py`).

Every trigger answers `next_after(instant)`: the first nominal time strictly later, or None for never again. Nominal
times are whole seconds.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypeVar

from cronfleet.domain import aws_dialect, calendared, cron, zones
from cronfleet.domain.aws_dialect import At, Rate
from cronfleet.domain.calendar import Calendar, CalendarRule
from cronfleet.domain.calendar_form import describe_rule, parse_rule, rule_of_record, rule_record
from cronfleet.domain.clock_policy import Gap, Repeat
from cronfleet.domain.cron_grammar import Dialect
from cronfleet.domain.dependency import (
    FIELDS,
    AfterTrigger,
    after_of_record,
    after_record,
    describe_after,
    parse_after,
)
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import LATEST, MINUTE, SECOND, Instant, floor_second, to_datetime, to_text
from cronfleet.domain.time_text import (
    LONGEST_INTERVAL_SECONDS,
    OLDEST,
    SHORTEST_INTERVAL_SECONDS,
    Moment,
    interval_text,
    parse_interval,
    parse_moment,
)
from cronfleet.domain.zones import ZoneSource

FIRES_KEPT: Final = 4_096
"""Next fires that a process keeps: in a crowded second hundreds of schedules ask for each."""


@dataclass(frozen=True, slots=True)
class CronTrigger:
    """Fires when the clock in `timezone` (an IANA name) shows a time that `expression` names.

    `gap` and `overlap` are what its owner chose for changes of the clock; None: the default of the dialect. `calendar`
    moves or takes away named days.
    """

    expression: str
    timezone: str
    gap: Gap | None = None
    overlap: Repeat | None = None
    dialect: Dialect = Dialect.CRON
    calendar: CalendarRule | None = None

    def next_after(self, instant: Instant) -> Instant | None:
        """The first nominal time strictly later; raises `Invalid` if the expression or the zone is none."""
        return shared_next(self, ground_of(self), instant // SECOND)

    @property
    def gap_policy(self) -> Gap:
        """What becomes of a fixed time that the clock skips."""
        return self.gap or DEFAULT_GAP[self.dialect]

    @property
    def repeat_policy(self) -> Repeat:
        """Which pass counts of a fixed time that the clock shows twice."""
        return self.overlap or DEFAULT_REPEAT


Ground: TypeAlias = tuple[ZoneSource, Calendar | None]


def ground_of(trigger: CronTrigger) -> Ground:
    """What decides about the fires of `trigger` besides itself, and so belongs to the key of whatever is kept of them:
    the zone data at work, and what its calendar holds. (A rule says the same whatever its calendar holds, and two
    tenants may have calendars of one name.) Raises `Invalid` where the calendar cannot be read.
    """
    rule = trigger.calendar
    return zones.at_work(), None if rule is None else rule.content


@lru_cache(maxsize=FIRES_KEPT)
def shared_next(trigger: CronTrigger, ground: Ground, second: int) -> Instant | None:
    """The first nominal time later than `second` of every schedule with this trigger on this ground.

    What a schedule adds of its own (start, end, jitter, deferrals) is added by whoever asks.
    """
    source, _ = ground
    zone = source.load(trigger.timezone)
    found = cron.next_fire(calendared.search_of(trigger), zone, second, trigger.gap_policy, trigger.repeat_policy)
    if found is None:
        return None
    if found <= second:  # would be our own error: better a parked schedule than a loop without end
        times = f"{to_text(found * SECOND)}, not later than {to_text(second * SECOND)}"
        raise Invalid("cron", f"`{trigger.expression}` gave {times}")
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


Trigger: TypeAlias = CronTrigger | IntervalTrigger | OneShotTrigger | AfterTrigger

_Choice = TypeVar("_Choice", Gap, Repeat)

DEFAULT_GAP: Final[Mapping[Dialect, Gap]] = {Dialect.CRON: Gap.AFTER, Dialect.AWS: Gap.SKIP}
LAST_YEAR: Final = 9999
DEFAULT_REPEAT: Final = Repeat.FIRST

UNCOMPUTABLE: Final = (Invalid, ValueError, ArithmeticError)
"""What a trigger raises that no longer computes: its zone has left the package, or the product is at fault."""

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "cron": ("cron", "timezone", "gap", "overlap", "dialect", "calendar"),
    "every": ("every", "anchor"),
    "at": ("at", "timezone"),
    "after": FIELDS,
    "rate(…)": ("cron", "timezone", "anchor", "dialect"),
    "at(…)": ("cron", "timezone", "dialect"),
}
"""The fields of a trigger by its kind; the last two stand under `cron`."""


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
        until = min(until, LATEST)  # its last fire stands before the end of time, however far the stretch goes on
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
    """Reads the API's form: `{"cron", "timezone"[, "gap"][, "overlap"][, "dialect"]}`, `{"every"[, "anchor"]}`,
    `{"at"[, "timezone"]}` or `{"after"[, "on"][, "within"][, "else"]}`; `rate(…)` and `at(…)` under `cron` are the
    other two.

    `timezone` is what counts where the fields name none. `Invalid` names the field (an unknown one too), or none where
    the kind is not clear. A cron that names no time after `now` is refused.
    """
    plain = plain_form(fields)
    zone_name = plain.get("timezone", timezone)
    if "cron" in plain:
        return _cron(plain, zone_name, now)
    if "after" in plain:
        return parse_after(plain)
    try:
        if "every" in plain:
            return _interval(plain["every"], plain.get("anchor"), now)
        return _one_shot(plain["at"], zone_name, now)
    except Invalid as error:
        if error.field in ("every", "at") and "cron" in fields:
            raise Invalid("cron", f"`{fields['cron']}`: {error.reason}") from error
        raise


def plain_form(fields: Mapping[str, object]) -> Mapping[str, object]:
    """`fields`, whose names are judged, with `rate(…)` and `at(…)` said as the interval and the one-shot they are."""
    kinds = [kind for kind in ("cron", "every", "at", "after") if kind in fields]
    if len(kinds) != 1:
        found = f"not {' and '.join(kinds)} together" if kinds else "not none of them"
        raise Invalid("", f"a trigger has exactly one of cron, every, at and after, {found}")
    meant = aws_dialect.read(fields["cron"]) if kinds == ["cron"] else ""
    match meant:
        case Rate(every):
            _check_names(fields, "rate(…)")
            if fields.get("timezone") is not None:
                _zone_name(fields["timezone"])
            return {"every": every} | {name: fields[name] for name in ("anchor",) if name in fields}
        case At(moment):
            _check_names(fields, "at(…)")
            return {"at": moment} | {name: fields[name] for name in ("timezone",) if name in fields}
    _check_names(fields, kinds[0])
    return {**fields, "cron": meant} if meant else fields


def _check_names(fields: Mapping[str, object], kind: str) -> None:
    for name in fields:
        if name not in _KINDS[kind]:
            if name == "calendar":
                raise Invalid(
                    name, f"goes with a cron expression, not with `{kind}`, which names no days; leave it out"
                )
            raise Invalid(str(name), f"is no field of a trigger with `{kind}`; it has {', '.join(_KINDS[kind])}")
    if "(" in kind:
        _dialect(fields.get("dialect"), str(fields["cron"]))


def _cron(fields: Mapping[str, object], timezone: object, now: Instant) -> CronTrigger:
    expression = str(fields["cron"])
    dialect = _dialect(fields.get("dialect"), expression)
    cron.parse(expression, dialect)
    if timezone is None:
        raise Invalid(
            "timezone", "is missing; write the IANA name the expression is meant in, such as Asia/Kolkata or UTC"
        )
    gap, overlap = _choice(fields, "gap", Gap), _choice(fields, "overlap", Repeat)
    trigger = CronTrigger(
        expression,
        _zone_name(timezone),
        # What is the default anyway is left out: saying it changes nothing about when the schedule fires.
        gap=None if gap is DEFAULT_GAP[dialect] else gap,
        overlap=None if overlap is DEFAULT_REPEAT else overlap,
        dialect=dialect,
    )
    _check_fires(trigger, now)
    if fields.get("calendar") is None:
        return trigger
    rule = parse_rule(fields["calendar"])
    calendared.check(rule, cron.fields_of(trigger))
    return replace(trigger, calendar=rule)


def _check_fires(trigger: CronTrigger, now: Instant) -> None:
    """Refuses what names no time after `now`: its years are over, or the clock skips each of its times."""
    if trigger.next_after(now) is not None:
        return
    years = cron.fields_of(trigger).years
    last_year = LAST_YEAR if years is None else years[-1]
    why = "each of its times is one that the clock there skips"
    if to_datetime(now).year >= last_year:
        why = f"its last year is {last_year}"
    elif trigger.gap_policy is Gap.SKIP:
        why += '; choose another time, or "gap": "after"'
    raise Invalid(
        "cron",
        f"`{trigger.expression}` can never fire in {trigger.timezone} after {to_text(floor_second(now))}: {why}",
    )


def _dialect(asked: object, expression: str) -> Dialect:
    if asked is None:
        return Dialect.AWS if aws_dialect.is_wrapped(expression) else Dialect.CRON
    if asked not in tuple(Dialect):
        raise _none_of("dialect", asked, Dialect)
    return Dialect(str(asked))


def _choice(fields: Mapping[str, object], name: str, choices: type[_Choice]) -> _Choice | None:
    asked = fields.get(name)
    if asked is None:
        return None
    if asked not in tuple(choices):
        raise _none_of(name, asked, choices)
    return choices(str(asked))


def _none_of(name: str, asked: object, choices: type[StrEnum]) -> Invalid:
    """As the API's schema says it, which looks first there."""
    *most, last = (repr(choice.value) for choice in choices)
    return Invalid(name, f"must be {', '.join(most)} or {last}, not {json.dumps(asked, default=repr):.40}")


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


def retold(trigger: OneShotTrigger) -> OneShotTrigger:
    """The same one-shot, with the instant that its local time has by the zone data at work."""
    moment = parse_moment(trigger.text, "at").rounded_up()
    if trigger.timezone is None or moment.offset_seconds is not None:
        return trigger
    at = _exact(moment, trigger.timezone)
    return trigger if at is None else replace(trigger, at=at)


def _zone_name(timezone: object) -> str:
    if not isinstance(timezone, str):
        raise Invalid("timezone", f"must be text, an IANA name such as Asia/Kolkata, not {type(timezone).__name__}")
    return zones.load(timezone).name


def describe(trigger: Trigger) -> dict[str, object]:
    """The API's form, as `parse_trigger` reads it."""
    match trigger:
        case CronTrigger(expression, timezone):
            form: dict[str, object] = {
                "cron": expression,
                "timezone": timezone,
                **_chosen(trigger, ("gap", "overlap", "dialect")),
            }
            return form if trigger.calendar is None else {**form, "calendar": describe_rule(trigger.calendar)}
        case IntervalTrigger(every_seconds, anchor_at):
            return {"every": interval_text(every_seconds), "anchor": to_text(anchor_at)}
        case OneShotTrigger(_, text, None):
            return {"at": text}
        case OneShotTrigger(_, text, zone_name):
            return {"at": text, "timezone": zone_name}
        case AfterTrigger():
            return describe_after(trigger)


def _chosen(trigger: CronTrigger, names: tuple[str, str, str]) -> dict[str, str]:
    """What is not the default, under these names; a wrapped `cron(…)` says its dialect itself."""
    dialect = None if aws_dialect.is_wrapped(trigger.expression) else trigger.dialect
    chosen = (trigger.gap, trigger.overlap, None if dialect is Dialect.CRON else dialect)
    return {name: value.value for name, value in zip(names, chosen, strict=True) if value is not None}


def to_record(trigger: Trigger) -> dict[str, Any]:
    """The form kept in the job store: `c` expression, `i` interval in seconds, `o` one instant; `z` zone, `a` anchor,
    `t` text, `g` gap, `r` overlap, `d` dialect, `k` calendar.

    Short keys, because every claim pays for the size of its item; instants are epoch seconds.
    """
    match trigger:
        case CronTrigger(expression, timezone):
            record = {"c": expression, "z": timezone, **_chosen(trigger, ("g", "r", "d"))}
            return record if trigger.calendar is None else {**record, "k": rule_record(trigger.calendar)}
        case IntervalTrigger(every_seconds, anchor_at):
            return {"i": every_seconds, "a": anchor_at // SECOND}
        case OneShotTrigger(at, text, None):
            return {"o": at // SECOND, "t": text}
        case OneShotTrigger(at, text, zone_name):
            return {"o": at // SECOND, "t": text, "z": str(zone_name)}
        case AfterTrigger():
            return after_record(trigger)


def from_record(record: Mapping[str, object]) -> Trigger:
    """The reverse of `to_record`. `Invalid` for a damaged one, and for an expression or zone that is none any more:
    such a schedule is parked.
    """
    if "c" in record:
        trigger = unchecked_cron(record)
        cron.parse(trigger.expression, trigger.dialect)
        zones.load(trigger.timezone)
        return trigger
    if "i" in record:
        every_seconds = _whole(record, "i", "every")
        if not SHORTEST_INTERVAL_SECONDS <= every_seconds <= LONGEST_INTERVAL_SECONDS:
            raise Invalid("every", f"the stored interval of {every_seconds} s is outside its limits")
        return IntervalTrigger(every_seconds, _instant(record, "a", "anchor"))
    if "o" in record:
        zone_name = _zone_name(record["z"]) if "z" in record else None
        return OneShotTrigger(_instant(record, "o", "at"), _text(record, "t", "at"), zone_name)
    if "f" in record:
        return after_of_record(record)
    raise Invalid("", "the stored trigger is of no known kind")


def unchecked_cron(record: Mapping[str, object]) -> CronTrigger:
    """The cron trigger in `record`, whether or not its expression and zone still mean something."""
    expression = _text(record, "c", "cron")
    fields = {"gap": record.get("g"), "overlap": record.get("r")}
    return CronTrigger(
        expression,
        _text(record, "z", "timezone"),
        _choice(fields, "gap", Gap),
        _choice(fields, "overlap", Repeat),
        _dialect(record.get("d"), expression),
        None if record.get("k") is None else rule_of_record(record["k"]),
    )


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
