"""Bodies that are files of another format: each reaches its route as a field of a JSON object, and only there."""

import json

import pytest

from cronfleet.domain.errors import Invalid
from functions.api.documents import MAX_DOCUMENT_BYTES
from functions.api.reading import MAX_BODY_BYTES, NotJson, TooLarge, read
from tests.support.api import event_of

CRONTAB = "/v1/imports/crontab"
CALENDAR = "/v1/calendars/holidays"


def body_of(method, path, body, media_type):
    headers = {} if media_type is None else {"content-type": media_type}
    event = event_of(method, path, body, headers=headers)
    if media_type is None:
        del event["headers"]["content-type"]
    return json.loads(read(event)["body"])


def test_a_crontab_comes_as_text():
    assert body_of("POST", CRONTAB, "0 2 * * * x\n", "text/plain; charset=utf-8") == {
        "document": "0 2 * * * x\n",
        "not_utf8": [],
    }


def test_without_a_media_type_the_document_is_what_is_meant_where_nothing_else_is_taken():
    assert body_of("POST", CRONTAB, "0 2 * * * x", None)["document"] == "0 2 * * * x"
    assert body_of("PUT", CALENDAR, '{"days": []}', None) == {"days": []}


def test_bytes_that_are_not_utf8_are_read_line_by_line_in_a_crontab_and_refused_elsewhere():
    content = "# ü\n".encode() + "# ü\n".encode("latin-1")
    assert body_of("POST", CRONTAB, content, "application/octet-stream") == {"document": "# ü\n# ü\n", "not_utf8": [2]}
    with pytest.raises(Invalid, match="byte 7"):
        body_of("PUT", CALENDAR, content, "text/calendar")


def test_a_calendar_may_be_json_or_icalendar_and_nothing_else():
    assert body_of("PUT", CALENDAR, {"days": []}, "application/json") == {"days": []}
    assert body_of("PUT", CALENDAR, "BEGIN:VCALENDAR", "text/calendar") == {"ical": "BEGIN:VCALENDAR"}
    with pytest.raises(NotJson, match="send application/json or text/calendar"):
        body_of("PUT", CALENDAR, "BEGIN:VCALENDAR", "text/plain")


def test_json_of_an_export_is_a_document_with_its_own_reader():
    assert body_of("POST", "/v1/imports/eventbridge", "[1, 1e999]", "application/json") == {"document": "[1, 1e999]"}


@pytest.mark.parametrize("path", ["/v1/schedules", "/v1/preview", "/v1/imports/other", CRONTAB + "/x"])
def test_elsewhere_a_document_is_no_body(path):
    with pytest.raises(NotJson, match="send application/json"):
        body_of("POST", path, "0 2 * * * x", "text/plain")


def test_a_document_may_be_larger_than_a_schedule_and_has_its_own_bound():
    assert len(body_of("POST", CRONTAB, "#" * MAX_DOCUMENT_BYTES, "text/plain")["document"]) == MAX_DOCUMENT_BYTES
    with pytest.raises(TooLarge, match="Send it in parts"):
        body_of("POST", CRONTAB, "#" * (MAX_DOCUMENT_BYTES + 1), "text/plain")
    with pytest.raises(TooLarge, match="S3"):
        body_of("POST", "/v1/schedules", "#" * (MAX_BODY_BYTES + 1), "application/json")


def test_a_compressed_document_is_refused():
    event = event_of("POST", CRONTAB, b"\x1f\x8b", headers={"content-type": "text/plain", "content-encoding": "gzip"})
    with pytest.raises(NotJson, match="gzip"):
        read(event)
