"""The benchmark of the peers: what is read, added up and told, without running one."""

import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from croniter import croniter
from rich.console import Console

from benchmarks.figures import Figure
from benchmarks.peers import canned, catalogue, processor_time, record, servers, table
from benchmarks.peers.canned import Canned
from benchmarks.peers.catalogue import BY_NAME, PEERS
from benchmarks.peers.drivers import herd
from benchmarks.peers.drivers.herd import SHAPES, Order
from benchmarks.peers.environment import DRIVERS
from benchmarks.peers.failure import Failed
from benchmarks.peers.passes import Pass, Spent
from benchmarks.peers.processes import last_line
from benchmarks.peers.processor_time import Process
from benchmarks.peers.record import Call, Tally
from benchmarks.peers.table import Row

DUE = int(datetime(2026, 11, 30, 23, 59, tzinfo=UTC).timestamp())
ORDER = Order("", "", 4, DUE, "")


def call(number: int, seconds: float) -> Call:
    return Call(f"job-{number:06}", int((DUE + seconds) * 10**9))


def one_pass(scheduler: float, **changes: object) -> Pass:
    values = {
        "schedules": 1_000,
        "tally": Tally(1_000, 0, 0, 0),
        "spent": Spent(scheduler, 0.1, 0.05, 200),
        "lags": [0.5, 1.0, 2.0],
        **changes,
    }
    return Pass(**values)


def test_the_herd_is_due_in_its_minute_and_not_again_for_two_hours() -> None:
    due = datetime.fromtimestamp(DUE, UTC)
    for number in range(SHAPES):
        fires = croniter(ORDER.expression(number), due - timedelta(seconds=1))
        assert fires.get_next(datetime) == due
        assert fires.get_next(datetime) - due >= timedelta(hours=2)
    assert len({ORDER.expression(number) for number in range(100)}) == SHAPES


def test_what_ran_twice_is_doubled_what_the_store_has_is_stuck_and_the_rest_is_lost() -> None:
    calls = [call(0, 1), call(0, 2), call(0, 3), call(1, -1)]
    assert record.tally(calls, ORDER, ["job-000000", "job-000002"]) == Tally(2, 2, stuck=1, lost=1, early=1)
    assert record.tally([], ORDER, []) == Tally(0, 0, 0, 4)


def test_lag_counts_the_first_call_of_each() -> None:
    found = record.lags([call(0, 1), call(1, 3), call(0, 9)], ORDER)
    assert found == [1.0, 3.0]
    assert record.percentile(found, 0.5) == 3.0
    assert record.percentile([float(one) for one in range(1000)], 0.99) == 990
    assert record.percentile([], 0.5) == 0


def test_a_line_that_is_still_being_written_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "record"
    assert record.read(path) == []
    path.write_text("job-000001 17\njob-000002 1")
    assert record.read(path) == [Call("job-000001", 17)]


def test_the_handler_leaves_a_line_in_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "record"
    order = {"role": "worker", "url": "", "schedules": 1, "due": DUE, "record": str(path)}
    monkeypatch.setattr("sys.argv", ["driver", json.dumps(order)])
    herd.order.cache_clear()
    herd.handle("job-000000")
    herd.handle("job-000000")
    assert [one.name for one in record.read(path)] == ["job-000000", "job-000000"]
    herd.order.cache_clear()


def test_cpu_time_is_that_of_the_whole_tree_with_its_dead() -> None:
    line = "7 (a ) (b) S 1 7 7 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 99 1 1"
    assert processor_time.parsed(line) == Process(7, 1, 127)
    known = {1: Process(1, 0, 5), 7: Process(7, 1, 10), 8: Process(8, 7, 20), 9: Process(9, 2, 40)}
    assert processor_time.sum_of(1, known) == 35
    assert processor_time.sum_of(99, known) == 0


def test_the_calls_of_every_command_are_added_up() -> None:
    answer = "# Commandstats\r\ncmdstat_get:calls=3,usec=9\r\ncmdstat_client|list:calls=2,usec=1\r\n"
    assert servers.commands_of(answer) == 5


def test_an_error_is_told_rather_than_the_version_that_node_ends_with() -> None:
    assert last_line("\nError: no such queue\n  at x\n\nNode.js v24\n") == "Error: no such queue"
    assert last_line(" \n") == "without a word"


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_peer_says_what_it_stores_how_it_was_driven_and_what_was_set(peer: catalogue.Peer) -> None:
    line = table.note(Row(peer))
    for text in (peer.stores, peer.driven, *peer.knobs):
        assert len(text) > 10
        assert text in line
    assert peer.runtime == "own" or any(digit in catalogue.versions(peer.packages) for digit in "123456789")
    assert catalogue.server_version(peer.server)[-1].isdigit()
    suffix = "mjs" if peer.runtime == "node" else "py"
    assert (DRIVERS / f"{peer.module}.{suffix}").exists()


def test_the_table_has_ratios_to_cronfleet_and_a_reason_for_each_gap() -> None:
    killed = one_pass(1.0, tally=Tally(990, 3, 4, 6), killed_at=500, waited=90.0)
    rows = [
        Row(BY_NAME["cronfleet"], one_pass(0.2), killed),
        Row(BY_NAME["bullmq"], one_pass(0.5)),
        Row(BY_NAME["pg-boss"], reason="it would not start"),
    ]
    lines = table.all_cells(rows, [Canned(canned.SOCKETS, "", 0.1, 0.16)])
    assert [line[1:4] for line in lines] == [
        ["0.10", "0.5", "1.0"],
        ["0.20", "1.0", "2.0"],
        ["0.50", "2.5", "5.0"],
        ["–", "–", "–"],
    ]
    assert lines[1][10:] == ["6", "3", "4"]
    assert lines[2][0] == "BullMQ †"
    assert {len(line) for line in lines} == {len(table.HEADINGS)}
    assert "it would not start" in table.note(rows[2])
    assert "| BullMQ † | 0.50 | 2.5 | – |" in table.markdown(rows, [])
    page = io.StringIO()
    Console(file=page, width=200).print(table.rich_table(rows, []))
    assert "BullMQ" in page.getvalue()
    told = json.loads(json.dumps(table.as_json(rows, [], {"cores": 2}), allow_nan=False))
    assert told["peers"][1]["ratio_on_the_emulator"] == 2.5
    assert told["peers"][2]["clean"] is None


def test_without_cronfleet_there_is_no_ratio() -> None:
    row = Row(BY_NAME["bullmq"], one_pass(0.5))
    assert table.all_cells([row], [])[0][2:4] == ["–", "–"]
    assert json.dumps(table.as_json([row], [], {}), allow_nan=False)


def test_the_canned_figures_are_found_among_those_of_their_benchmark() -> None:
    figure = Figure("Dispatcher", "CPU for 1,000 firings in a herd, lean client", "0.103 s")
    requests = Figure("Dispatcher", "requests per firing in a herd", "0.163")
    other = replace(figure, what="of it the client's, lean", measured="0.040 s")
    found = canned.read(canned.WAYS[0], [other, figure, requests])
    assert (found.seconds, found.requests) == (0.103, 0.163)
    with pytest.raises(Failed, match="did not tell its figures: nothing"):
        canned.read(canned.WAYS[0], [requests], "nothing")
