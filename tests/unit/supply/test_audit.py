"""The audit of locked packages: a known vulnerability fails it, and silence is never taken for a clean answer."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from supply import audit as auditing
from supply.__main__ import main
from supply.audit import CLEAN, UNASKED, VULNERABLE, Answer, Known, Ran, audit, of_node, of_python, report
from supply.locks import LOCKS, ROOT, VENDOR, pins

CLEAN_NODE = Ran(0, json.dumps({"vulnerabilities": {}, "metadata": {"dependencies": {"total": 1}}}), "")
FOUND = Known(VENDOR, "urllib3", "1.0", "GHSA-1", "2.0")


def dependencies(lock: str, vulns: dict[str, list[dict[str, Any]]] | None = None) -> str:
    """What pip-audit says of every package of a lock."""
    found = {pin.name: pin.version for pin in pins(ROOT / lock)}
    said = [{"name": name, "version": version, "vulns": (vulns or {}).get(name, [])} for name, version in found.items()]
    return json.dumps({"dependencies": said})


def runner(python: Callable[[str], Ran], node: Ran = CLEAN_NODE) -> auditing.Run:
    def run(command: Sequence[str]) -> Ran:
        return python(command[command.index("--requirement") + 1]) if "--requirement" in command else node

    return run


def test_where_every_package_was_looked_up_and_nothing_is_known_the_audit_passes_with_a_figure() -> None:
    code, lines = report(audit(runner(lambda lock: Ran(0, dependencies(lock), ""))))
    assert code == CLEAN
    assert lines[0].endswith("locked packages looked up: no known vulnerability.")


def test_one_known_vulnerability_fails_the_audit_and_says_which_version_mends_it() -> None:
    vulns = {"urllib3": [{"id": "GHSA-1", "fix_versions": ["9.9.9"], "description": "bad"}]}
    code, lines = report(audit(runner(lambda lock: Ran(1, dependencies(lock, vulns), ""))))
    assert code == VULNERABLE
    assert any(line.startswith(f"{VENDOR}: urllib3 ") and "GHSA-1; fixed in 9.9.9" in line for line in lines)


def test_a_tool_that_looked_nothing_up_and_says_that_all_is_well_is_not_believed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    skipped = [{"name": pin.name, "skip_reason": "not found"} for pin in pins(ROOT / VENDOR)]
    silent = Ran(0, json.dumps({"dependencies": skipped}), "No known vulnerabilities found")
    answers = audit(runner(lambda _: silent, Ran(1, json.dumps({"message": "405 Not Allowed - POST x"}), "")))
    code, lines = report(answers)
    assert code == UNASKED
    assert "NOTHING WAS AUDITED" in lines[1]
    assert "infra/package-lock.json, benchmarks/peers/package-lock.json: 405 Not Allowed" in lines
    monkeypatch.setattr("supply.__main__.audit", lambda: answers)
    assert main(["audit"]) == UNASKED
    assert main(["audit", "--may-be-offline"]) == CLEAN
    assert "NOTHING WAS AUDITED" in capsys.readouterr().err


@pytest.mark.parametrize(
    "said",
    [
        Ran(1, "", "Traceback\nConnectionError: no route"),
        Ran(0, "", ""),
        Ran(0, "[]", ""),
        Ran(0, json.dumps({"dependencies": []}), ""),
    ],
)
def test_whatever_else_a_tool_says_counts_as_not_asked(said: Ran) -> None:
    answer = of_python(VENDOR, lambda _: said)
    assert answer.looked_up == 0
    assert answer.unasked
    assert report([answer])[0] == UNASKED


def test_packages_that_could_not_be_looked_up_are_named_and_the_audit_does_not_pass() -> None:
    said = json.loads(dependencies(VENDOR))
    said["dependencies"][0] = {"name": "boto3", "skip_reason": "not found"}
    code, lines = report([of_python(VENDOR, lambda _: Ran(0, json.dumps(said), ""))])
    assert code == UNASKED
    assert "NOT EVERYTHING WAS AUDITED" in lines[1]
    assert f"{VENDOR}: could not be looked up: boto3" in lines


def test_the_second_keeper_of_the_list_is_asked_when_the_first_does_not_answer() -> None:
    asked: list[str] = []

    def run(command: Sequence[str]) -> Ran:
        asked.append(command[command.index("--vulnerability-service") + 1])
        return Ran(1, "", "no route") if asked[-1] == "osv" else Ran(0, dependencies(VENDOR), "")

    assert not of_python(VENDOR, run).unasked
    assert asked == ["osv", "pypi"]


def test_where_nobody_answers_for_what_is_deployed_nobody_is_asked_again_for_the_rest() -> None:
    asked: list[str] = []

    def silent(lock: str) -> Ran:
        asked.append(lock)
        return Ran(1, "", "no route")

    answers = audit(runner(silent))
    assert set(asked) == {VENDOR}
    assert [one.lock for one in answers if one.unasked] == list(LOCKS)


def test_an_advisory_on_a_package_of_node_fails_the_audit() -> None:
    via = [{"url": "https://example.com/advisories/GHSA-2"}, "other"]
    said = {
        "vulnerabilities": {"minimatch": {"range": "<9", "via": via, "fixAvailable": True}},
        "metadata": {"dependencies": {"total": 7}},
    }
    answer = of_node(lambda _: Ran(1, json.dumps(said), ""))
    assert answer.looked_up == 7
    code, [line] = report([answer])
    assert code == VULNERABLE
    assert "minimatch <9 has GHSA-2; fixed in an update within its range" in line


def test_what_was_accepted_is_told_with_its_reason_and_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "ACCEPTED", {"GHSA-1": "it concerns Windows"})
    code, lines = report([Answer(VENDOR, 26, (FOUND,))])
    assert code == CLEAN
    assert "accepted: it concerns Windows" in lines[-1]


class _Advisories(BaseHTTPRequestHandler):
    """Keeps a list on which one package stands."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        found: dict[str, Any] = {}
        if asked["package"]["name"] == "six":
            ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99"}]}]
            affected = [{"package": {"name": "six", "ecosystem": "PyPI"}, "ranges": ranges}]
            found = {"vulns": [{"id": "GHSA-3", "summary": "bad", "published": "2026-01-01T00:00:00Z"}]}
            found["vulns"][0]["affected"] = affected
        body = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """It says nothing."""


@pytest.fixture
def advisories() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Advisories)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/query"
    server.shutdown()
    server.server_close()


def test_the_real_tool_told_of_a_vulnerability_by_a_real_list_fails_the_audit(advisories: str, tmp_path: Path) -> None:
    answer = of_python(VENDOR, options=["--osv-url", advisories, "--cache-dir", str(tmp_path)])
    assert not answer.unasked
    assert answer.looked_up == len(pins(ROOT / VENDOR))
    [known] = answer.known
    assert (known.package, known.ident, known.fixed_in) == ("six", "GHSA-3", "99")
