"""iCalendar files as the world writes them: what each comes to, and what is refused with its line or event."""

from datetime import date

import pytest

from cronfleet.domain.calendar import DateKind, day_text, to_day
from cronfleet.domain.errors import Invalid
from functions.api.calendar_files import MAX_EVENTS, CalendarFile, read_calendar_file

TODAY = to_day(date(2026, 11, 30))
HEAD = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Example//EN"]


def event(*lines: str, uid: str = "1") -> list[str]:
    return ["BEGIN:VEVENT", f"UID:{uid}", *lines, "END:VEVENT"]


def text_of(*events: list[str]) -> str:
    return "\r\n".join([*HEAD, *(line for one in events for line in one), "END:VCALENDAR", ""])


def read(*events: list[str]) -> CalendarFile:
    return read_calendar_file(text_of(*events), DateKind.HOLIDAY, TODAY)


def dates(found: CalendarFile, year: str = "") -> list[str]:
    """`first` or `first/last` of each, of one year where it is given."""
    shown = [day_text(one.first) + (f"/{day_text(one.last)}" if one.last > one.first else "") for one in found.dates]
    return [one for one in shown if one.startswith(year)]


def refused(text: str) -> str:
    with pytest.raises(Invalid) as caught:
        read_calendar_file(text, DateKind.HOLIDAY, TODAY)
    assert caught.value.field == "ical"
    return caught.value.reason


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["DTSTART;VALUE=DATE:20261225", "DTEND;VALUE=DATE:20261226"], ["2026-12-25"]),
        (["DTSTART;VALUE=DATE:20261225"], ["2026-12-25"]),
        (["DTSTART:20261225", "DTEND:20261226"], ["2026-12-25"]),
        (["DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261228"], ["2026-12-24/2026-12-27"]),
        (["DTSTART;VALUE=DATE:20261224", "DURATION:P4D"], ["2026-12-24/2026-12-27"]),
        (["DTSTART:20261225T000000Z", "DTEND:20261226T000000Z"], ["2026-12-25"]),
        (["DTSTART:20261225T220000Z", "DTEND:20261226T020000Z"], ["2026-12-25/2026-12-26"]),
        (["DTSTART;TZID=Pacific/Auckland:20261225T090000", "DURATION:PT3H"], ["2026-12-25"]),
        (
            ["DTSTART;TZID=GMT Standard Time:20261225T090000", "DTEND;TZID=GMT Standard Time:20261225T100000"],
            ["2026-12-25"],
        ),
        (["DTSTART;TZID=Nowhere/Land:20261225T230000", "DURATION:PT2H"], ["2026-12-25/2026-12-26"]),
        (["DTSTART;VALUE=DATE:20261225", "DTEND;VALUE=DATE:20261225"], ["2026-12-25"]),
        (["DTSTART;VALUE=DATE:20261225", "DTEND:20261225T050001Z", ""], ["2026-12-25"]),
        (["DTSTART;VALUE=DATE:20261225", "STATUS:CANCELLED"], []),
        (["DTSTART;VALUE=DATE:19991225"], []),
    ],
)
def test_an_event_comes_to_the_dates_that_it_touches(lines: list[str], wanted: list[str]) -> None:
    assert dates(read(event(*lines))) == wanted


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["DTSTART;VALUE=DATE:20201225", "RRULE:FREQ=YEARLY"], ["2027-12-25"]),
        (["DTSTART;VALUE=DATE:16041225", "RRULE:FREQ=YEARLY"], ["2027-12-25"]),
        (["DTSTART;VALUE=DATE:20201126", "RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH"], ["2027-11-25"]),
        (["DTSTART;VALUE=DATE:20200525", "RRULE:FREQ=YEARLY;BYMONTH=5;BYDAY=-1MO"], ["2027-05-31"]),
        (["DTSTART;VALUE=DATE:20201225", "RRULE:FREQ=YEARLY;UNTIL=20261231"], []),
        (["DTSTART;VALUE=DATE:20261225", "RRULE:FREQ=YEARLY;COUNT=2"], ["2027-12-25"]),
        (["DTSTART;VALUE=DATE:20261225", "RRULE:FREQ=YEARLY", "EXDATE;VALUE=DATE:20271225"], []),
        (["DTSTART;VALUE=DATE:20261225", "RDATE;VALUE=DATE:20270101,20270102"], ["2027-01-01", "2027-01-02"]),
        (
            [
                "DTSTART;VALUE=DATE:20211126",
                "DTEND:20211126T050001Z",
                "RRULE:FREQ=YEARLY;BYMONTH=11;COUNT=10;BYDAY=4FR",
            ],
            ["2027-11-26"],
        ),
        (
            [
                "DTSTART;TZID=America/New_York:20261225T090000",
                "DTEND;TZID=America/New_York:20261225T100000",
                "RRULE:FREQ=YEARLY;UNTIL=20281231",
            ],
            ["2027-12-25"],
        ),
        (["DTSTART:20261225", "DTEND:20261225", "RRULE:FREQ=YEARLY", "EXDATE:20271225T080000"], []),
        (["DTSTART;VALUE=DATE:20270305", "RRULE:FREQ=WEEKLY;COUNT=3"], ["2027-03-05", "2027-03-12", "2027-03-19"]),
    ],
)
def test_what_recurs_is_expanded(lines: list[str], wanted: list[str]) -> None:
    assert dates(read(event(*lines)), "2027") == wanted


def test_one_moved_occurrence_is_where_it_was_moved_to() -> None:
    rule = event("DTSTART;VALUE=DATE:20251226", "RRULE:FREQ=YEARLY", uid="boxing")
    moved = event("RECURRENCE-ID;VALUE=DATE:20261226", "DTSTART;VALUE=DATE:20261228", uid="boxing")
    found = dates(read(rule, moved))
    assert "2026-12-28" in found
    assert "2026-12-26" not in found
    assert "2027-12-26" in found


def test_a_file_as_a_calendar_program_exports_it() -> None:
    """A byte order mark, bare line feeds, folded lines, a VTIMEZONE, an alarm, escapes, emoji."""
    lines = [
        "\ufeffBEGIN:VCALENDAR",
        "PRODID:-//Microsoft Corporation//Outlook 16.0 MIMEDIR//EN",
        "VERSION:2.0",
        "METHOD:PUBLISH",
        "X-WR-CALNAME:Feiertage",
        "BEGIN:VTIMEZONE",
        "TZID:W. Europe Standard Time",
        "BEGIN:STANDARD",
        "DTSTART:16011028T030000",
        "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10",
        "TZOFFSETFROM:+0200",
        "TZOFFSETTO:+0100",
        "END:STANDARD",
        "END:VTIMEZONE",
        "BEGIN:VEVENT",
        "CLASS:PUBLIC",
        "DTSTART;VALUE=DATE:20261003",
        "DTEND;VALUE=DATE:20261004",
        "SUMMARY;LANGUAGE=de:Tag der Deutschen Einheit\\, ein Feiertag in gan",
        "\tz Deutschland 🎉",
        "TRANSP:TRANSPARENT",
        "BEGIN:VALARM",
        "TRIGGER:-PT15M",
        "ACTION:DISPLAY",
        "DESCRIPTION:Reminder",
        "END:VALARM",
        "END:VEVENT",
        "END:VCALENDAR",
    ]
    found = read_calendar_file("\n".join(lines), DateKind.HOLIDAY, TODAY)
    assert dates(found) == ["2026-10-03"]
    assert found.dates[0].label == "Tag der Deutschen Einheit, ein Feiertag in ganz Deutschland 🎉"


def test_a_file_without_events_names_no_date() -> None:
    assert read() == CalendarFile((), None)


def test_what_a_file_covers_ends_with_what_it_lists_date_by_date() -> None:
    yearly = event("DTSTART;VALUE=DATE:20201225", "RRULE:FREQ=YEARLY")
    easter = event("DTSTART;VALUE=DATE:20270328", uid="2")
    long_ago = event("DTSTART;VALUE=DATE:20260403", uid="3")
    assert day_text(read(yearly).covers_until or 0) == "2036-12-31"
    assert day_text(read(yearly, easter).covers_until or 0) == "2027-03-28"
    assert day_text(read(yearly, long_ago).covers_until or 0) == "2036-12-31"
    assert day_text(read(long_ago).covers_until or 0) == "2026-04-03"


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["SUMMARY:Nowhen"], "event 1 (line 4, `Nowhen`): has no DTSTART"),
        (["DTSTART;VALUE=DATE:20261331"], "event 1 (line 4): its DTSTART cannot be read"),
        (["DTSTART;VALUE=DATE:20261225", "RRULE:FREQ=SOMETIMES"], "event 1 (line 4): its RRULE cannot be read"),
        (["DTSTART;VALUE=DATE:20261225", "RRULE:COUNT=3"], "recurs without FREQ"),
        (["DTSTART:20261225T100000Z", "RRULE:FREQ=HOURLY"], "recurs HOURLY"),
        (["DTSTART:20261225T100000Z", "RRULE:FREQ=YEARLY;BYHOUR=1,2,3"], "by BYHOUR"),
        (["DTSTART;VALUE=DATE:20261225", "RRULE:FREQ=DAILY;BYMONTHDAY=31;BYMONTH=2"], "write YEARLY or MONTHLY"),
        (["DTSTART;VALUE=DATE:00010101", "RRULE:FREQ=DAILY"], "since before 1970"),
        (["DTSTART;VALUE=DATE:20261225", "RRULE:FREQ=DAILY"], "names more than 2000 dates"),
        (["DTSTART;VALUE=DATE:20261225", "DTEND;VALUE=DATE:20291225"], "1096 days long"),
        (["DTSTART;VALUE=DATE:20261225", "EXRULE:FREQ=YEARLY"], "EXRULE"),
    ],
)
def test_what_is_wrong_with_an_event_is_said_with_its_number_and_line(lines: list[str], says: str) -> None:
    assert says in refused(text_of(event(*lines)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no whole iCalendar file"),
        ("date,name\n2026-12-25,Christmas\n", "line 1"),
        ("\r\n".join([*HEAD, "this is no content line", "END:VCALENDAR"]), "line 4"),
        (text_of(event("DTSTART;VALUE=DATE:20261225")).replace("END:VCALENDAR", ""), "ends before its END:VCALENDAR"),
        ("BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Nobody\r\nEND:VCARD\r\n", "no whole iCalendar file"),
    ],
)
def test_what_is_no_calendar_file_is_refused_with_its_line(text: str, says: str) -> None:
    assert says in refused(text)


def test_events_are_bounded() -> None:
    events = [event("DTSTART;VALUE=DATE:20261225", uid=str(number)) for number in range(MAX_EVENTS + 1)]
    assert "2000 are allowed" in refused(text_of(*events))
