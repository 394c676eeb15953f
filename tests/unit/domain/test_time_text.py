"""Moments and durations as users write them."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import LATEST, from_datetime, to_text
from cronfleet.domain.time_text import OLDEST, interval_text, parse_interval, parse_moment


def _instant(text: object) -> str:
    return to_text(parse_moment(text, "at").instant("at"))


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-12-01T02:00:00+05:30", "2026-11-30T20:30:00Z"),
        ("2026-12-01t02:00:00z", "2026-12-01T02:00:00Z"),
        ("2026-12-01 02:00:00-0130", "2026-12-01T03:30:00Z"),
        ("2026-12-01T02:00Z", "2026-12-01T02:00:00Z"),
        ("2026-12-01T24:00:00Z", "2026-12-02T00:00:00Z"),
        ("2026-12-01T02:00:00.5Z", "2026-12-01T02:00:00.500Z"),
        ("2026-12-01T02:00:00.0009999Z", "2026-12-01T02:00:00Z"),
        ("2024-02-29T00:00:00-00:00", "2024-02-29T00:00:00Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_moment_is_read(text: str, instant: str) -> None:
    assert _instant(text) == instant


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2026-02-30T00:00:00Z", "no date"),
        ("0000-01-01T00:00:00Z", "no date"),
        ("2026-12-01T25:00:00Z", "no time of day"),
        ("2026-12-01T24:00:01Z", "no time of day"),
        ("2026-12-01T24:00:00.5Z", "no time of day"),
        ("2026-12-31T23:59:60Z", "leap second"),
        ("2026-12-01T02:00:00+24:00", "offset"),
        ("2026-12-01T02:00:00+05:60", "offset"),
        ("2026-12-01T02:00:00", "no offset"),
        ("0001-01-01T00:00:00+01:00", "years 1 to 9999"),
        ("9999-12-31T23:59:59-01:00", "years 1 to 9999"),
        ("1798761600", "RFC 3339"),
        ("2026-12-01", "RFC 3339"),
        ("tomorrow", "RFC 3339"),
        ("2026-12-01T02:00:00Z ", "RFC 3339"),
        ("２026-12-01T02:00:00Z", "RFC 3339"),
        ("2026-W49-2T02:00:00Z", "RFC 3339"),
        ("2026-12-01T02:00:00,5Z", "RFC 3339"),
        ("2026-12-01T02:00:00.Z", "RFC 3339"),
        ("9" * 100_000, "RFC 3339"),
        ("", "RFC 3339"),
        (1798761600, "text"),
        (None, "text"),
    ],
)
def test_what_is_no_exact_moment_is_refused(text: object, says: str) -> None:
    with pytest.raises(Invalid, match=re.escape(says)) as refused:
        _instant(text)
    assert refused.value.field == "at"
    assert len(refused.value.reason) < 250


@given(
    st.datetimes().filter(lambda moment: 1 < moment.year < 9999),
    st.integers(-23 * 60 - 59, 23 * 60 + 59),
)
def test_text_of_the_standard_library_is_read_to_the_same_instant(naive: datetime, offset_minutes: int) -> None:
    moment = naive.replace(tzinfo=UTC) - timedelta(minutes=offset_minutes)
    sign = "-" if offset_minutes < 0 else "+"
    text = f"{naive.isoformat()}{sign}{abs(offset_minutes) // 60:02}:{abs(offset_minutes) % 60:02}"
    assert parse_moment(text, "at").instant("at") == from_datetime(moment)
    rounded = parse_moment(text, "at").rounded_up().instant("at")
    assert rounded % 1000 == 0
    assert timedelta(0) <= timedelta(milliseconds=rounded - from_datetime(moment)) <= timedelta(seconds=1)


def test_the_oldest_and_the_latest_instant_have_text() -> None:
    assert to_text(OLDEST) == "0001-01-01T00:00:00Z"
    assert to_text(LATEST) == "9999-12-31T23:59:59Z"


@pytest.mark.parametrize(
    ("text", "seconds"), [("1s", 1), ("90s", 90), ("5m", 300), ("1h", 3600), ("007d", 604_800), ("366d", 31_622_400)]
)
def test_an_interval_is_read(text: str, seconds: int) -> None:
    assert parse_interval(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "10", "s", "0s", "-5s", "1.5h", "1h30m", "5M", "5 m", "1w", "367d",
     "99999999999s", "١٠s", "5m\n", 10, None, True]
)  # fmt: skip
def test_what_is_no_interval_is_refused(text: object) -> None:
    with pytest.raises(Invalid) as refused:
        parse_interval(text)
    assert refused.value.field == "every"


@given(st.integers(1, 366 * 86_400))
def test_an_interval_survives_its_text(seconds: int) -> None:
    assert parse_interval(interval_text(seconds)) == seconds
