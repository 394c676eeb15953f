"""The golden table of every canonical zone, 2018 to 2037: a sample is worked out anew.

All of it: `python -m benchmarks.golden_zones`.
"""

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from cronfleet.domain import zones
from cronfleet.domain.instant import from_datetime, to_datetime
from cronfleet.domain.trigger import fires, parse_trigger
from simulator import golden

TABLE = {
    line.partition(" ")[0]: line
    for line in (Path(__file__).parents[2] / "cases" / "golden_zones.txt").read_text(encoding="ascii").splitlines()
}
HARD = ["America/Santiago", "Australia/Lord_Howe"]
"""Forty changes each: the first at midnight, the other by half an hour."""
FEW = 8
"""Zones with no more changes than that changed their rule in these years, or gave them up: those are looked at."""


def _ours(expression: str, zone: str, gap: str, overlap: str, after: datetime, until: datetime) -> Iterable[datetime]:
    form = {"cron": expression, "timezone": zone, "gap": gap, "overlap": overlap}
    return map(to_datetime, fires(parse_trigger(form, 0), from_datetime(after), from_datetime(until)))


def test_the_table_has_every_canonical_zone() -> None:
    assert list(TABLE) == golden.canonical_zones()
    assert set(TABLE) <= zones.names()


@pytest.mark.parametrize("name", sorted(TABLE)[::9])
def test_the_product_finds_as_many_changes_of_a_zone_as_the_table_has(name: str) -> None:
    zone, second, offsets = zones.load(name), int(golden.FIRST.timestamp()), []
    while second < golden.END.timestamp():
        segment = zone.segment_at(second)
        offsets.append(segment.offset)
        second = segment.end
    assert int(TABLE[name].split()[1]) == sum(before != after for before, after in pairwise(offsets))


@pytest.mark.parametrize("name", [*HARD, *(name for name, line in TABLE.items() if 1 < int(line.split()[1]) <= FEW)])
def test_around_each_change_of_a_zone_every_policy_gives_the_golden_fires(name: str) -> None:
    assert golden.line(name, _ours) == TABLE[name]
