"""Calendar content: from what a caller sent, JSON or an iCalendar file in it, to the domain's values."""

from collections.abc import Mapping
from typing import Any, Final

from cronfleet.domain.calendar import DateKind
from cronfleet.domain.calendar_change import today_of
from cronfleet.domain.calendar_form import Content, parse_content
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import Instant

from .calendar_files import FIELD, read_calendar_file

_SAYS_NOTHING: Final = "holds nothing: list holidays, workdays or freezes, send an iCalendar file, or write the weekend"


def content_of(fields: Mapping[str, Any], now: Instant) -> Content:
    """The content that `fields` ask for; raises `Invalid`."""
    if not fields:
        raise Invalid("body", _SAYS_NOTHING)
    text, kind = fields.get(FIELD), fields.get("kind")
    if text is None:
        if kind is not None:
            raise Invalid("kind", f"goes with {FIELD}: it says what the dates of the file are")
        return parse_content(fields)
    found = read_calendar_file(str(text), DateKind(kind or DateKind.HOLIDAY), today_of(now))
    if not found.dates:
        raise Invalid(FIELD, "names no date from last year on; is it an old file?")
    return parse_content(fields, found.dates, covers_until=found.covers_until)
