"""How the command line asks: keys that make one of two, patience with a busy server, silence, and wrong use."""

import pytest

from tests.support.api import NIGHTLY, Answer
from tests.support.command_line import CommandLine

BUSY = Answer(503, {"retry-after": "7", "content-type": "application/problem+json"}, '{"title": "busy"}')
TOO_LONG = Answer(429, {"retry-after": "3600", "content-type": "application/problem+json"}, '{"title": "too many"}')
BAD_GATEWAY = Answer(502, {"content-type": "text/html"}, "<html>")


@pytest.fixture
def nightly(cronfleet: CommandLine) -> CommandLine:
    cronfleet.api.register()
    return cronfleet


def runs_of(line: CommandLine) -> int:
    return len(line.api.call("GET", "/v1/schedules/nightly/runs").json["runs"])


def test_a_busy_server_is_asked_again_after_the_time_that_it_names(nightly):
    nightly.before = [BUSY, BUSY]
    assert nightly("schedules", "get", "nightly").code == 0
    assert nightly.waited == [7.0, 7.0]


def test_one_that_stays_busy_is_given_up_after_five_times(nightly):
    nightly.before = [BUSY] * 5
    said = nightly("schedules", "get", "nightly")
    assert (said.code, len(nightly.asked), len(nightly.waited)) == (1, 5, 4)
    assert "Refused (503)" in said.err


def test_an_hour_is_not_waited_for(nightly):
    nightly.before = [TOO_LONG]
    assert nightly("schedules", "get", "nightly").code == 1
    assert nightly.waited == []


def test_a_post_whose_answer_was_lost_is_sent_again_and_makes_one_run(nightly):
    nightly.before = [None]
    assert nightly("schedules", "run", "nightly").code == 0
    posts = [asked for asked in nightly.asked if asked.method == "POST"]
    assert len(posts) == 2
    assert posts[0].headers["Idempotency-Key"] == posts[1].headers["Idempotency-Key"]
    assert runs_of(nightly) == 1


def test_a_repeated_click_with_the_same_key_is_one_run_and_without_it_another(nightly):
    first = nightly.json("schedules", "run", "nightly", "--idempotency-key", "click-1")
    again = nightly.json("schedules", "run", "nightly", "--idempotency-key", "click-1")
    assert first == again
    nightly.json("schedules", "run", "nightly")
    assert runs_of(nightly) == 2


def test_what_cannot_be_repeated_is_not_sent_twice_when_the_answer_is_lost(nightly):
    nightly.before = [BAD_GATEWAY]
    said = nightly("schedules", "heartbeat", "nightly", "--create")
    assert (said.code, len(nightly.asked)) == (1, 1)


def test_a_server_that_is_not_there_gives_no_answer_and_exit_1(cronfleet):
    cronfleet.environment["CRONFLEET_URL"] = "http://127.0.0.1:9"
    said = cronfleet("schedules", "list")
    assert said.code == 1
    assert "http://127.0.0.1:9 gives no answer" in said.err
    assert cronfleet.environment["CRONFLEET_KEY"] not in said.err


def test_a_wrong_key_is_refused(cronfleet):
    cronfleet.environment["CRONFLEET_KEY"] = "cf_nobody_0123456789abcdefghijklmnopqrstuv"
    said = cronfleet("schedules", "list")
    assert (said.code, said.out) == (1, "")
    assert "Refused (403)" in said.err


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("schedules",), ("schedules", "list", "--nonsense"), ("schedules", "list", "-o", "xml")],
)
def test_wrong_use_is_exit_2(cronfleet, arguments):
    assert cronfleet(*arguments).code == 2
    assert cronfleet.asked == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("schedules", "list", "-l", "team"), "write NAME=VALUE"),
        (("schedules", "create", "-f", "no-such.yaml"), "cannot be read"),
        (("schedules", "run", "nightly", "--payload", "{"), "is no JSON"),
        (("schedules", "list", "--profile", "nowhere"), "there is no profile 'nowhere'"),
    ],
)
def test_wrong_use_says_what_to_write_instead(cronfleet, arguments, sentence):
    said = cronfleet(*arguments)
    assert (said.code, cronfleet.asked) == (2, [])
    assert sentence in said.err


def test_a_path_cannot_be_left_by_an_id(nightly):
    assert nightly("schedules", "get", "../tenants").code == 1
    assert nightly.asked[-1].target == "/v1/schedules/..%2Ftenants"


def test_text_of_the_server_cannot_steer_the_terminal(cronfleet):
    cronfleet.api.call("POST", "/v1/schedules", {**NIGHTLY, "payload": "\x1b[2J[red]\u202e"})
    said = cronfleet("schedules", "get", "nightly")
    assert "\\x1b[2J[red]\\u202e" in said.out
    assert "\x1b" not in said.out
