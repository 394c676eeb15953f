"""/v1/timezone-data over HTTP: which release is at work, and how far schedules have been looked at again."""

import pytest

from cronfleet.domain.instant import HOUR, MINUTE, to_text
from cronfleet.domain.retiming import Tally, for_calendar, for_zone_data
from cronfleet.domain.zone_release import SETTLES_AFTER, ZoneRelease
from cronfleet.domain.zones import tzdata_version
from cronfleet.ports.job_store import InsertRetiming, PutZoneRelease
from tests.support.api import Api, api_on_memory
from tests.support.examples import TENANT
from tests.support.settable_clock import NOON


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    return api_on_memory(monkeypatch)


def test_before_the_first_sweep_only_the_release_of_this_code_is_known(api: Api) -> None:
    answer = api.call("GET", "/v1/timezone-data")
    assert answer.status == 200, answer.text
    assert answer.json == {"release": tzdata_version(), "in_force": None, "coming": None, "retimings": []}


def test_what_is_coming_and_how_far_the_jobs_are_is_told_but_not_of_other_tenants(api: Api) -> None:
    release = ZoneRelease("2026e", NOON - HOUR, coming="2026f", coming_since=NOON)
    mine, theirs = for_calendar(TENANT, "holidays", 3, NOON), for_calendar("rival", "secret", 9, NOON)
    job = for_zone_data("0job", "2026e", NOON - HOUR)
    api.store.commit([PutZoneRelease(release), *map(InsertRetiming, (mine, theirs, job))])
    page = mine.on_to("next").noted(Tally(100, 7, 1), ((TENANT, "busy", 1),), NOON)
    assert api.store.put_retiming(page)
    assert api.store.put_retiming(job.on_to(None).noted(Tally(5, 2, 0), (), NOON - HOUR + MINUTE))
    told = api.call("GET", "/v1/timezone-data").json
    assert told["in_force"] == {"release": "2026e", "since": to_text(NOON - HOUR)}
    assert told["coming"] == {
        "release": "2026f", "since": to_text(NOON), "in_force_from": to_text(NOON + SETTLES_AFTER),
    }  # fmt: skip
    calendar, zone_data = told["retimings"]
    assert calendar == {
        "id": mine.job_id,
        "cause": "calendar",
        "release": None,
        "calendar": "holidays",
        "version": 3,
        "status": "open",
        "started_at": to_text(NOON),
        "finished_at": None,
        "seen": 100,
        "changed": 7,
        "failed": 1,
        "postponed": 1,
    }
    assert (zone_data["cause"], zone_data["release"], zone_data["status"]) == ("zone_data", "2026e", "finished")
    assert (zone_data["seen"], zone_data["changed"]) == (5, 2)


def test_a_parameter_that_is_none_is_refused(api: Api) -> None:
    assert api.call("GET", "/v1/timezone-data?job=x").status == 400
