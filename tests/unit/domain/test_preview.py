"""`python -m cronfleet.preview`: one answer for each line, whatever the line."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronfleet import preview
from cronfleet.domain.instant import HOUR
from cronfleet.preview import LARGEST_COUNT, LONGEST_LINE, answer, serve

PACKAGE = Path(preview.__file__).parents[1]


def _ask(request: object) -> dict:
    line = request if isinstance(request, bytes) else json.dumps(request).encode()
    return json.loads(answer(line, lambda: HOUR))


def _start(**environment: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "cronfleet.preview"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(PACKAGE), **environment},
    )


def test_each_kind_of_trigger_is_answered() -> None:
    after = "2026-11-29T12:00:00.5Z"
    assert _ask({"cron": "0 2 * * *", "tz": "Asia/Kolkata", "after": after, "count": 2}) == {
        "fires": ["2026-11-29T20:30:00Z", "2026-11-30T20:30:00Z"]
    }
    assert _ask({"every": "10s", "after": after, "count": 1}) == {"fires": ["2026-11-29T12:00:10Z"]}
    assert _ask({"every": "1h", "anchor": "2026-01-01T00:15:00Z", "after": after, "count": 1}) == {
        "fires": ["2026-11-29T12:15:00Z"]
    }
    assert _ask({"at": "2026-12-01T02:00:00", "tz": "Asia/Kolkata", "after": after, "count": 9}) == {
        "fires": ["2026-11-30T20:30:00Z"]
    }


def test_a_trigger_can_be_pasted_as_the_api_has_it() -> None:
    """`timezone` was ignored as an unknown key, and the answer said that `tz` was missing."""
    trigger = {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"}
    assert _ask({**trigger, "after": "2026-11-29T12:00:00Z", "count": 1}) == {"fires": ["2026-11-29T20:30:00Z"]}


def test_without_after_and_count_the_next_five_from_now_are_given() -> None:
    assert _ask({"cron": "0 * * * *", "tz": "UTC"})["fires"] == [f"1970-01-01T{hour:02}:00:00Z" for hour in range(2, 7)]


def test_with_lint_the_words_and_warnings_come_beside_the_fires() -> None:
    request = {"cron": "30 2 13 * 5", "tz": "Asia/Kolkata", "after": "2026-11-29T12:00:00Z", "count": 1}
    reply = _ask({**request, "lint": True})
    assert reply["fires"] == _ask(request)["fires"] == _ask({**request, "lint": False})["fires"]
    said = "At 02:30 on day 13 of the month or on Friday (either one is enough), in Asia/Kolkata"
    assert reply["words"] == said
    assert [(list(warning), warning["code"]) for warning in reply["warnings"]] == [(["code", "text"], "day_either")]
    assert _ask({"every": "10s", "lint": True, "count": 1})["warnings"] == []
    assert list(_ask(request)) == ["fires"]


def test_lines_without_lint_load_nothing_of_it() -> None:
    code = (
        "import sys; from cronfleet.preview import answer; "
        "answer(b'{\"every\": \"10s\"}', lambda: 0); print([name for name in sys.modules if 'lint' in name])"
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


def test_a_one_shot_before_after_is_an_error() -> None:
    assert "is past" in _ask({"at": "2026-01-01T00:00:00Z", "after": "2026-01-02T00:00:00Z"})["error"]


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (b"", "empty"),
        (b"{", "not JSON"),
        (b"[]", "no object"),
        (b"null", "no object"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b'{"a":' * 10_000, "nested too deeply"),
        (b"9" * 5_000, "not JSON"),
        (b"x" * (LONGEST_LINE + 1), "longer than"),
        ({}, "exactly one of"),
        ({"cron": "0 2 * * *", "every": "10s"}, "exactly one of"),
        ({"cron": "0 2 * * *"}, "tz: is missing"),
        ({"cron": "0 2 * * *", "tz": ""}, "tz: "),
        ({"cron": "0 2 * * *", "tz": 5}, "tz: "),
        ({"cron": 5, "tz": "UTC"}, "cron: must be text"),
        ({"cron": "0 25 * * *", "tz": "UTC"}, "cron: "),
        ({"every": "10s", "tz": "Nowhere"}, "tz: "),
        ({"every": 10}, "every: must be text"),
        ({"every": "10s", "anchor": "noon"}, "anchor: "),
        ({"cron": "0 2 * * *", "anchor": "2026-01-01T00:00:00Z", "tz": "UTC"}, "anchor: "),
        ({"every": "10s", "after": 5}, "after: must be"),
        ({"every": "10s", "after": "2026-01-01T00:00:00"}, "after: "),
        ({"every": "10s", "count": 0}, "count: is not in 1 to"),
        ({"every": "10s", "count": -1}, "count: "),
        ({"every": "10s", "count": LARGEST_COUNT + 1}, "count: is not in 1 to"),
        ({"every": "10s", "count": 10**4000}, "count: "),
        ({"every": "10s", "count": 2.0}, "count: must be a whole number"),
        ({"every": "10s", "count": True}, "count: must be a whole number"),
        (b'{"every": "10s", "count": NaN}', "count: must be a whole number"),
        ({"every": "10s", "lint": "yes"}, "lint: must be true or false"),
        (b'{"every": "10s", "every": "20s"}', "every: stands there twice"),
        (b'{"cron": "0 2 * * *", "tz": "UTC", "timezone": "UTC"}', "tz: and timezone are two names"),
    ],
)
def test_what_cannot_be_answered_is_answered_with_the_key_that_is_wrong(request_: object, says: str) -> None:
    reply = _ask(request_)
    assert list(reply) == ["error"]
    assert says in reply["error"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
requests = st.dictionaries(
    st.sampled_from(["cron", "at", "every", "anchor", "tz", "after", "count", "lint", "x"]),
    json_values | st.sampled_from(["* * * * *", "0 0 29 2 *", "UTC", "Asia/Tokyo", "10s", "0001-01-01T00:00:00Z",
                                   "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59", "2026-01-01T00:00:00", 3]),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=80) | requests.map(lambda request: json.dumps(request).encode()))
def test_no_line_is_ever_answered_with_anything_but_fires_or_an_error_of_its_own(line: bytes) -> None:
    reply = json.loads(answer(line, lambda: HOUR))
    assert list(reply) in (["fires"], ["fires", "words", "warnings"], ["error"])
    assert "internal" not in reply.get("error", "")


def test_lines_cut_anywhere_on_their_way_are_put_together() -> None:
    class Trickle(io.BytesIO):
        def read1(self, size: int = -1) -> bytes:
            return super().read(min(size, 7))

    line = b'{"every": "10s", "after": "2026-01-01T00:00:00Z", "count": 1}\r\n'
    out = io.BytesIO()
    serve(Trickle(line * 3 + b"\n" + line.rstrip()), out, lambda: HOUR)
    replies = [json.loads(reply) for reply in out.getvalue().splitlines()]
    assert [list(reply) for reply in replies] == [["fires"]] * 3 + [["error"], ["fires"]]


def test_an_endless_line_is_refused_without_being_kept_and_the_next_is_answered() -> None:
    out = io.BytesIO()
    serve(io.BytesIO(b"x" * 5_000_000 + b'\n{"every": "10s", "count": 1}\n'), out, lambda: HOUR)
    refused, answered = map(json.loads, out.getvalue().splitlines())
    assert "longer than" in refused["error"]
    assert answered == {"fires": ["1970-01-01T01:00:10Z"]}


def test_a_program_that_waits_for_each_answer_gets_it_whatever_the_hosts_zone_files_are(tmp_path) -> None:
    (tmp_path / "UTC").write_bytes(b"broken")
    process = _start(PYTHONTZPATH=str(tmp_path))
    for _ in range(3):
        process.stdin.write(b'{"cron": "0 2 * * *", "tz": "UTC", "after": "2026-01-01T00:00:00Z", "count": 1}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"fires": ["2026-01-01T02:00:00Z"]}
    assert process.communicate() == (b"", b"")
    assert process.returncode == 0


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    process = _start()
    process.stdout.close()
    process.stdin.write(b'{"every": "10s", "after": "2026-01-01T00:00:00Z", "count": 10000}\n' * 20)
    process.stdin.close()
    assert process.stderr.read() == b""
    assert process.wait() == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_answers_that_cannot_be_written_are_a_sentence_and_no_traceback() -> None:
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(
            [sys.executable, "-m", "cronfleet.preview"],
            input=b'{"every": "1s"}\n',
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(PACKAGE)},
            check=False,
        )
    assert (process.returncode, process.stderr.count(b"\n")) == (1, 1)
    assert b"cannot be delivered" in process.stderr


def test_the_first_of_many_long_answers_does_not_wait_for_the_last() -> None:
    class Noted(io.BytesIO):
        writes = 0

        def write(self, content) -> int:
            self.writes += 1
            return super().write(content)

    out = Noted()
    serve(io.BytesIO(b'{"every": "1s", "count": 1000}\n' * 20), out, lambda: HOUR)
    assert out.writes == 20, "what is answered is handed on at once, and not kept until a block of lines is done"


def test_now_is_asked_of_the_clock_where_a_line_has_no_after() -> None:
    process = _start()
    output, errors = process.communicate(b'{"every": "1s", "count": 1}\n')
    assert errors == b""
    assert list(json.loads(output)) == ["fires"]


CALENDAR = {"mode": "roll_forward", "holidays": [{"date": "2026-12-25", "label": "Christmas"}, "2026-12-28"]}
UNDER_IT = {"cron": "0 9 25,27 * *", "tz": "Europe/London", "after": "2026-12-20T00:00:00Z", "count": 2}


def test_a_calendar_is_given_with_the_line_since_no_store_is_asked() -> None:
    assert _ask({**UNDER_IT, "calendar": CALENDAR}) == {"fires": ["2026-12-29T09:00:00Z", "2027-01-25T09:00:00Z"]}
    nth = {"mode": "nth_business_day", "nth": -1, "weekend": ["friday", "saturday"]}
    month_end = {**UNDER_IT, "cron": "0 9 * * *", "calendar": nth}
    assert _ask(month_end) == {"fires": ["2026-12-31T09:00:00Z", "2027-01-31T09:00:00Z"]}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({**UNDER_IT, "calendar": {"name": "uk", "mode": "exclude"}}, "calendar: is only named, and no store"),
        ({**UNDER_IT, "calendar": {**CALENDAR, "holidays": ["soon"]}}, "calendar.holidays.0: 'soon' is no date"),
        ({**UNDER_IT, "calendar": {**CALENDAR, "mode": "skip"}}, "calendar.mode: 'skip' is none of exclude"),
        ({**UNDER_IT, "calendar": "uk"}, "calendar: is no object"),
        ({"every": "1h", "calendar": CALENDAR}, "calendar: goes with a cron expression"),
    ],
)
def test_what_is_wrong_with_a_calendar_is_named(line: dict[str, object], says: str) -> None:
    assert str(_ask(line)["error"]).startswith(says)


def test_what_its_calendar_leaves_no_day_is_refused_as_when_it_is_registered() -> None:
    sundays = {"cron": "0 9 * * 0", "tz": "UTC", "after": "2026-11-29T00:00:00Z"}
    refused = _ask({**sundays, "calendar": {"mode": "business_days", "holidays": []}})
    assert "leaves no day on which it can fire" in refused["error"]
    assert _ask({**sundays, "count": 1, "calendar": {"mode": "roll_forward", "holidays": []}}) == {
        "fires": ["2026-11-30T09:00:00Z"]
    }
