"""Time limits of hours at the API: taken where the installation has long workers, refused with what to do where not."""

from typing import Any

import pytest

from cronfleet import settings
from tests.support.api import Api, api_on_memory

LIMIT = "policies.timeout_seconds"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    return api_on_memory(monkeypatch, **{settings.LONG_WORKERS: "true"})


def put(api: Api, seconds: int, **definition: Any) -> Any:
    return api.register(id="night", policies={"timeout_seconds": seconds}, **definition)


def refusal(answer: Any) -> str:
    assert answer.status == 400, answer.text
    (found,) = answer.json["errors"]
    assert found["field"] == LIMIT
    reason: str = found["reason"]
    return reason


def test_with_long_workers_an_attempt_may_take_a_night(api: Api) -> None:
    assert put(api, 43_200).status == 201
    assert api.store.get_timer("acme", "night").timeout_seconds == 43_200, "so that its messages go to them"
    assert "must be at most 43200" in refusal(put(api, 43_201))


def test_without_them_it_may_not_and_the_answer_says_what_that_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    api = api_on_memory(monkeypatch)
    assert put(api, 840).status == 201
    assert "needs an installation with long workers" in refusal(put(api, 841)).replace("attempts need", "it needs")


def test_what_ends_by_itself_within_minutes_may_not_take_hours_anywhere(api: Api) -> None:
    assert "must be at most 840" in refusal(put(api, 841, target={"lambda": "cronfleet-target-report"}))
