"""What the local stack keeps of traces, and how it shows them."""

import gzip
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local import trace
from local.folder import Folder
from local.traces import page
from local.traces.receiver import Receiver, claim_port
from local.traces.store import Seen, Store
from local.traces.tree import rows, text

RUN = "acme~nightly~1~20261201T020000Z~schedule"
TRACE = "ab" * 16


def span(span_id: str, parent_id: str = "", name: str = "run", began: int = 0, ended: int = 10, **more: Any) -> Seen:
    about = {"cronfleet.run_id": RUN, "cronfleet.schedule_id": "nightly", "cronfleet.tenant": "acme"}
    return Seen(TRACE, span_id, parent_id, name, "cronfleet-worker", began, ended, attributes=about, **more)


TREE = [
    span("4", "3", "job <b>", 60, 90, is_error=True, error="failed: ValueError"),
    span("1", "9", "run", 0, 100),
    span("3", "1", "process", 50, 100),
    span("2", "1", "claim", 0, 10),
]


def request_of(name: str = "run", trace_id: str = TRACE) -> dict[str, Any]:
    attributes = [{"key": "cronfleet.run_id", "value": {"stringValue": RUN}}, {"key": "n", "value": {"intValue": "7"}}]
    sent = {
        "traceId": trace_id,
        "spanId": "cd" * 8,
        "name": name,
        "startTimeUnixNano": "1764590400000000000",
        "endTimeUnixNano": "1764590401250000000",
        "attributes": attributes,
        "status": {"code": 2, "message": "dead"},
    }
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "cronfleet-worker"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [sent]}]}]}


def test_spans_stand_below_their_parents_in_the_order_in_which_they_began() -> None:
    assert [(row.span.name, row.depth) for row in rows(TREE)] == [
        ("run", 0),
        ("claim", 1),
        ("process", 1),
        ("job <b>", 2),
    ]
    assert [(round(row.left, 2), round(row.width, 2)) for row in rows(TREE)] == [
        (0, 1),
        (0, 0.1),
        (0.5, 0.5),
        (0.6, 0.3),
    ]


def test_spans_that_are_their_own_ancestors_are_shown_and_end_nothing() -> None:
    assert rows([span("1", "1")])[0].depth == 0
    assert rows([]) == []


def test_a_trace_is_text_for_a_terminal() -> None:
    lines = text(TREE).splitlines()
    assert lines[0] == f"trace {TRACE}  acme / nightly"
    assert lines[-1].startswith("    job <b>")
    assert "✗ failed: ValueError" in lines[-1]
    assert len({line.index("│") for line in lines[3:]}) == 1


def test_a_trace_is_found_by_its_id_and_by_its_runs_also_after_a_restart(tmp_path: Path) -> None:
    store = Store(tmp_path / "traces.jsonl")
    assert store.take(request_of()) == 1
    for again in (store, Store(tmp_path / "traces.jsonl")):
        for wanted in (TRACE, TRACE.upper(), RUN):
            (found,) = again.find(wanted)
            assert (found.name, found.service, found.error, found.attributes["n"]) == (
                "run",
                "cronfleet-worker",
                "dead",
                7,
            )
    (tmp_path / "traces.jsonl").open("a").write('{"half a li')
    assert len(Store(tmp_path / "traces.jsonl").latest(10)) == 1


def test_the_latest_traces_come_first_and_the_oldest_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local.traces.store.MAX_TRACES", 3)
    store = Store(tmp_path / "traces.jsonl")
    for number in range(5):
        store.take(request_of(trace_id=f"{number:032x}"))
    assert [spans[0].trace_id[-1] for spans in store.latest(10)] == ["4", "3", "2"]
    assert store.find("0" * 32) == []


def test_a_page_shows_what_came_and_takes_nothing_for_markup(tmp_path: Path) -> None:
    store = Store(tmp_path / "traces.jsonl")
    assert b"No span has come yet" in page.content(store, "/traces")[2]
    store.take(request_of("<script>alert(1)</script>"))
    status, _, shown = page.content(store, f"/traces/{RUN}")
    assert (status, b"<script" in shown, b"&lt;script&gt;" in shown) == (200, False, True)
    assert page.content(store, f"/traces?of={RUN}")[2] == shown
    assert TRACE.encode() in page.content(store, "/traces")[2]
    assert page.content(store, "/traces/<b>")[0] == 404
    assert b"<b>" not in page.content(store, "/traces/%3Cb%3E")[2]
    assert json.loads(page.content(store, f"/traces/{TRACE}?format=json")[2])[0]["span_id"] == "cd" * 8


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    with Receiver(Folder(tmp_path)) as receiver:
        receiver.open()
        yield receiver
        receiver.shutdown()


def post(receiver: Receiver, body: bytes, path: str = "/v1/traces", **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", receiver.server_address[1], timeout=5)
    connection.request("POST", path, body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_spans_are_taken_in_as_a_collector_does(receiver: Receiver) -> None:
    body = json.dumps(request_of()).encode()
    assert post(receiver, body) == 200
    assert post(receiver, gzip.compress(body), **{"Content-Encoding": "gzip"}) == 200
    assert len(receiver.store.find(TRACE)) == 1
    for wrong in (b"", b"{", b"[]", b'{"resourceSpans": 1}', b'{"resourceSpans": [{"scopeSpans": [{"spans": [{}]}]}]}'):
        assert post(receiver, wrong) == 400
    assert post(receiver, body, "/other") == 404
    assert post(receiver, gzip.compress(b"0" * 60_000_000), **{"Content-Encoding": "gzip"}) == 400


def test_the_port_is_kept_from_run_to_run(tmp_path: Path) -> None:
    assert claim_port(Folder(tmp_path)) == claim_port(Folder(tmp_path))


def test_without_a_running_stack_the_command_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trace.main([RUN, "--state-dir", str(tmp_path)]) == 1
    assert "make run" in capsys.readouterr().err


def test_an_empty_id_is_wrong_use_and_not_the_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        trace.main(["", "--state-dir", str(tmp_path)])
    assert ended.value.code == 2
    assert "the id is empty" in capsys.readouterr().err
