"""Calendar schemas: what callers may send of a calendar, field by field."""

from typing import Any, Literal

from pydantic import Field

from cronfleet.domain.calendar_form import DEFAULT_WEEKEND

from .schemas import TEXT, Strict, shown


class CalendarBody(Strict):
    """A calendar, whole. Each list holds dates, `"2026-12-25"`, or objects with `date`, or `from` and `to` (both
    included), and a `label`.
    """

    model_config = shown(
        {
            "holidays": [{"date": "2026-12-25", "label": "Christmas Day"}, "2027-01-01"],
            "freezes": [{"from": "2026-12-20", "to": "2027-01-02", "label": "year end"}],
            "weekend": ["saturday", "sunday"],
            "covers_until": "2027-12-31",
        }
    )

    description: str = Field("", max_length=500, pattern=TEXT, description="What it is for.")
    weekend: list[str] = Field(
        default_factory=lambda: list(DEFAULT_WEEKEND), max_length=7, description="No business days; may be empty."
    )
    holidays: list[Any] = Field(default_factory=list, description="No business days.")
    workdays: list[Any] = Field(default_factory=list, description="Business days all the same, such as a Saturday.")
    freezes: list[Any] = Field(default_factory=list, description="Nothing fires on these, whatever the mode.")
    covers_until: str | None = Field(
        None, max_length=10, description="The last date that it claims to know; left out: the last that it lists."
    )
    ical: str | None = Field(None, description="An iCalendar file, whose dates come on top.")
    kind: Literal["holiday", "workday", "freeze"] | None = Field(
        None, description="What the dates of `ical` are; left out: holidays."
    )
