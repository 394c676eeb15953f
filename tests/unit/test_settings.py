"""What a function is told whose environment is incomplete or wrong."""

import json

import pytest

from cronfleet import settings
from cronfleet.settings import SettingsError, from_environment

WHOLE = {
    settings.TABLE_PREFIX: "cronfleet",
    settings.SHARDS: "1024",
    settings.RUN_QUEUE_URLS: json.dumps({"standard": "https://one", "priority": "https://two"}),
    settings.WEBHOOK_ALLOWED_NETWORKS: "10.0.0.0/8, ::1/128",
}


def test_a_whole_environment_is_one_frozen_value() -> None:
    found = from_environment(settings.RUN_QUEUE_URLS, environment=WHOLE)
    assert found.shards == 1024
    assert found.run_queue_urls == {"standard": "https://one", "priority": "https://two"}
    assert found.webhook_allowed_networks == ("10.0.0.0/8", "::1/128")


def test_every_missing_variable_is_named_at_once() -> None:
    with pytest.raises(SettingsError, match=f"set {settings.TABLE_PREFIX}, {settings.TICK_QUEUE_URL} in"):
        from_environment(settings.TICK_QUEUE_URL, environment={})


@pytest.mark.parametrize("shards", ["0", "-1", "many", "1025"])
def test_a_number_of_shards_that_no_tick_can_name_is_refused(shards: str) -> None:
    with pytest.raises(SettingsError, match=f"{settings.SHARDS} is '{shards}': write a whole number from 1 to 1024"):
        from_environment(environment={**WHOLE, settings.SHARDS: shards})


def test_each_tier_must_have_its_queue() -> None:
    one = json.dumps({"standard": "https://one"})
    with pytest.raises(SettingsError, match="one URL for each of standard, priority"):
        from_environment(environment={**WHOLE, settings.RUN_QUEUE_URLS: one})
