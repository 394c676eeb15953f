"""Lines, by which rates are kept: what every job store promises of them."""

from cronfleet.domain.instant import SECOND
from cronfleet.domain.rate import MICROSECONDS, Pace
from cronfleet.ports.rates import Draw
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


def test_lines_that_are_drawn_from_together_stand_where_they_would_if_each_had_been_asked(engine: Engine) -> None:
    """At rest, gone on, full, begun long ago, never drawn from; each with what fits below the ceiling, and what not."""
    ceiling = PACE.ceiling(NOON)
    before = {"gone-on": 3, "full": 5, "over": 4}
    for line, places in before.items():
        engine.store.draw(line, PACE.span(places), floor=FLOOR)
    engine.store.draw("rested", PACE.span(2), floor=PACE.floor(NOON - 60 * SECOND))
    wanted = {"gone-on": 2, "full": 1, "over": 2, "rested": 5, "rested-over": 6, "new": 4, "new-over": 6}
    engine.store.draw("rested-over", PACE.span(2), floor=PACE.floor(NOON - 60 * SECOND))
    moved = engine.store.draw_all([Draw(line, PACE.span(n), FLOOR, ceiling) for line, n in wanted.items()])
    # All that fit, or it is left to asking each alone: those that nobody has drawn from, or all of them.
    assert set(moved) in ({"gone-on", "rested", "new"}, {"gone-on", "rested"}, set())
    for line, places in wanted.items():
        own = places if line in moved else 0
        start = engine.store.draw(line, PACE.span(1), floor=FLOOR).start
        assert start == FLOOR + PACE.span(before.get(line, 0) + own), line


def test_lines_without_a_ceiling_are_moved_on_as_far_as_is_asked(engine: Engine) -> None:
    engine.store.draw("gone-on", PACE.span(3), floor=FLOOR)
    moved = engine.store.draw_all([Draw(line, PACE.span(90), FLOOR) for line in ("gone-on", "new")])
    own = {line: 90 if line in moved else 0 for line in ("gone-on", "new")}
    assert engine.store.draw("gone-on", PACE.span(1), floor=FLOOR).start == FLOOR + PACE.span(3 + own["gone-on"])
    assert engine.store.draw("new", PACE.span(1), floor=FLOOR).start == FLOOR + PACE.span(own["new"])
    assert not list(engine.store.draw_all([]))
