"""Hypothesis strategies: cron expressions of every form, and the real changes of the world's clocks."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from cronfleet.domain import zones
from tests.support.tzif import offset_changes

_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


def changes(since: str = "1973-01-01", until: str = "2037-12-31") -> list[tuple[str, datetime]]:
    """Every change of every zone, as (zone, instant). From 1973 on all of them keep to whole minutes."""
    first, last = (datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() for text in (since, until))
    return [
        (name, datetime.fromtimestamp(second, UTC))
        for name in sorted(zones.names())
        for second, _, _ in offset_changes(name)
        if first <= second < last
    ]


@st.composite
def field(draw: st.DrawFn, low: int, high: int, likely: tuple[int, ...] = (), star: bool = True) -> str:
    """One field of numbers: a star, a step, a value, a range (also over the end) or a list of them."""
    value = st.sampled_from(likely) | st.integers(low, high) if likely else st.integers(low, high)
    step = st.integers(1, high + 2)
    item = st.one_of(
        value.map(str),
        st.tuples(value, value).map(lambda pair: f"{pair[0]}-{pair[1]}"),
        st.tuples(value, value, step).map(lambda parts: f"{parts[0]}-{parts[1]}/{parts[2]}"),
    )
    if star:
        item = st.one_of(item, st.just("*"), step.map(lambda n: f"*/{n}"))
    return draw(st.one_of(item, st.lists(item, min_size=2, max_size=3).map(",".join)))


def month_days(likely: tuple[int, ...] = ()) -> st.SearchStrategy[str]:
    """A day of month, with `L`, `L-n`, `nW` and `LW` among the forms."""
    special = st.one_of(
        st.sampled_from(["L", "LW", "l", "?"]),
        st.integers(1, 30).map(lambda n: f"L-{n}"),
        st.integers(1, 31).map(lambda n: f"{n}W"),
    )
    lists = st.lists(special.filter(lambda text: text != "?"), min_size=2, max_size=3).map(",".join)
    return st.one_of(st.just("*"), field(1, 31, likely), special, lists)


def weekdays() -> st.SearchStrategy[str]:
    """A day of week, with names, `d#n` and `dL` among the forms."""
    day = st.integers(0, 7).map(str) | st.sampled_from(_DAYS)
    special = st.one_of(
        st.tuples(day, st.integers(1, 5)).map(lambda pair: f"{pair[0]}#{pair[1]}"),
        day.map(lambda name: f"{name}L"),
        st.tuples(day, day).map("-".join),
    )
    return st.one_of(st.just("*"), field(0, 7), special, st.lists(special, min_size=2, max_size=2).map(",".join))


@st.composite
def expressions(draw: st.DrawFn, near: datetime | None = None, star_hours: bool = True) -> str:
    """A whole expression; with `near`, most name times of day (and days) around that wall-clock time."""
    hours = tuple((near + timedelta(hours=n)).hour for n in (-2, -1, 0, 1)) if near else ()
    days = tuple((near + timedelta(days=n)).day for n in (-1, 0, 1)) if near else ()
    month = st.just("*") if near else st.one_of(st.just("*"), field(1, 12), st.sampled_from(_MONTHS))
    parts = (
        draw(field(0, 59, (0, 30, 15, 45), star=star_hours)),
        draw(field(0, 23, hours, star=star_hours)),
        draw(month_days(days)),
        draw(month),
        draw(weekdays()),
    )
    return " ".join(parts)
