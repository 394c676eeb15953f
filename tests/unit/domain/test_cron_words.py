"""Words are right: whoever reads them as the independent reader does knows every fire."""

from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from itertools import islice, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronfleet.domain import cron
from cronfleet.domain.calendar import CalendarRule, Mode
from cronfleet.domain.clock_policy import Gap, Repeat
from cronfleet.domain.cron_grammar import MACROS, Dialect
from cronfleet.domain.cron_words import words
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import SECOND
from cronfleet.domain.time_text import parse_moment
from cronfleet.domain.trigger import CronTrigger, fires, parse_trigger
from simulator.oracle import Oracle
from tests.support.cron_expressions import expressions, field, month_days
from tests.support.word_reader import read

NOW = 1_796_000_000 * SECOND
LEFT_OUT = "; a time that the clock skips is left out"
SPELLED = [
    # expression, words: every one worked out by hand
    ("* * * * *", "Every minute"),
    ("*/5 * * * *", "Every 5 minutes"),
    ("*/15 * * * *", "Every 15 minutes"),
    ("*/7 * * * *", "Every 7 minutes from minute 0 to 56 of every hour"),
    ("3-59/10 * * * *", "Every 10 minutes from minute 3 to 53 of every hour"),
    ("0 * * * *", "Every hour, on the hour"),
    ("@hourly", "Every hour, on the hour"),
    ("5 * * * *", "At minute 5 of every hour"),
    ("5,35 * * * *", "At minutes 5 and 35 of every hour"),
    ("0-10,30 * * * *", "At minutes 0 to 10 and 30 of every hour"),
    ("* 2 * * *", "Every minute from 02:00 to 02:59 every day"),
    ("* 9-17 * * 1-5", "Every minute from 09:00 to 17:59 on Monday to Friday"),
    ("*/15 9-17 * * 1-5", "Every 15 minutes from 09:00 to 17:45 on Monday to Friday"),
    ("* 22-2 * * *", "Every minute from 22:00 through midnight to 02:59 every day"),
    ("* 22-2 * * 1", "Every minute from 00:00 to 02:59 and from 22:00 to 23:59 on Monday"),
    ("*/20 23-0 * * *", "Every 20 minutes from 23:00 through midnight to 00:40 every day"),
    ("30 22-6 * * *", "Every hour from 22:30 through midnight to 06:30 every day"),
    ("0 22-2 * * 1", "At 00:00, 01:00, 02:00, 22:00 and 23:00 on Monday"),
    ("0 22-2 * 3 *", "At 00:00, 01:00, 02:00, 22:00 and 23:00 every day in March"),
    ("0 23,0 * * *", "At 00:00 and 23:00 every day"),
    ("*/20 8,12,16 * * *", "Every 20 minutes of hours 08, 12 and 16 every day"),
    ("0 */2 * * *", "Every 2 hours from 00:00 to 22:00 every day"),
    ("30 */5 * * *", "Every 5 hours from 00:30 to 20:30 every day"),
    ("*/10 */3 * * *", "Every 10 minutes of every 3rd hour from 00 to 21 every day"),
    ("5,35 */12 * * *", "At minutes 5 and 35 of every 12th hour from 00 to 12 every day"),
    ("0 */12,5 * * *", "At 00:00, 05:00 and 12:00 (whenever the clock shows it) every day"),
    ("0 */24 * * *", "At 00:00 (whenever the clock shows it) every day"),
    ("30 2 * * *", "At 02:30 every day"),
    ("30 2 * * 1-5", "At 02:30 on Monday to Friday"),
    ("30 2 * * mon-fri", "At 02:30 on Monday to Friday"),
    ("0 9,17 * * *", "At 09:00 and 17:00 every day"),
    ("0,30 9 * * *", "At 09:00 and 09:30 every day"),
    ("0 9-17 * * *", "Every hour from 09:00 to 17:00 every day"),
    ("30 9-17/2 * * *", "At 09:30, 11:30, 13:30, 15:30 and 17:30 every day"),
    ("0 21-3/2 * * *", "At 01:00, 03:00, 21:00 and 23:00 every day"),
    ("0,30 9-17 * * *", "At minutes 0 and 30 of hours 09 to 17 every day"),
    ("0-59/15 0-23 * * *", "At minutes 0, 15, 30 and 45 of hours 00 to 23 every day"),
    ("@daily", "At 00:00 every day"),
    ("@midnight", "At 00:00 every day"),
    ("@weekly", "At 00:00 on Sunday"),
    ("@monthly", "At 00:00 on day 1 of the month"),
    ("@yearly", "At 00:00 on 1 January"),
    ("@annually", "At 00:00 on 1 January"),
    ("0 0 25 12 *", "At 00:00 on 25 December"),
    ("0 0 29 2 *", "At 00:00 on 29 February"),
    ("0 0 1 1,7 *", "At 00:00 on day 1 of January and July"),
    ("0 0 1,15 * *", "At 00:00 on days 1 and 15 of the month"),
    ("0 0 1-7 3-5 *", "At 00:00 on days 1 to 7 of March to May"),
    ("0 0 */2 * *", "At 00:00 on days 1 to 31 in steps of 2 of the month"),
    ("0 0 28-2 * *", "At 00:00 on days 1, 2 and 28 to 31 of the month"),
    ("0 0 L * *", "At 00:00 on the last day of the month"),
    ("0 0 L 2 *", "At 00:00 on the last day of February"),
    ("0 0 L-1 * *", "At 00:00 on the day before the last day of the month"),
    (
        "0 0 L,L-1,L-2 * *",
        "At 00:00 on the day 2 days before the last day, the day before the last day and the last day of the month",
    ),
    ("0 0 L-3 * *", "At 00:00 on the day 3 days before the last day of the month"),
    ("0 0 15W * *", "At 00:00 on the weekday nearest to day 15 of the month"),
    ("0 9 LW * *", "At 09:00 on the last weekday of the month"),
    ("0 0 1,L * *", "At 00:00 on day 1 and the last day of the month"),
    ("0 0 * 3 *", "At 00:00 every day in March"),
    ("0 0 * 11-2 *", "At 00:00 every day in November to February"),
    ("* * * 3 *", "Every minute in March"),
    ("0 0 * * 0", "At 00:00 on Sunday"),
    ("0 0 * * 7", "At 00:00 on Sunday"),
    ("0 0 * * sat,sun", "At 00:00 on Saturday and Sunday"),
    ("0 0 * * fri-mon", "At 00:00 on Friday to Monday"),
    ("0 0 * * mon-mon", "At 00:00 on Monday"),
    ("0 0 * * 1,3,5", "At 00:00 on Monday, Wednesday and Friday"),
    ("0 0 * * 2#1", "At 00:00 on the first Tuesday of the month"),
    ("0 0 * * 5L", "At 00:00 on the last Friday of the month"),
    ("0 0 * 6 5L", "At 00:00 on the last Friday of June"),
    ("0 0 * * 1#1,1#3", "At 00:00 on the first Monday and the third Monday of the month"),
    ("0 0 ? * 5", "At 00:00 on Friday"),
    ("0 0 13 * 5", "At 00:00 on day 13 of the month or on Friday (either one is enough)"),
    ("0 0 1-31 * 5", "At 00:00 every day"),
    ("0 0 13 * */1", "At 00:00 on day 13 of the month"),
    ("1 1 */32,1-7 * 2", "At 01:01 on days 1 to 7 of the month and also on Tuesday (both must match)"),
    ("0 0 L * 5#1", "At 00:00 on the last day of the month or on the first Friday of the month (either one is enough)"),
    ("0 2 29 2 0", "At 02:00 on day 29 of the month or on Sunday (either one is enough) in February"),
]


@pytest.mark.parametrize(("expression", "said"), SPELLED)
def test_an_expression_is_put_like_this(expression: str, said: str) -> None:
    assert words(CronTrigger(expression, "Europe/Paris")) == f"{said}, in Europe/Paris"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"every": "10s"}, "Every 10 seconds, counted from 2026-01-01T00:15:00Z"),
        ({"every": "90m"}, "Every 90 minutes, counted from 2026-01-01T00:15:00Z"),
        ({"every": "60m"}, "Every hour, counted from 2026-01-01T00:15:00Z"),
        ({"every": "24h"}, "Every day, counted from 2026-01-01T00:15:00Z"),
        ({"every": "7d"}, "Every 7 days, counted from 2026-01-01T00:15:00Z"),
    ],
)
def test_an_interval_is_told_with_what_it_is_counted_from(fields: dict, said: str) -> None:
    assert words(parse_trigger({**fields, "anchor": "2026-01-01T00:15:00Z"}, NOW)) == said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"at": "2026-12-01T02:00:00+05:30"}, "Once, on Monday 30 November 2026 at 20:30 in UTC"),
        (
            {"at": "2026-12-01T02:00:07", "timezone": "Asia/Kolkata"},
            "Once, on Tuesday 1 December 2026 at 02:00:07 in Asia/Kolkata (2026-11-30T20:30:07Z)",
        ),
    ],
)
def test_one_instant_is_told_by_the_clock_of_its_zone(fields: dict, said: str) -> None:
    assert words(parse_trigger(fields, NOW)) == said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"cron": "cron(0 10 ? * MON-FRI *)"}, "At 10:00 on Monday to Friday, in Europe/Paris" + LEFT_OUT),
        ({"cron": "cron(0 10 ? * 2#1 *)"}, "At 10:00 on the first Monday of the month, in Europe/Paris" + LEFT_OUT),
        ({"cron": "0 8 1 * ? 2027-2030", "dialect": "aws"},
         "At 08:00 on day 1 of the month, in 2027 to 2030, in Europe/Paris" + LEFT_OUT),
        ({"cron": "cron(*/15 * * * ? 2027,2029)"}, "Every 15 minutes, in 2027 and 2029, in Europe/Paris"),
        ({"cron": "rate(5 minutes)"}, "Every 5 minutes, counted from 2026-11-30T00:53:20Z"),
        ({"cron": "at(2027-01-01T02:00:00)"},
         "Once, on Friday 1 January 2027 at 02:00 in Europe/Paris (2027-01-01T01:00:00Z)"),
        ({"cron": "30 2 * * *", "gap": "skip"}, "At 02:30 every day, in Europe/Paris" + LEFT_OUT),
        ({"cron": "30 2 * * *", "overlap": "both"},
         "At 02:30 every day, in Europe/Paris; a time that comes twice fires both times"),
        ({"cron": "30 2 * * *", "gap": "skip", "overlap": "second"},
         f"At 02:30 every day, in Europe/Paris{LEFT_OUT}; a time that comes twice fires the second time"),
        ({"cron": "*/30 2 * * *", "gap": "skip", "overlap": "both"},
         "Every 30 minutes from 02:00 to 02:30 every day, in Europe/Paris"),
        ({"cron": "30 2 * * *", "gap": "skip", "overlap": "both", "timezone": "UTC"}, "At 02:30 every day, in UTC"),
    ],
)  # fmt: skip
def test_the_dialect_of_aws_and_what_becomes_of_skipped_and_repeated_times_are_put_like_this(
    fields: dict, said: str
) -> None:
    assert words(parse_trigger({"timezone": "Europe/Paris", **fields}, NOW)) == said


BANK = CalendarRule("bank", 3, Mode.EXCLUDE)
ROLLED_ON = "moved on from any other day to the next business day of calendar bank (version 3)"
ROLLED_BACK = "moved back from any other day to the last business day of calendar bank (version 3)"
NTH = replace(BANK, mode=Mode.NTH_BUSINESS_DAY)
BY = "business days by calendar bank (version 3)"


@pytest.mark.parametrize(
    ("expression", "rule", "said", "of_calendar"),
    [
        ("0 9 * * *", BANK, "At 09:00 every day", "not on the holidays of calendar bank (version 3)"),
        ("0 9 * * *", replace(BANK, version=0), "At 09:00 every day", "not on the holidays of calendar bank"),
        ("*/15 * * * *", replace(BANK, mode=Mode.BUSINESS_DAYS), "Every 15 minutes",
         "only on the business days of calendar bank (version 3)"),
        ("0 9 1 * *", replace(BANK, mode=Mode.ROLL_FORWARD), "At 09:00 on day 1 of the month", ROLLED_ON),
        ("0 9 L * *", replace(BANK, mode=Mode.ROLL_BACK), "At 09:00 on the last day of the month", ROLLED_BACK),
        ("0 9 * * *", replace(NTH, nth=2), "At 09:00 on the 2nd business day of the month", BY),
        ("0 9 * 3 *", replace(NTH, nth=-1), "At 09:00 on the last business day of March", BY),
        ("0 9 * * *", replace(NTH, nth=-3), "At 09:00 on the 3rd last business day of the month", BY),
    ],
)  # fmt: skip
def test_a_calendar_is_told_with_what_it_does_to_the_days(
    expression: str, rule: CalendarRule, said: str, of_calendar: str
) -> None:
    trigger = CronTrigger(expression, "Europe/Paris", calendar=rule)
    whole = f"{said}, in Europe/Paris; {of_calendar}"
    assert words(trigger) == whole, "and its content need not be at hand"
    assert words(replace(trigger, gap=Gap.SKIP)) == whole + (LEFT_OUT if cron.fields_of(trigger).fixed_time else "")


def test_no_two_uses_of_calendars_have_the_same_words() -> None:
    rules = [
        CalendarRule(name, version, mode, nth)
        for name, version, mode in product(("a", "b"), (0, 1, 12), Mode)
        for nth in (range(-23, 24) if mode is Mode.NTH_BUSINESS_DAY else (0,))
        if nth or mode is not Mode.NTH_BUSINESS_DAY
    ]
    assert len({words(CronTrigger("0 9 * * *", "UTC", calendar=rule)) for rule in rules}) == len(rules)


@cache
def _days() -> list[date]:
    """A leap year and a common one: months of each length, begun on each weekday but for a few pairs."""
    return [date(year, 1, 1) + timedelta(days=n) for year in (2028, 2031) for n in range(365)]


def _check(trigger: CronTrigger) -> None:
    """Whether who reads the words of `trigger` knows the times and days that the oracle reads in its expression."""
    said = read(words(trigger))
    wanted = Oracle(MACROS.get(trigger.expression, trigger.expression), trigger.timezone)
    assert said.minutes_of_day == {hour * 60 + minute for hour in wanted._hours for minute in wanted._minutes}
    assert said.fixed_time == wanted.fixed_time
    for day in _days():
        assert said.names(day) == wanted.names_day(day), (trigger, day)
    assert said.zone == trigger.timezone
    if wanted.fixed_time:
        assert (said.gap, said.overlap) == (trigger.gap_policy, trigger.repeat_policy)


@pytest.mark.parametrize("expression", [expression for expression, _ in SPELLED])
def test_the_examples_are_read_as_the_oracle_reads_the_expression(expression: str) -> None:
    _check(CronTrigger(expression, "Europe/Paris"))


@settings(max_examples=150, deadline=None)
@given(expressions())
def test_whoever_reads_the_words_knows_every_minute_and_day_that_the_expression_names(expression: str) -> None:
    try:
        cron.parse(expression)
    except Invalid:
        return  # it can never fire
    _check(CronTrigger(expression, "Europe/Paris"))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_so_does_who_reads_the_words_of_an_aws_expression_or_of_a_choice_at_changes_of_the_clock(data) -> None:
    first = data.draw(st.integers(2026, 2031))
    years = data.draw(st.sampled_from(["*", f"{first}-{first + 3}", f"{first}/2", "2028,2031"]))
    day = data.draw(month_days().filter(lambda text: text != "?"))
    weekday = data.draw(st.sampled_from(["2", "MON-FRI", "6-2", "1,WED", "TUE#2", "6#5", "FRIL", "7", "L"]))
    of_month, of_week = data.draw(st.sampled_from([(day, "?"), ("?", weekday)]))
    expression = f"cron({data.draw(field(0, 59))} {data.draw(field(0, 23))} {of_month} * {of_week} {years})"
    chosen = data.draw(st.sampled_from([None, *Gap])), data.draw(st.sampled_from([None, *Repeat]))
    try:
        cron.parse(expression, Dialect.AWS)
    except Invalid:
        return
    _check(CronTrigger(expression, "Europe/Paris", *chosen, Dialect.AWS))


MINUTES = ["*", "0", "30", "*/15", "0,15,30,45", "0-59/15", "*/7", "0-59", "*/60", "5,35"]
HOURS = ["*", "2", "*/2", "0-23/2", "1-3", "1,2,3", "22-2", "0-23", "*/12,5"]
MONTH_DAYS = ["*", "1-7", "*/2", "1-31/2", "L", "31", "1-31"]
WEEKDAYS = ["*", "1-5", "sun", "7", "mon,tue,wed,thu,fri", "0-6", "5#1", "5L"]
CLOCK_CHANGES = ("2027-03-13T00:00:00Z", "2027-11-06T00:00:00Z", "2028-02-28T00:00:00Z")


def test_expressions_with_the_same_words_have_the_same_fires_also_around_changes_of_the_clock() -> None:
    by_words: dict[str, list[CronTrigger]] = {}
    for fields in product(MINUTES, HOURS, MONTH_DAYS, ["*"], WEEKDAYS):
        trigger = CronTrigger(" ".join(fields), "America/New_York")
        by_words.setdefault(words(trigger), []).append(trigger)
    starts = [parse_moment(text, "after").instant("after") for text in CLOCK_CHANGES]
    shared = 0
    for same in by_words.values():
        ahead = {tuple(tuple(islice(fires(trigger, start), 4)) for start in starts) for trigger in same}
        shared += len(same) - 1
        assert len(ahead) == 1, same
    assert shared > 500, "or else nothing was compared"
