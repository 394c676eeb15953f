"""Channels and incidents from the command line."""

import pytest

from tests.integration.functions.test_api_alerts import opened
from tests.support.command_line import CommandLine

SLACK = "kind: slack\nurl_secret: cronfleet/acme/slack\ndefault: true\n"


@pytest.fixture
def told(cronfleet: CommandLine) -> CommandLine:
    cronfleet.api.register()
    cronfleet.json("channels", "put", "night", "-f", "-", "-r", "on call", given=SLACK)
    return cronfleet


def test_a_channel_is_made_shown_and_deleted(told):
    assert told.json("channels", "get", "night")["url_secret"] == "cronfleet/acme/slack"
    assert [each["name"] for each in told.json("channels", "list")["channels"]] == ["night"]
    assert "slack" in told("channels", "list").out
    assert told("channels", "delete", "night", "-r", "moved").code == 0
    assert told.json("channels", "list")["channels"] == []


def test_a_test_message_is_owed_and_who_waits_is_told_whether_it_came(told):
    assert told.json("channels", "test", "night")["edge"] == "test"
    said = told("channels", "test", "night", "--wait")
    assert said.code == 130  # Nobody delivers it here, and after a while whoever waits gives up.


def test_an_incident_is_listed_shown_and_acknowledged(told):
    opened(told.api)
    said = told("incidents", "list", "--status", "open")
    assert "the fire of noon did not start within 5m" in said.out
    (incident,) = told.json("incidents", "list", "--schedule", "nightly")["incidents"]
    seen = told.json("incidents", "acknowledge", incident["id"], "--note", "on it")
    assert seen["acknowledged"]["note"] == "on it"
    shown = told("incidents", "get", incident["id"])
    assert (shown.code, "night" in shown.out) == (0, True)


def test_those_of_the_installation_are_for_platform_admins(told):
    assert told("channels", "list", "--platform").code == 1
    assert told("incidents", "list", "--platform").code == 1
