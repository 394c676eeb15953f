"""Cron bombs: no expression costs a search more than a stated number of days, however rarely it fires."""

import pytest

from cronfleet.domain import cron, zones
from cronfleet.domain.cron import PERIOD_SECONDS, Cron
from cronfleet.domain.cron_grammar import LONGEST_EXPRESSION
from cronfleet.domain.errors import Invalid

AFTER = 1_796_040_000
MONTHS_OF_THE_CALENDAR = 400 * 12
"""After four hundred years the calendar repeats: what has not fired by then never does."""

RARE = (
    "0 0 29 2 *",
    "0 0 29 2 1",
    "0 0 L 2 MON#5",
    "0 0 LW 2 *",
    "0 0 31 12 0",
    "*/15 2 * 3 SUN#2",
    "15 2 * 3 SUN#2",
    "30 1 * 10 SUN#4",
    "0 0 15W 2 SUN#5",
)


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The days from which a search for a day went on."""
    days: list[int] = []
    real = Cron._next_day

    def counting(self: Cron, day: int) -> int | None:
        days.append(day)
        return real(self, day)

    monkeypatch.setattr(Cron, "_next_day", counting)
    return days


@pytest.mark.parametrize("expression", RARE)
@pytest.mark.parametrize("gap", list(cron.Gap))
def test_a_search_ends_within_the_days_of_one_turn_of_the_calendar(
    looked_at: list[int], expression: str, gap: cron.Gap
) -> None:
    try:
        parsed = cron.parse(expression)
    except Invalid:
        return  # Refused when it is registered: nothing is left to search for.
    found = cron.next_fire(parsed, zones.load("America/New_York"), AFTER, gap)
    assert found is None or found - AFTER <= PERIOD_SECONDS + 366 * 86_400
    assert len(looked_at) <= MONTHS_OF_THE_CALENDAR


@pytest.mark.parametrize("text", ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 29 2 * 2101"])
def test_what_can_never_fire_is_refused_when_it_is_registered(text: str) -> None:
    with pytest.raises(Invalid):
        cron.parse(text)


@pytest.mark.parametrize("text", ["*," * 200 + "*", "1-2/" * 100, "0" * 300, "* * * * " + "MON#1," * 60])
def test_an_expression_longer_than_any_is_refused_before_it_is_read(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        cron.parse(text)
    assert str(LONGEST_EXPRESSION) in str(refused.value)
