"""`python -m infra.deploy`: a diff to read, a question, and nothing done where nobody said yes."""

import sys
from pathlib import Path
from typing import Any

import pytest

from infra import deploy

RECORDER = """#!{python}
import sys
with open({log!r}, "a") as log:
    log.write(" ".join(sys.argv[1:]) + "\\n")
sys.exit({status} if sys.argv[1] == {fails!r} else 0)
"""


class Cdk:
    """A command in the CDK's place that notes what it is asked to do."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._program, self._log = folder / "cdk", folder / "log"
        self.fails_at("nothing")
        monkeypatch.setattr(deploy, "CDK", self._program)
        self.synthesised: list[dict[str, str]] = []
        monkeypatch.setattr(deploy, "synthesise", lambda context, _output: self.synthesised.append(context))

    def fails_at(self, command: str) -> None:
        text = RECORDER.format(python=sys.executable, log=str(self._log), status=3, fails=command)
        self._program.write_text(text)
        self._program.chmod(0o755)

    @property
    def commands(self) -> list[str]:
        return [line.split()[0] for line in self.lines]

    @property
    def lines(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []


@pytest.fixture
def cdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cdk:
    return Cdk(tmp_path, monkeypatch)


def somebody_says(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _question: text)


def run(*arguments: str) -> int:
    return deploy.main(["--environment", "prod", *arguments])


def test_where_nobody_can_be_asked_nothing_is_done_and_the_way_is_shown(
    cdk: Cdk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert run() == 1
    assert (cdk.lines, cdk.synthesised) == ([], [])
    assert "YES=1 make deploy ENV=prod" in capsys.readouterr().err


def test_the_diff_comes_before_the_question_and_the_deployment_after_the_answer(
    cdk: Cdk, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    somebody_says("prod", monkeypatch)
    monkeypatch.setattr("builtins.input", lambda _question: seen.append(list(cdk.commands)) or "prod")
    assert run("-c", "shards=128") == 0
    assert seen == [["diff"]]
    assert cdk.commands == ["diff", "deploy"]
    assert cdk.synthesised == [{"environment": "prod", "shards": "128"}]
    assert "--require-approval never" in cdk.lines[1], "the question has been asked"


@pytest.mark.parametrize("answer", ["", "y", "yes", "dev", "Prod"])
def test_any_other_answer_than_the_name_leaves_all_as_it_is(
    cdk: Cdk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str
) -> None:
    somebody_says(answer, monkeypatch)
    assert run() == 1
    assert cdk.commands == ["diff"]
    assert "nothing was deployed" in capsys.readouterr().err


def test_yes_on_the_command_line_is_the_answer_and_the_diff_is_shown_all_the_same(cdk: Cdk) -> None:
    assert run("--yes") == 0
    assert cdk.commands == ["diff", "deploy"]


def test_a_diff_alone_asks_nobody_and_deploys_nothing(cdk: Cdk) -> None:
    assert run("--diff") == 0
    assert cdk.commands == ["diff"]


def test_what_cannot_be_compared_is_not_deployed(cdk: Cdk, capsys: pytest.CaptureFixture[str]) -> None:
    cdk.fails_at("diff")
    assert run("--yes") == 1
    assert cdk.commands == ["diff"]
    assert "cdk diff ended with 3" in capsys.readouterr().err


def test_an_environment_must_be_named(cdk: Cdk, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        deploy.main(["--environment", ""])
    assert "write ENV=dev" in capsys.readouterr().err
    assert cdk.lines == []
