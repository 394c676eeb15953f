"""Warnings: each where it belongs, with the right dates, and none where there is nothing to say."""

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronfleet.domain import zones
from cronfleet.domain.calendar import Calendar, CalendarRule, DateKind, Dates, Mode, day_of
from cronfleet.domain.clock_policy import Gap, Repeat
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import LATEST, SECOND, from_datetime, to_text
from cronfleet.domain.lint import Lint, WarningCode, look_over
from cronfleet.domain.time_text import OLDEST, parse_moment
from cronfleet.domain.trigger import CronTrigger, parse_trigger
from cronfleet.domain.zone_names import _OWN, current_name
from simulator.oracle import Oracle
from tests.support.cron_expressions import changes, expressions

HALF_A_DAY = timedelta(hours=12)
NOW = parse_moment("2026-11-29T12:00:00Z", "after").instant("after")


def look(expression: str, zone: str = "UTC", after: str = "2026-11-29T12:00:00Z", **more: int) -> Lint:
    return look_over(CronTrigger(expression, zone), parse_moment(after, "after").instant("after"), **more)


def codes(expression: str, zone: str = "UTC", **more: int) -> list[str]:
    return [warning.code.value for warning in look(expression, zone, **more).warnings]


def text_of(code: str, lint: Lint) -> str:
    (text,) = (warning.text for warning in lint.warnings if warning.code == code)
    return text


PLAIN = [
    "* * * * *",
    "*/2 * * * *",
    "*/5 * * * *",
    "*/15 * * * *",
    "*/30 * * * *",
    "5 * * * *",
    "17 * * * *",
    "15,45 * * * *",
    "10 */6 * * *",
    "30 */2 * * *",
    "30 2 * * *",
    "0 2 * * *",
    "0 9 * * *",
    "0 9 * * 1-5",
    "0 9 * * MON-FRI",
    "30 8 * * mon",
    "0 9,17 * * *",
    "0 8-18 * * 1-5",
    "*/15 9-17 * * 1-5",
    "* 9-17 * * 1-5",
    "* * * * 1-5",
    "0 22 * * 1-5",
    "0 23 * * 0",
    "5 4 * * sun",
    "0 6 1 * *",
    "0 6 1,15 * *",
    "0 6 1-7 * *",
    "0 6 28 * *",
    "0 6 28-31 * *",
    "0 6 L * *",
    "0 6 LW * *",
    "0 6 15W * *",
    "0 6 L-2 * *",
    "0 6 * * 1#1",
    "0 6 * * 5L",
    "0 6 ? * 2",
    "0 6 1 1 *",
    "0 6 1 */3 *",
    "0 6 1 1,4,7,10 *",
    "0 6 30 6 *",
    "0 6 31 1,3,5,7,8,10,12 *",
    "0 6 * 6-8 *",
    "0 9-17/2 * * *",
    "1-59/2 * * * *",
    "10-50/20 3 * * *",
]


@pytest.mark.parametrize("expression", PLAIN)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Asia/Tokyo", "Etc/UTC", "GMT"])
def test_an_ordinary_expression_has_no_warning(expression: str, zone: str) -> None:
    assert look(expression, zone).warnings == ()


@pytest.mark.parametrize("expression", [each for each in PLAIN if each not in ("30 2 * * *", "0 2 * * *")])
@pytest.mark.parametrize("zone", ["Europe/Paris", "Europe/Copenhagen"])
def test_nor_has_it_where_clocks_change_but_not_at_its_times(expression: str, zone: str) -> None:
    if expression == "30 */2 * * *":
        assert codes(expression, zone) == ["dst_change"], "02:30 is one of its times"
    else:
        assert look(expression, zone).warnings == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"every": "10s"},
        {"every": "7m", "anchor": "2026-01-01T00:00:00Z"},
        {"every": "1h", "anchor": "2026-01-01T00:00:00Z"},
        {"every": "8h", "anchor": "2026-01-01T00:00:00Z"},
        {"every": "7d", "anchor": "2026-01-01T00:00:00Z"},
        {"every": "5h", "anchor": "2026-01-01T00:00:07Z"},
        {"at": "2026-12-24T18:00:00+01:00"},
        {"at": "2027-03-28T01:30:00", "timezone": "Europe/Paris"},
        {"at": "2027-03-28T03:00:00", "timezone": "Europe/Paris"},
        {"at": "2027-10-31T03:00:00", "timezone": "Europe/Paris"},
        {"at": "2027-10-31T01:59:00", "timezone": "Europe/Paris"},
    ],
)
def test_an_ordinary_interval_or_instant_has_no_warning(fields: dict) -> None:
    assert look_over(parse_trigger(fields, NOW), NOW).warnings == ()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 6 13 * 5", ["day_either"]),
        ("0 6 1-7 * 2", ["day_either"]),
        ("0 6 1-31 * 2", ["day_either"]),
        ("0 6 L * 5L", ["day_either"]),
        ("0 6 */2 * 1", ["day_both", "step_restarts"]),
        ("0 6 1-7 * */2", ["day_both", "step_restarts"]),
        ("0 6 */32,1-7 * 2", ["day_both", "step_restarts"]),
        ("0 6 31 4 1", ["day_either", "date_never"]),
        ("0 6 30 2,3 *", ["date_never"]),
        ("0 6 31 3-6 *", ["date_never"]),
        ("0 6 29 2 *", ["date_seldom"]),
        ("0 6 29,30 2 *", ["date_never", "date_seldom"]),
        ("0 6 * * 1#5", ["date_seldom"]),
        ("0 6 * * 1#5,5#5", ["date_seldom"]),
        ("0 6 * * 1#5,5#1", []),
        ("0 6 31 * *", ["months_skipped"]),
        ("0 6 30 * *", ["months_skipped"]),
        ("0 6 29 * *", ["months_skipped"]),
        ("0 6 1,15,31 * *", ["months_skipped"]),
        ("0 6 31W * *", ["months_skipped"]),
        ("0 6 29 1,2 *", ["months_skipped"]),
        ("0 6 L-30 * *", ["months_skipped"]),
        ("0 6 30-31 * *", ["months_skipped"]),
        ("0 6 30-31 2,4 1", ["day_either", "date_never"]),
        ("0 6 */3 4,7 *", ["step_restarts"]),
        ("0 6 1-31/2 4 *", ["step_restarts"]),
        ("0 6 25-31 4 *", []),
        ("0 6 L-27 * *", []),
        ("0 6 L-29,15 2,3 *", ["date_never"]),
        ("*/7 * * * *", ["step_restarts"]),
        ("*/45 * * * *", ["step_restarts"]),
        ("0-59/7 * * * *", ["step_restarts"]),
        ("5/7 * * * *", ["step_restarts"]),
        ("*/90 3 * * *", ["step_restarts"]),
        ("30 */5 * * *", ["step_restarts"]),
        ("30 6 */2 * *", ["step_restarts"]),
        ("30 6 1 */5 *", ["step_restarts"]),
        ("30 6 * * */2", ["step_restarts"]),
        ("* 2 * * *", ["every_minute"]),
        ("* 2,14 * * *", ["every_minute"]),
        ("* */2 * * *", ["every_minute"]),
        ("* * 1 * *", ["every_minute"]),
        ("0 0 * * *", ["crowded_time"]),
        ("@daily", ["crowded_time"]),
        ("@hourly", ["crowded_time"]),
        ("0 */6 * * *", ["crowded_time"]),
    ],
)
def test_what_will_surprise_is_said(expression: str, expected: list[str]) -> None:
    assert codes(expression) == expected


def test_either_day_is_shown_with_the_next_days_and_a_week_with_what_was_meant() -> None:
    text = text_of("day_either", look("0 6 13 * 5"))
    assert "2026-12-04 (Friday), 2026-12-11 (Friday) and 2026-12-13 (Sunday)" in text
    assert "`TUE#1`" in text_of("day_either", look("0 6 1-7 * 2"))
    assert "`FRI#4`" in text_of("day_either", look("0 6 22-28 * 5"))


def test_both_days_are_shown_with_the_next_days() -> None:
    text = text_of("day_both", look("0 6 */2 * 1"))
    assert "2026-12-07 (Monday), 2026-12-21 (Monday) and 2027-01-11 (Monday)" in text


def test_seldom_dates_are_shown() -> None:
    text = text_of("date_seldom", look("0 6 29 2 *"))
    assert "2028-02-29 (Tuesday), 2032-02-29 (Sunday) and 2036-02-29 (Friday)" in text
    assert "2096-02-29 (Wednesday), 2104-02-29" in text_of(
        "date_seldom", look("0 6 29 2 *", after="2093-01-01T00:00:00Z")
    )
    assert "2027-03-29 (Monday)" in text_of("date_seldom", look("0 6 * * 1#5"))


def test_a_date_of_no_year_is_named() -> None:
    assert "30 February, 31 February and 31 April are no dates" in text_of("date_never", look("0 6 30,31 2-4 *"))


def test_skipped_months_are_named_with_the_next_of_them_and_the_way_out() -> None:
    text = text_of("months_skipped", look("0 6 31 * *"))
    assert "February, April, June, September and November" in text
    assert "November 2026 and February 2027" in text
    assert text.endswith("write `L`")
    assert "February 2027 and February 2029" in text_of("months_skipped", look("0 6 29 * *"))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 31), min_size=1, max_size=3),
    st.lists(st.integers(1, 12), min_size=1, max_size=11),
    st.booleans(),
)
def test_dates_are_called_missing_exactly_where_a_look_into_the_calendar_finds_none(days, months, all_months) -> None:
    named = range(1, 13) if all_months else sorted(set(months))
    expression = f"0 6 {','.join(map(str, days))} {'*' if all_months else ','.join(map(str, months))} *"
    try:
        parse_trigger({"cron": expression, "timezone": "UTC"}, NOW)
    except Invalid:
        return
    found = set(codes(expression)) - {"far_away"}
    years = range(2027, 2031)
    lengths = {month: {monthrange(year, month)[1] for year in years} for month in named}
    never = any(day > max(lengths[month]) for month in named for day in days)
    seldom = any(min(lengths[month]) < day <= max(lengths[month]) for month in named for day in days)
    assert found <= {"date_never", "months_skipped", "date_seldom"}
    assert ("date_never" in found) == (never and not all_months)
    if 28 not in days:
        only_leap_day = set(named) == {2} and min(days) == 29
        assert ("months_skipped" in found) == ((never and all_months) or (seldom and set(named) != {2}))
        assert ("date_seldom" in found) == only_leap_day


def test_a_step_that_starts_again_is_shown_at_its_end() -> None:
    text = text_of("step_restarts", look("*/7 * * * *"))
    assert "after 56 comes 0, 4 later and not 7" in text
    assert '{"every": "7m"}' in text


def test_jitter_takes_the_crowd_away() -> None:
    assert codes("0 0 * * *", jitter_seconds=60) == []
    assert "`17 0 * * *`" in text_of("crowded_time", look("@daily"))


def test_once_instead_of_every_minute_is_offered() -> None:
    assert "`0 2 * * *`" in text_of("every_minute", look("* 2 * * *"))
    assert "`0 0 1 * *`" in text_of("every_minute", look("* * 1 * *"))


def test_a_change_of_the_clock_is_told_with_what_it_does() -> None:
    text = text_of("dst_change", look("30 2 * * *", "Europe/Paris"))
    assert "On 2027-03-28 at 02:00 it jumps ahead to 03:00: 02:30 does not exist that day" in text
    assert "fires at 03:00 instead (2027-03-28T01:00:00Z)" in text
    assert "On 2027-10-31 at 03:00 it goes back to 02:00: 02:30 comes twice that day" in text
    assert "the first time (2027-10-31T00:30:00Z)" in text


def test_a_skipped_time_that_meets_a_regular_one_is_told_as_one_fire_and_one_left_out_as_left_out() -> None:
    text = text_of("dst_change", look("0 2,3 * * *", "Europe/Paris"))
    assert "so it falls together with the fire at 03:00 (2027-03-28T01:00:00Z)" in text
    trigger = CronTrigger("0 2,3 * * *", "Europe/Paris", gap=Gap.SKIP)
    assert "so that fire is skipped" in text_of("dst_change", look_over(trigger, NOW))


def test_a_time_that_comes_twice_on_the_day_before_is_told_with_its_day() -> None:
    text = text_of("dst_change", look("30 23 * * *", "Africa/Cairo"))
    assert "On 2027-10-29 at 00:00 it goes back to 23:00: 23:30 comes twice on 2027-10-28" in text


def test_a_wildcard_job_loses_and_repeats_its_times() -> None:
    text = text_of("dst_change", look("*/30 2 * * *", "Europe/Paris"))
    assert "02:00 and 02:30 do not exist that day, so those fires are skipped" in text
    assert "both times (2027-10-31T00:00:00Z and 2027-10-31T01:00:00Z)" in text


def test_a_midnight_that_is_missing_and_a_shift_of_half_an_hour_are_told() -> None:
    assert "00:00 does not exist that day, so it fires at 01:00" in text_of(
        "dst_change", look("0 0 * * *", "Africa/Cairo")
    )
    lord_howe = text_of("dst_change", look("15 2 * * *", "Australia/Lord_Howe"))
    assert (
        "On 2027-10-03 at 02:00 it jumps ahead to 02:30: 02:15 does not exist that day, so it fires at 02:30"
        in lord_howe
    )
    assert codes("45 * * * *", "Australia/Lord_Howe") == ["dst_change"], "an hourly job that is off its hour"
    assert codes("*/30 * * * *", "Australia/Lord_Howe") == []


def test_a_local_time_that_does_not_exist_or_comes_twice_is_told() -> None:
    for at, says in (
        ("2027-03-28T02:30:00", "02:30 does not exist that day"),
        ("2027-10-31T02:30:00", "02:30 comes twice"),
    ):
        lint = look_over(parse_trigger({"at": at, "timezone": "Europe/Paris"}, NOW), NOW)
        assert says in text_of("dst_change", lint)


def test_a_time_far_away_and_an_interval_that_drifts_are_told() -> None:
    lint = look_over(parse_trigger({"at": "2030-01-01T00:00:00Z"}, NOW), NOW)
    assert "2030-01-01T00:00:00Z" in text_of("far_away", lint)
    lint = look_over(parse_trigger({"every": "7h", "anchor": "2026-11-29T00:00:00Z"}, NOW), NOW)
    assert "2026-11-29T14:00:00Z, 2026-11-29T21:00:00Z and 2026-11-30T04:00:00Z" in text_of("interval_drifts", lint)


def test_a_choice_at_changes_of_the_clock_is_told_in_its_effect_or_that_it_has_none() -> None:
    def told(fields: dict) -> Lint:
        return look_over(parse_trigger({"timezone": "Europe/Paris", **fields}, NOW), NOW)

    text = text_of("dst_change", told({"cron": "30 2 * * *", "gap": "skip", "overlap": "second"}))
    assert "02:30 does not exist that day, so that fire is skipped" in text
    assert "the second time (2027-10-31T01:30:00Z)" in text
    text = text_of("dst_change", told({"cron": "30 2 * * *", "overlap": "both"}))
    assert "both times (2027-10-31T00:30:00Z and 2027-10-31T01:30:00Z)" in text
    text = text_of("dst_change", told({"cron": "cron(30 2 * * ? *)"}))
    assert "so that fire is skipped" in text, "as AWS has it"
    text = text_of("dst_policy_without_effect", told({"cron": "*/15 * * * *", "gap": "skip"}))
    assert text.startswith("`gap` has no effect here: the minute or the hour begins with `*`")
    text = text_of(
        "dst_policy_without_effect", told({"cron": "30 2 * * *", "overlap": "both", "timezone": "Asia/Tokyo"})
    )
    assert "does not change in the next two years" in text
    assert told({"cron": "0 9 * * *", "overlap": "both"}).warnings == ()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("cron(0 10 ? * MON-FRI *)", []),
        ("cron(0/5 8-17 ? * 2-6 *)", []),
        ("cron(30 6 L * ? *)", []),
        ("cron(30 6 31 * ? *)", ["months_skipped"]),
        ("cron(30 6 29 2 ? *)", ["date_seldom"]),
        ("cron(30 6 ? * 6#5 *)", ["date_seldom"]),
        ("cron(0/7 * * * ? *)", ["step_restarts"]),
        ("cron(* 2 * * ? *)", ["every_minute"]),
        ("cron(* * 1 * ? *)", ["every_minute"]),
        ("cron(0 0 * * ? *)", ["crowded_time"]),
        ("cron(30 6 1 1 ? 2040)", ["far_away"]),
    ],
)
def test_aws_expressions_are_looked_over_too(expression: str, expected: list[str]) -> None:
    trigger = parse_trigger({"cron": expression, "timezone": "UTC"}, NOW)
    assert [warning.code.value for warning in look_over(trigger, NOW).warnings] == expected


def _under(expression: str, mode: Mode, zone: str = "Europe/Paris") -> CronTrigger:
    """Under a calendar whose only holiday is 28 March 2027, when clocks change, and that knows days to 30 June."""
    holiday = Dates(day_of("2027-03-28", ""), day_of("2027-03-28", ""), DateKind.HOLIDAY)
    content = Calendar("acme", "bank", 1, frozenset(), (holiday,), day_of("2027-06-30", ""))
    return CronTrigger(expression, zone, calendar=CalendarRule("bank", 1, mode, days=content))


def test_a_day_that_the_calendar_takes_away_is_no_day_on_which_a_change_of_the_clock_touches_it() -> None:
    lint = look_over(_under("30 2 * 3 *", Mode.EXCLUDE), NOW)
    assert [warning.code for warning in lint.warnings] == []
    moved = look_over(_under("30 2 27 3 *", Mode.EXCLUDE), NOW)
    assert [warning.code for warning in moved.warnings] == []
    assert codes("30 2 * 3 *", "Europe/Paris") == ["dst_change"]


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        ("0 9 * * *", "2027-03-01T00:00:00Z", []),
        ("0 9 * * *", "2027-05-01T00:00:00Z", ["calendar_runs_out"]),
        ("0 9 * * *", "2027-08-01T00:00:00Z", ["calendar_runs_out"]),
        ("0 9 1 7 *", "2027-03-01T00:00:00Z", ["calendar_runs_out"]),
    ],
)
def test_a_calendar_that_runs_out_is_told_in_time(expression: str, after: str, expected: list[str]) -> None:
    lint = look_over(_under(expression, Mode.BUSINESS_DAYS, "UTC"), parse_moment(after, "after").instant("after"))
    assert [warning.code.value for warning in lint.warnings] == expected
    assert all("2027-06-30" in warning.text for warning in lint.warnings)


@pytest.mark.parametrize(
    ("zone", "expected", "says"),
    [
        ("US/Eastern", "zone_alias", "write America/New_York"),
        ("Asia/Calcutta", "zone_alias", "write Asia/Kolkata"),
        ("Iceland", "zone_alias", "write Atlantic/Reykjavik"),
        ("Zulu", "zone_alias", "write UTC"),
        ("Etc/GMT+5", "zone_fixed_offset", "5 hours behind UTC (UTC-05:00)"),
        ("Etc/GMT-14", "zone_fixed_offset", "14 hours ahead of UTC (UTC+14:00)"),
    ],
)
def test_names_of_zones_that_mislead_are_told(zone: str, expected: str, says: str) -> None:
    assert says in text_of(expected, look("0 9 * * *", zone))


def test_no_name_in_use_is_called_old_and_what_replaces_an_old_one_shows_the_same_time() -> None:
    old = {name: current_name(name) for name in zones.names() if current_name(name)}
    assert 100 < len(old) < 200
    assert all(new in zones.names() and current_name(new) is None for new in old.values())
    assert _OWN.keys() <= old.keys()
    at = NOW // SECOND
    for name, new in old.items():
        for second in (at, at + 200 * 86_400):
            assert zones.load(name).segment_at(second).offset == zones.load(new).segment_at(second).offset, name


ALL_CHANGES = changes("2024-01-01", "2030-01-01")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_the_warning_of_a_change_comes_exactly_where_it_touches_a_named_time_and_tells_the_fires_of_the_oracle(
    data,
) -> None:
    zone, change = data.draw(st.sampled_from(ALL_CHANGES))
    local = change.astimezone(UTC).replace(tzinfo=None) + timedelta(
        seconds=_offset(zone, change - timedelta(seconds=1))
    )
    minute = data.draw(st.integers(0, 59).map(str) | st.sampled_from(["*/10", "*/20", "0-59/30"]))
    hour = (local + timedelta(hours=data.draw(st.sampled_from([-2, -1, 0, 1])))).hour
    after = change - timedelta(days=2)
    expression = f"{minute} {hour} * * *"
    gap, overlap = data.draw(st.sampled_from([None, Gap.SKIP])), data.draw(st.sampled_from([None, *Repeat]))
    trigger = CronTrigger(expression, zone, gap, overlap)
    lint = look_over(trigger, from_datetime(after))
    oracle = Oracle(expression, zone, gap or "", overlap or "")
    walls = [at for at in _walls(zone, change) if oracle.matches(at)]
    told = [w.text for w in lint.warnings if w.code is WarningCode.DST_CHANGE]
    said = told[0].split(". ")[1] if told else "no time that it names is touched"
    assert ("no time that it names is touched" in said) == (not walls), (said, walls)
    begin, end = change - HALF_A_DAY, change + HALF_A_DAY
    fired = [to_text(from_datetime(at)) for at in oracle.fires(begin, end)]
    shown = re.findall(r"\d{4}-\d\d-\d\dT[\d:]+Z", said)
    assert set(shown) <= set(fired), "what is said to fire does"
    if walls and ("skipped" in said) == bool(shown):
        pytest.fail(f"neither skipped nor fired, or both: {said}")


def _offset(zone: str, at: datetime) -> int:
    segment = zones.load(zone).segment_at(int(at.timestamp()))
    assert segment is not None
    return segment.offset


def _walls(zone: str, change: datetime) -> list[datetime]:
    """The wall-clock minutes that this change skips or repeats."""
    before, after = _offset(zone, change - timedelta(seconds=1)), _offset(zone, change)
    naive = change.replace(tzinfo=None)
    start, end = sorted((naive + timedelta(seconds=before), naive + timedelta(seconds=after)))
    return [start + timedelta(minutes=n) for n in range(int((end - start).total_seconds() // 60))]


@settings(max_examples=200, deadline=None)
@given(
    expressions(),
    st.sampled_from(sorted(zones.names())),
    st.one_of(st.integers(OLDEST, LATEST), st.integers(0, 2 * NOW), st.sampled_from([OLDEST, LATEST])),
)
def test_whatever_can_be_scheduled_can_be_looked_over_at_any_time(expression: str, zone: str, after: int) -> None:
    trigger = CronTrigger(expression, zone)
    try:
        trigger.next_after(after)
    except Invalid:
        return
    lint = look_over(trigger, after)
    assert lint.words
    assert all(warning.text and "{" not in warning.text.replace('{"every"', "") for warning in lint.warnings)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:01Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59"])
@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Kiritimati", "Etc/GMT+12", "UTC"])
def test_so_can_an_instant_at_the_ends_of_the_calendar(text: str, zone: str) -> None:
    try:
        trigger = parse_trigger({"at": text, "timezone": zone}, OLDEST)
    except Invalid:
        return
    assert look_over(trigger, OLDEST).words.startswith("Once, ")
    assert look_over(trigger, LATEST).words.startswith("Once, ")


@pytest.mark.parametrize(
    ("expression", "code", "said"),
    [
        ("0 9 1 * */2", "day_both", "(day 1) and the day of week (Tuesday, Thursday, Saturday and Sunday)"),
        ("0 9 */2 * 1", "day_both", "(days 1 to 31 in steps of 2) and the day of week (Monday)"),
        ("0 9 * * 1#5,3#5", "date_seldom", "Not every month has a fifth Monday and a fifth Wednesday"),
        ("0 9 30W 2,4 *", "date_never", "for the last weekday of each month write `LW`"),
        ("0 9 30 2,4 *", "date_never", "for the last day of each month write `L`"),
    ],
)
def test_a_warning_reads_as_somebody_would_say_it(expression: str, code: str, said: str) -> None:
    assert said in text_of(code, look(expression))
