"""Breakers from the command line: seen, and closed by hand."""

from cronfleet.domain.noticeboard import Topic, posted, sheet_of
from cronfleet.ports.breakers import PutBreaker
from cronfleet.ports.noticeboard import PutSheet
from tests.integration.functions.test_api_breakers import HOOK, OPEN
from tests.support.command_line import CommandLine
from tests.support.settable_clock import NOON


def test_an_open_breaker_is_shown_and_closed(cronfleet: CommandLine):
    store = cronfleet.api.store
    sheet = store.get_sheet(Topic.BREAKERS, sheet_of(HOOK.notice))
    store.commit([PutBreaker(OPEN), PutSheet(posted(sheet, HOOK.notice, OPEN.notice, now=NOON, change_id="c1"))])
    said = cronfleet("breakers", "list")
    assert "https://example.com/hook" in said.out
    assert "connection refused" in said.out
    assert cronfleet.json("breakers", "get", HOOK.breaker_id)["failures"] == 10
    assert cronfleet.json("breakers", "close", HOOK.breaker_id, "-r", "mended")["state"] == "closed"
    assert cronfleet.json("breakers", "list")["breakers"] == []
