"""What the start decides without an emulator: options, ports, the demo, whether the deployment is the same."""

import http.server
import json
import socket
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from local import demo, deployment, emulator, surroundings
from local.errors import StackError
from local.folder import Folder
from local.gateway import Gateway
from local.options import DEFAULT_PORT, parse
from local.steps import Command, run


@pytest.fixture
def folder(tmp_path):
    folder = Folder(tmp_path / "state")
    folder.make()
    return folder


def test_without_arguments_the_stack_is_at_the_documented_address(monkeypatch):
    monkeypatch.delenv("CRONFLEET_PORT", raising=False)
    options = parse([])
    assert (options.port, options.demo, options.quiet, options.fresh) == (DEFAULT_PORT, True, False, False)


def test_the_port_can_come_from_the_environment_and_an_argument_wins(monkeypatch):
    monkeypatch.setenv("CRONFLEET_PORT", "9001")
    assert parse([]).port == 9001
    assert parse(["--port", "9002"]).port == 9002


@pytest.mark.parametrize("port", ["-1", "65536", "http", ""])
def test_a_port_that_is_none_is_refused_with_a_sentence(monkeypatch, capsys, port):
    monkeypatch.setenv("CRONFLEET_PORT", port)
    with pytest.raises(SystemExit) as refused:
        parse([])
    assert refused.value.code == 2
    assert "is not a port: write a number from 0 to 65535" in capsys.readouterr().err


def test_a_port_in_use_is_one_line_that_names_the_way_out(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StackError, match=rf"port {port} cannot be used .*CRONFLEET_PORT=\d+ make run"):
            Gateway(folder, port)


def test_nothing_listens_beyond_this_machine(folder):
    gateway = Gateway(folder, 0)
    assert gateway.url == f"http://127.0.0.1:{gateway.port}"


def test_the_emulator_keeps_its_port_from_run_to_run(folder):
    assert emulator.claim_port(folder) == emulator.claim_port(folder)


def test_when_its_port_was_taken_the_state_moves_to_the_new_one(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        old = taken.getsockname()[1]
        folder.emulator_port.write_text(str(old))
        state = folder.emulator_state / "sqs.json"
        state.write_text(json.dumps({"queue": f"http://127.0.0.1:{old}/000000000000/cronfleet-ticks"}))
        new = emulator.claim_port(folder)
    assert new != old
    assert json.loads(state.read_text()) == {"queue": f"http://127.0.0.1:{new}/000000000000/cronfleet-ticks"}
    assert folder.emulator_port.read_text() == str(new)


EMULATOR = """
import http.server, os

class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"services": {}}')

http.server.HTTPServer(("127.0.0.1", int(os.environ["GATEWAY_PORT"])), Health).serve_forever()
"""


def test_an_emulator_whose_port_was_taken_before_it_listened_starts_on_another(folder, tmp_path, monkeypatch):
    """Seen when tests of others listened in the same second: the stack took their server for its emulator."""
    program = tmp_path / "emulator.py"
    program.write_text(EMULATOR)
    monkeypatch.setattr(emulator, "PROGRAM", program)
    monkeypatch.setattr(emulator, "python", lambda: Path(sys.executable))
    with http.server.HTTPServer(("127.0.0.1", 0), Other) as taken:
        threading.Thread(target=taken.serve_forever, daemon=True).start()
        ports = iter([taken.server_port, emulator.free_port()])
        monkeypatch.setattr(emulator, "claim_port", lambda _: next(ports))
        found = emulator.launch(folder)
        try:
            assert found.port != taken.server_port
            assert found.answers()
        finally:
            found.process.kill_group()
            taken.shutdown()


class Other(http.server.BaseHTTPRequestHandler):
    """Another server, which has an answer for everything."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        """Nothing on the terminal."""


def test_no_part_of_the_stack_sees_the_users_aws_account(monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "secret")
    given = surroundings.aws("http://127.0.0.1:4566")
    assert not {"AWS_PROFILE", "AWS_SESSION_TOKEN"} & set(given)
    assert given["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"
    assert not [name for name in surroundings.base() if name.startswith("AWS_")]


def test_requests_to_this_machine_pass_the_users_proxy_by(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "corp.example")
    assert surroundings.base()["NO_PROXY"] == "corp.example,127.0.0.1,localhost"


def test_the_demo_one_shot_is_a_minute_ahead_and_the_rest_stays_the_same_at_each_start():
    first = demo.schedules(datetime(2026, 12, 1, 10, 0, 30, 999, tzinfo=UTC))
    later = demo.schedules(datetime(2026, 12, 1, 11, 0, tzinfo=UTC))
    assert first.pop("once-in-a-minute")["trigger"] == {"at": "2026-12-01T10:01:30Z"}
    assert later.pop("once-in-a-minute")["trigger"] == {"at": "2026-12-01T11:01:00Z"}
    assert first == later


def test_the_fingerprint_follows_the_sources_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(deployment, "ROOT", tmp_path)
    source = tmp_path / "functions" / "worker" / "handler.py"
    source.parent.mkdir(parents=True)
    source.write_text("1")
    before = deployment.fingerprint()
    for folder in ("__pycache__", "node_modules"):
        (tmp_path / "functions" / folder).mkdir()
        (tmp_path / "functions" / folder / "x.py").write_text("x")
    assert deployment.fingerprint() == before
    source.write_text("2")
    assert deployment.fingerprint() != before


def test_a_command_that_fails_is_told_by_its_last_words(tmp_path):
    code = "import sys; print('hello'); print('Error: no such stack'); print('bye'); sys.exit(3)"
    with pytest.raises(StackError, match=r"deploying failed: Error: no such stack \(all of it in .*log\)"):
        run("deploying", [sys.executable, "-c", code], {}, tmp_path / "log")


def test_a_command_that_is_not_there_is_told_by_its_name(tmp_path):
    with pytest.raises(StackError, match=r"deploying could not begin: .*'no-such-program'"):
        run("deploying", ["no-such-program"], {}, tmp_path / "log")


def test_a_command_that_is_not_waited_for_is_ended_when_closed(tmp_path):
    command = Command("waiting", [sys.executable, "-c", "import time; time.sleep(60)"], {}, tmp_path / "log")
    command.close()
    with pytest.raises(StackError, match="waiting failed"):
        command.wait()


def test_all_that_the_cdk_command_needs_is_pinned_by_hash():
    lock = json.loads((Path(deployment.NODE_PROJECT) / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())
