"""Lines, by which rates are kept: what every job store promises of them."""

from cronfleet.domain.instant import SECOND
from cronfleet.domain.rate import MICROSECONDS, Pace
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

PACE = Pace(spacing=100_000, burst=5)
"""Ten a second."""
FLOOR = PACE.floor(NOON)


def test_a_line_that_nobody_has_drawn_from_is_at_rest(engine: Engine) -> None:
    drawn = engine.store.draw("tenant#acme", PACE.span(3), floor=FLOOR)
    assert (drawn.start, drawn.is_granted) == (FLOOR, True)


def test_whoever_draws_next_stands_behind(engine: Engine) -> None:
    engine.store.draw("tenant#acme", PACE.span(3), floor=FLOOR)
    assert engine.store.draw("tenant#acme", PACE.span(4), floor=FLOOR).start == FLOOR + PACE.span(3)
    assert engine.store.draw("tenant#acme", PACE.span(1), floor=FLOOR).start == FLOOR + PACE.span(7)
    assert engine.store.draw("tenant#globex", PACE.span(1), floor=FLOOR).start == FLOOR


def test_a_line_that_has_rested_begins_at_the_floor_and_saves_nothing_up(engine: Engine) -> None:
    engine.store.draw("tenant#acme", PACE.span(3), floor=FLOOR)
    later = PACE.floor(NOON + 60 * SECOND)
    assert engine.store.draw("tenant#acme", PACE.span(1), floor=later).start == later


def test_what_would_pass_the_ceiling_is_refused_and_moves_nothing(engine: Engine) -> None:
    ceiling = PACE.ceiling(NOON)
    assert not engine.store.draw("tenant#acme", PACE.span(6), floor=FLOOR, ceiling=ceiling).is_granted
    assert engine.store.draw("tenant#acme", PACE.span(5), floor=FLOOR, ceiling=ceiling).is_granted
    refused = engine.store.draw("tenant#acme", PACE.span(1), floor=FLOOR, ceiling=ceiling)
    assert (refused.start, refused.is_granted) == (NOON * MICROSECONDS + PACE.spacing, False)
    assert engine.store.draw("tenant#acme", PACE.span(1), floor=FLOOR).start == refused.start
