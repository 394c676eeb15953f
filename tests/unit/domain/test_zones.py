"""The zones: which names exist, and that every change of every zone is found to the second."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronfleet.domain import zones
from cronfleet.domain.errors import Invalid
from simulator.oracle import zone as oracle_zone
from tests.support.tzif import offset_changes

SINCE, UNTIL = 0, int(datetime(2037, 1, 1, tzinfo=UTC).timestamp())


def _changes(name: str, since: int, until: int) -> list[tuple[int, int, int]]:
    zone, found = zones.load(name), []
    segment = zone.segment_at(since)
    while segment is not None and segment.end < until:
        after = zone.segment_at(segment.end)
        assert after is not None
        assert after.start == segment.end
        if after.offset != segment.offset:
            found.append((after.start, segment.offset, after.offset))
        segment = after
    return found


def test_every_change_of_every_zone_since_1970_is_found_to_the_second() -> None:
    for name in sorted(zones.names()):
        listed = [change for change in offset_changes(name) if SINCE < change[0] < UNTIL]
        assert _changes(name, SINCE, UNTIL)[: len(listed)] == listed, name


def test_changes_of_one_zone_lie_further_apart_than_the_search_looks_and_than_any_clock_is_moved() -> None:
    for name in zones.names():
        since_1970 = [change for change in offset_changes(name) if change[0] > SINCE]
        for (earlier, *_), (later, before, after) in pairwise(since_1970):
            assert later - earlier > 2 * zones.LOOK_EVERY_SECONDS, name
            assert abs(after - before) < zones.LOOK_BACK_SECONDS, name


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(zones.names())), st.integers(SINCE, zones.LATEST_SECOND - 200_000))
def test_the_offset_at_any_second_is_the_standard_librarys(name: str, second: int) -> None:
    segment = zones.load(name).segment_at(second)
    assert segment is not None
    assert segment.start <= second < segment.end
    moment = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)).astimezone(oracle_zone(name))
    assert moment.utcoffset() == timedelta(seconds=segment.offset)


def test_a_gap_and_an_overlap_show_in_what_the_clock_had_reached() -> None:
    new_york = zones.load("America/New_York")
    spring = new_york.segment_at(int(datetime(2026, 3, 8, 7, tzinfo=UTC).timestamp()))
    autumn = new_york.segment_at(int(datetime(2026, 11, 1, 6, tzinfo=UTC).timestamp()))
    assert spring is not None
    assert autumn is not None
    assert spring.start + spring.offset - spring.reached == 3600
    assert autumn.start + autumn.offset - autumn.reached == -3600


def test_every_repeated_wall_time_is_known_in_both_of_its_passes_wherever_a_block_of_a_year_ends() -> None:
    for name in ("America/New_York", "Australia/Lord_Howe", "Antarctica/Troll", "Europe/Dublin"):
        zone = zones.load(name)
        for second, before, after in offset_changes(name):
            if second > 0 and after < before:
                again, last = second + after, second + before - 60
                for wall in (again, last):
                    first = zone.segment_at(wall - before)
                    assert first is not None
                    assert first.returns <= wall
                    assert zone.instants(wall) == (wall - before, wall - after)
                assert len(zone.instants(again - 60)) == len(zone.instants(last + 60)) == 1
            elif second > 0:
                assert zone.instants(second + before) == ()


def test_an_overlap_that_runs_into_the_next_block_of_a_year_is_still_known_there() -> None:
    for name in ("America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Antarctica/Troll"):
        zone = zones.load(name)
        for second, before, after in offset_changes(name):
            if second > 0 and after < before:
                shown_again = second + (before - after) - 60
                segment = zone.segment_at(shown_again)
                assert segment is not None
                assert shown_again + segment.offset < segment.reached


@pytest.mark.parametrize(
    "name",
    [
        "America", "localtime", "posixrules", "Factory", "right/UTC", "posix/UTC", "zones", "zone.tab", "tzdata.zi",
        "../UTC", "/etc/localtime", "../../etc/passwd", "utc", "europe/paris", "UTC\x00", " UTC", "UTC ", "", "UTC+2",
        "GMT+25", "IST", "PDT", "A" * 100_000, "Europe/\ud800", "Europe//Paris", "Europe/Paris/",
    ],
)  # fmt: skip
def test_a_name_outside_the_packages_list_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        zones.load(name)
    assert refused.value.field == "timezone"
    assert len(refused.value.reason) < 300


@pytest.mark.parametrize(
    ("name", "meant"),
    [("europe/paris", "Europe/Paris"), ("America/New York", "America/New_York"), ("Asia/Kolkatta", "Asia/Kolkata"),
     ("UTC+2", "Etc/GMT-2"), ("GMT-05:00", "Etc/GMT+5"), ("utc", "UTC")],
)  # fmt: skip
def test_a_misspelt_name_is_answered_with_the_right_one(name: str, meant: str) -> None:
    with pytest.raises(Invalid, match=meant.replace("+", r"\+")):
        zones.load(name)


def test_links_and_odd_names_are_zones_too() -> None:
    for name in ("UTC", "GMT+0", "Etc/GMT+5", "EST", "US/Central", "Asia/Calcutta", "America/Argentina/ComodRivadavia"):
        assert zones.load(name).name == name


def test_every_listed_zone_can_be_loaded() -> None:
    for name in zones.names():
        assert zones.load(name).segment_at(0) is not None


def test_the_version_of_the_zone_data_is_the_iana_release() -> None:
    assert zones.tzdata_version() == "2026f"


def test_the_hosts_zone_files_are_never_read(tmp_path) -> None:
    (tmp_path / "Europe").mkdir()
    (tmp_path / "Europe" / "Paris").write_bytes(b"a host's file, years old")
    program = (
        "from cronfleet.domain import zones\n"
        "print(zones.load('Europe/Paris').segment_at(1782864000).offset, zones.load('UTC').segment_at(0).offset)"
    )
    environment = {**os.environ, "PYTHONTZPATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["7200", "0"]


def test_a_look_far_ahead_does_not_keep_every_year_of_it() -> None:
    zone = zones.load("Europe/Rome")
    for year in range(2000, 4000, 3):
        zone.segment_at(int((datetime(year, 7, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()))
    assert len(zone._blocks) <= zones.BLOCKS_KEPT
