"""Every recorded case of `tests/cases/cron_cases.jsonl`: schedules that some scheduler in the world got wrong."""

import json
from itertools import islice
from pathlib import Path

import pytest

from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import to_text
from cronfleet.domain.time_text import parse_moment
from cronfleet.domain.trigger import fires, parse_trigger

CASES = [
    json.loads(line) for line in (Path(__file__).parents[2] / "cases" / "cron_cases.jsonl").read_text().splitlines()
]


def _fires(case: dict, count: int) -> list[str]:
    after = parse_moment(case["after"], "after").instant("after")
    fields = {key: case[key] for key in ("cron", "at") if key in case}
    trigger = parse_trigger(fields, after, case.get("tz"))
    return [to_text(instant) for instant in islice(fires(trigger, after), count)]


@pytest.mark.parametrize(
    "case", [case for case in CASES if "expect" in case], ids=lambda case: f"{case['id']} {case['what']}"
)
def test_the_case_fires_when_it_should(case: dict) -> None:
    assert _fires(case, len(case["expect"])) == case["expect"], case["why"]


@pytest.mark.parametrize(
    "case", [case for case in CASES if "expect" not in case], ids=lambda case: f"{case['id']} {case['what']}"
)
def test_the_case_is_refused_with_the_field_that_is_wrong(case: dict) -> None:
    with pytest.raises(Invalid) as refused:
        _fires(case, 1)
    assert refused.value.field == {"tz-name": "timezone", "one-shot": "at"}.get(case["class"], "cron")
    assert len(refused.value.reason) < 600


def test_no_case_got_lost() -> None:
    assert len(CASES) == 179
