"""The dialect of AWS EventBridge Scheduler: what is read, what is refused and what the refusal says."""

from datetime import datetime
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.cron_grammar import Dialect
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import from_datetime, to_text
from cronfleet.domain.trigger import (
    CronTrigger,
    IntervalTrigger,
    OneShotTrigger,
    describe,
    fires,
    parse_trigger,
)

NOW = from_datetime(datetime.fromisoformat("2026-11-29T12:00:00+00:00"))


def read(text: object, **fields: object):
    return parse_trigger({"cron": text, "timezone": "UTC", **fields}, NOW)


def named(text: str, count: int, after: str = "2026-11-29T12:00:00+00:00", **fields: object) -> list[str]:
    begin = from_datetime(datetime.fromisoformat(after))
    trigger = parse_trigger({"cron": text, "timezone": "UTC", **fields}, begin)
    return [to_text(at) for at in islice(fires(trigger, begin), count)]


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("cron(0 10 * * ? *)", "2026-11-30T10:00:00Z", "2026-12-01T10:00:00Z"),
        ("cron(15 12 * * ? *)", "2026-11-29T12:15:00Z", "2026-11-30T12:15:00Z"),
        ("cron(0 18 ? * MON-FRI *)", "2026-11-30T18:00:00Z", "2026-12-01T18:00:00Z"),
        ("cron(0 8 1 * ? *)", "2026-12-01T08:00:00Z", "2027-01-01T08:00:00Z"),
        ("cron(1/10 * ? * 1 *)", "2026-11-29T12:01:00Z", "2026-11-29T12:11:00Z"),
        ("cron(0 9 ? * 2-6 *)", "2026-11-30T09:00:00Z", "2026-12-01T09:00:00Z"),
        ("cron(0 9 ? * 7-1 *)", "2026-12-05T09:00:00Z", "2026-12-06T09:00:00Z"),
        ("cron(0 9 ? * L *)", "2026-12-05T09:00:00Z", "2026-12-12T09:00:00Z"),
        ("cron(0 9 ? * 6L *)", "2026-12-25T09:00:00Z", "2027-01-29T09:00:00Z"),
        ("cron(0 9 ? * FRIL *)", "2026-12-25T09:00:00Z", "2027-01-29T09:00:00Z"),
        ("cron(0 9 ? * 3#2 *)", "2026-12-08T09:00:00Z", "2027-01-12T09:00:00Z"),
        ("cron(0 9 L * ? *)", "2026-11-30T09:00:00Z", "2026-12-31T09:00:00Z"),
        ("cron(0 9 3W * ? *)", "2026-12-03T09:00:00Z", "2027-01-04T09:00:00Z"),
        ("cron(0 0 1 1 ? 2028,2031)", "2028-01-01T00:00:00Z", "2031-01-01T00:00:00Z"),
        ("cron(0 0 1 1 ? 2026/4)", "2030-01-01T00:00:00Z", "2034-01-01T00:00:00Z"),
        ("cron(0 0 29 2 ? 2026-2032)", "2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"),
        ("rate(1 minute)", "2026-11-29T12:01:00Z", "2026-11-29T12:02:00Z"),
        ("rate(12 hours)", "2026-11-30T00:00:00Z", "2026-11-30T12:00:00Z"),
        ("rate(1 days)", "2026-11-30T12:00:00Z", "2026-12-01T12:00:00Z"),
    ],
)
def test_an_expression_fires_as_the_user_guide_has_it(text: str, first: str, second: str) -> None:
    assert named(text, 2) == [first, second]


def test_the_last_named_year_ends_the_schedule() -> None:
    assert named("cron(0 0 1 7 ? 2026-2028)", 5) == ["2027-07-01T00:00:00Z", "2028-07-01T00:00:00Z"]


def test_a_year_far_ahead_is_waited_for() -> None:
    assert named("cron(30 2 ? * SUN#2 2199)", 1, timezone="America/New_York") == ["2199-01-13T07:30:00Z"]
    assert named("cron(0 0 29 2 ? 2190-2199)", 2) == ["2192-02-29T00:00:00Z", "2196-02-29T00:00:00Z"]
    with pytest.raises(Invalid, match="can never fire"):
        named("cron(30 2 ? 3 SUN#2 2150-2199)", 1, timezone="America/New_York")


def test_the_three_forms_are_a_cron_an_interval_and_a_one_shot() -> None:
    assert read(" cron( 0  2 * * ? * ) ") == CronTrigger("cron(0 2 * * ? *)", "UTC", dialect=Dialect.AWS)
    assert read("rate(90 minutes)") == IntervalTrigger(5_400, NOW)
    assert read("rate(5 minutes)", anchor="2026-01-01T00:00:00Z").anchor_at != NOW
    once = read("at(2027-03-14T02:30:00)", timezone="America/New_York")
    assert once == OneShotTrigger(once.at, "2027-03-14T02:30:00", "America/New_York")
    assert describe(once) == {"at": "2027-03-14T02:30:00", "timezone": "America/New_York"}
    assert to_text(once.at) == "2027-03-14T07:00:00Z"


def test_a_bare_six_fields_are_read_where_the_dialect_is_named() -> None:
    assert named("0 9 ? * 2 *", 1, dialect="aws") == named("cron(0 9 ? * MON *)", 1)
    with pytest.raises(Invalid, match="6 fields, not five"):
        read("0 9 ? * 2 *")


def test_a_rate_needs_no_zone_and_a_cron_does() -> None:
    assert parse_trigger({"cron": "rate(1 hour)"}, NOW) == IntervalTrigger(3_600, NOW)
    with pytest.raises(Invalid) as refused:
        parse_trigger({"cron": "cron(0 2 * * ? *)"}, NOW)
    assert refused.value.field == "timezone"


def test_a_skipped_time_does_not_fire_and_a_repeated_one_fires_once_unless_asked() -> None:
    """As the guide says; both can be chosen otherwise."""
    spring = {"timezone": "America/New_York", "after": "2027-03-13T12:00:00+00:00"}
    assert named("cron(30 2 * * ? *)", 1, **spring) == ["2027-03-15T06:30:00Z"]
    assert named("cron(30 2 * * ? *)", 1, **spring, gap="after") == ["2027-03-14T07:00:00Z"]
    autumn = {"timezone": "America/New_York", "after": "2027-11-06T12:00:00+00:00"}
    assert named("cron(30 1 * * ? *)", 2, **autumn) == ["2027-11-07T05:30:00Z", "2027-11-08T06:30:00Z"]
    assert named("cron(30 1 * * ? *)", 1, **autumn, overlap="second") == ["2027-11-07T06:30:00Z"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cron(0 9 * * * *)", "day of week `*` (character 14) must be `?`"),
        ("cron(0 9 * * 2 *)", "did you mean `0 9 ? * 2 *`?"),
        ("cron(0 9 1 * 2 *)", "two schedules"),
        ("cron(0 9 ? * ? *)", "did you mean `0 9 * * ? *`?"),
        ("cron(0 2 * * *)", "did you mean `cron(0 2 * * ? *)`?"),
        ("cron(0 9 * * 1-5)", "did you mean `cron(0 9 ? * MON-FRI *)`?"),
        ("cron(0 0 2 * * ? *)", "did you mean `cron(0 2 * * ? *)`?"),
        ("cron(60 2 * * ? *)", "minute `60` (character 6) is not in 0–59"),
        ("cron(0 2 ? * 0 *)", "SUN, which is 1"),
        ("cron(0 2 ? * 8 *)", "day of week `8` (character 14) is not in 1–7"),
        ("cron(0 2 ? * 2/2 *)", "list the days"),
        ("cron(0 2 ? * 3#1,6#3 *)", "make two schedules"),
        ("cron(0 2 ? * 3#6 *)", "`#5`"),
        ("cron(0 2 * * ? 1969)", "year `1969` (character 16) is not in 1970–2199"),
        ("cron(0 2 * * ? 2200)", "is not in 1970–2199"),
        ("cron(0 2 * * ? 2030-2027)", "did you mean `2027-2030`?"),
        ("cron(0 2 * * ? 26)", "is not in 1970–2199"),
        ("cron(0 2 * * ? 2025)", "its last year is 2025"),
        ("cron(0 0 29 2 ? 2027)", "can never fire"),
        ("cron(0 0 31 4 ? *)", "can never fire"),
        ("cron(0 2 * * ? *", "no closing bracket"),
        ("cron(0 2 * * ? *) # nightly", "description"),
        ("cron(0 2 * * ? *);", "goes on after its closing bracket with `;`"),
        ("CRON(0 2 * * ? *)", "in small letters"),
        ("cron (0 2 * * ? *)", "without a blank"),
        ("cron()", "has 1 field"),
        ("cron(@daily)", "has 1 field"),
        ("cron(H 2 * * ? *)", "jitter_seconds"),
        ("rate(5)", "`rate(5 minutes)`"),
        ("rate(5 min)", "`rate(5 minutes)`"),
        ("rate(30 seconds)", '{"every": "30s"}'),
        ("rate(0 hours)", "at least 1"),
        ("rate(-1 hours)", "is no rate"),
        ("rate(1.5 hours)", "is no rate"),
        ("rate(400 days)", "366d"),
        ("rate()", "is no rate"),
        ("at(2026-12-01)", "at(yyyy-mm-ddThh:mm:ss)"),
        ("at(2026-12-01T10:00:00Z)", '{"at": "2026-12-01T10:00:00Z"}'),
        ("at(2026-02-30T10:00:00)", "no date"),
        ("at(2025-12-01T10:00:00)", "past"),
    ],
)
def test_what_is_refused_says_where_and_what_was_meant(text: str, says: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(text)
    assert refused.value.field == "cron"
    assert says in refused.value.reason


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"cron": "rate(5 minutes)", "gap": "skip"}, "gap"),
        ({"cron": "at(2027-01-01T00:00:00)", "overlap": "both"}, "overlap"),
        ({"cron": "at(2027-01-01T00:00:00)", "anchor": "2026-01-01T00:00:00Z"}, "anchor"),
        ({"cron": "cron(0 2 * * ? *)", "anchor": "2026-01-01T00:00:00Z"}, "anchor"),
        ({"cron": "cron(0 2 * * ? *)", "dialect": "cron"}, "cron"),
        ({"cron": "rate(5 minutes)", "dialect": "quartz"}, "dialect"),
        ({"cron": "0 2 * * *", "dialect": ["aws"]}, "dialect"),
        ({"cron": "0 2 * * *", "gap": "before"}, "gap"),
        ({"cron": "0 2 * * *", "overlap": "skip"}, "overlap"),
        ({"every": "5m", "gap": "skip"}, "gap"),
    ],
)
def test_a_choice_that_does_not_fit_is_refused_by_its_name(fields: dict, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_trigger({"timezone": "UTC", **fields} if "cron" in fields else fields, NOW)
    assert refused.value.field == field


@given(st.text(alphabet="cronateAT()0123456789*/,-?#LW T:minutes", max_size=40), st.sampled_from([None, "aws"]))
def test_any_text_is_either_accepted_or_refused_with_a_reason(text: str, dialect: str | None) -> None:
    for form in (text, f"cron({text})", f"rate({text})", f"at({text})"):
        refused = None
        try:
            read(form, dialect=dialect)
        except Invalid as error:
            refused = error
        assert refused is None or (refused.field == "cron" and refused.reason)


def test_a_zone_that_a_rate_does_not_need_is_judged_all_the_same() -> None:
    assert read("rate(5 minutes)", timezone="UTC") == IntervalTrigger(300, NOW)
    with pytest.raises(Invalid, match="not an IANA time zone"):
        read("rate(5 minutes)", timezone="Nowhere/X")
