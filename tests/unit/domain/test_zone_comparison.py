"""What two releases name differently: every date of it, and nothing else."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronfleet.domain import zones
from cronfleet.domain.instant import DAY, SECOND, Instant
from cronfleet.domain.trigger import Trigger, fires, parse_trigger
from cronfleet.domain.zone_comparison import Compared, changed_zones, compare
from cronfleet.domain.zones import ZoneSource
from tests.support.builders import at
from tests.support.zone_sources import release

START = at("2026-11-30 12:00")
YEAR = START + 366 * DAY
PLACE = "Test/Place"
SPRING, AUTUMN = at("2027-03-28 01:00") // SECOND, at("2027-10-31 01:00") // SECOND
WINTER, SUMMER = 3_600, 7_200


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[ZoneSource, ZoneSource, ZoneSource]:
    """Summer time; the same, begun four days later; none at all, and one zone less."""
    folder = tmp_path_factory.mktemp("zones")
    quiet = {"Test/Quiet": [(0, 19_800)]}
    one = release(
        folder, "2026e", {PLACE: [(0, WINTER), (SPRING, SUMMER), (AUTUMN, WINTER)], **quiet, "Test/Gone": [(0, 0)]}
    )
    late = release(folder, "2026f", {PLACE: [(0, WINTER), (SPRING + 4 * 86_400, SUMMER), (AUTUMN, WINTER)], **quiet})
    none = release(folder, "2026g", {PLACE: [(0, WINTER)], **quiet})
    return one, late, none


def differences(trigger: dict[str, str], before: ZoneSource, after: ZoneSource) -> Compared:
    return compare(partial(parse_trigger, trigger, START), before, after, START, YEAR)


def named(trigger: Trigger, source: ZoneSource) -> list[Instant]:
    with zones.working_with(source):
        return list(fires(trigger, START, YEAR))


def test_a_summer_that_begins_later_moves_four_mornings(sources: tuple[ZoneSource, ...]) -> None:
    compared = differences({"cron": "0 9 * * *", "timezone": PLACE}, sources[0], sources[1])
    moved = [(one.before_at, one.after_at) for one in compared.differences]
    assert moved == [(at(f"2027-03-{day} 07:00"), at(f"2027-03-{day} 08:00")) for day in (28, 29, 30, 31)]


def test_a_job_of_the_night_of_the_change_meets_the_gap_of_each_release(sources: tuple[ZoneSource, ...]) -> None:
    compared = differences({"cron": "30 2 * * *", "timezone": PLACE}, sources[0], sources[1])
    assert (compared.differences[0].before_at, compared.differences[0].after_at) == (None, at("2027-03-28 01:30"))
    assert (at("2027-03-28 01:00"), None) in [(one.before_at, one.after_at) for one in compared.differences]


def test_what_no_zone_decides_and_what_both_agree_on_does_not_change(sources: tuple[ZoneSource, ...]) -> None:
    for trigger in (
        {"cron": "0 9 * * *", "timezone": "UTC"},
        {"every": "1h"},
        {"at": "2027-04-01T09:00:00+02:00"},
        {"cron": "0 9 * * *", "timezone": "Test/Quiet"},
        {"cron": "0 9 1 1 *", "timezone": PLACE},
        {"cron": "*/15 * * * *", "timezone": PLACE},
    ):
        assert not differences(trigger, sources[0], sources[2]).is_changed, trigger


def test_a_one_shot_and_a_zone_that_is_gone_are_told(sources: tuple[ZoneSource, ...]) -> None:
    compared = differences({"at": "2027-07-01T09:00:00", "timezone": PLACE}, sources[0], sources[2])
    [one] = compared.differences
    assert (one.before_at, one.after_at) == (at("2027-07-01 07:00"), at("2027-07-01 08:00"))
    gone = differences({"cron": "0 9 * * *", "timezone": "Test/Gone"}, sources[0], sources[1])
    assert gone.is_changed
    assert "2026f" in gone.problem
    assert list(changed_zones(sources[0], sources[1], START, YEAR)) == [PLACE]


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["0 * * * *", "30 2 * * *", "0 1,2,3 * * *", "*/20 2 * * *", "15 0-4 28-31 3 *", "0 2 31 10 *"]),
    st.sampled_from(["skip", "after"]),
    st.sampled_from(["first", "second", "both"]),
    st.permutations([0, 1, 2]),
)
def test_the_differences_are_those_of_the_whole_year(
    sources: tuple[ZoneSource, ...], cron: str, gap: str, overlap: str, order: list[int]
) -> None:
    before, after = sources[order[0]], sources[order[1]]
    form = {"cron": cron, "timezone": PLACE, "gap": gap, "overlap": overlap}
    with zones.working_with(before):
        trigger = parse_trigger(form, START)
    olds, news = named(trigger, before), named(trigger, after)
    compared = differences(form, before, after)
    assert sorted(one.before_at for one in compared.differences if one.before_at) == sorted(set(olds) - set(news))
    assert sorted(one.after_at for one in compared.differences if one.after_at) == sorted(set(news) - set(olds))
