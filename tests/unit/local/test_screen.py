"""What the user sees, in a terminal and in a file."""

import shlex

import pytest
from rich.text import Text

from local.screen import Screen

FAILED = {
    "schedule_id": "fails-and-retries",
    "outcome": "failed",
    "lag_seconds": 0.25,
    "attempt": 1,
    "error": "ConnectionError: the far end hung up,\nand whoever looks for the reason has to read on for quite a while",
}


@pytest.fixture
def terminal(monkeypatch):
    """A screen on a narrow terminal."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich's word for: take it for a terminal
    monkeypatch.setenv("TERM", "xterm")
    return Screen(quiet=False)


@pytest.fixture
def pipe(monkeypatch):
    for name in ("FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return Screen(quiet=False)


@pytest.fixture
def shown(capsys):
    """The lines on the terminal so far, without their colours."""

    def lines():
        return Text.from_ansi(capsys.readouterr().out).plain.splitlines()

    return lines


def test_in_a_narrow_terminal_a_run_and_its_error_take_a_line_each_however_long_they_are(terminal, shown):
    terminal.attempt(FAILED)
    what, why = shown()
    assert max(len(what), len(why)) <= 60
    assert "fails-and-retries" in what
    assert "ConnectionError: the far end hung up" in why


def test_in_a_narrow_terminal_sentences_break_between_words(terminal, shown):
    text = "Stopped: no process is left. Schedules and history are kept for the next start; --fresh forgets them."
    terminal.say(text)
    lines = shown()
    assert all(len(line) <= 60 for line in lines)
    assert " ".join(line.strip() for line in lines) == text


def test_the_commands_to_paste_are_never_broken_and_a_shell_reads_them(terminal, shown):
    terminal.ready("http://127.0.0.1:8787", "cf_key")
    commands = [line for line in shown() if line.startswith("curl ")]
    assert len(commands) == 2
    assert all(shlex.split(command)[-1] for command in commands)
    assert "Authorization: Bearer cf_key" in shlex.split(commands[0])


def test_outside_a_terminal_a_line_is_a_line(pipe, capsys):
    pipe.attempt(FAILED)
    pipe.error("a sentence that is much longer than the eighty characters that are taken where no terminal says more")
    written = capsys.readouterr()
    assert len(written.out.splitlines()) == len(written.err.splitlines()) == 1
    assert "hung up, and whoever looks for the reason" in written.out
