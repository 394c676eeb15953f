"""Each line of the emulator's log is read once, whole, and the log does not grow without end."""

from local import journal
from local.journal import Journal, finished_attempt

ATTEMPT = {"message": "attempt_finished", "schedule_id": "a", "outcome": "succeeded", "lag_seconds": 0.4, "attempt": 1}


def _append(log, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


def test_what_was_in_the_log_before_is_not_told_again(tmp_path):
    log = tmp_path / "log"
    _append(log, '{"n": 1}\n')
    opened = Journal(log)
    _append(log, 'INFO something\n{"n": 2}\n{broken\n{"n": 3}\n')
    assert [record["n"] for record in opened.new_records()] == [2, 3]
    assert list(opened.new_records()) == []


def test_a_line_that_is_only_half_written_waits_for_its_other_half(tmp_path):
    log = tmp_path / "log"
    log.touch()
    opened = Journal(log)
    _append(log, '{"n": ')
    assert list(opened.new_records()) == []
    _append(log, "7}\n")
    assert [record["n"] for record in opened.new_records()] == [7]


def test_a_full_log_is_emptied_and_reading_goes_on(tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.touch()
    opened = Journal(log)
    monkeypatch.setattr(journal, "LIMIT_BYTES", 10)
    _append(log, '{"n": 12345678}\n')
    assert [record["n"] for record in opened.new_records()] == [12345678]
    assert log.stat().st_size == 0
    _append(log, '{"n": 2}\n')
    assert [record["n"] for record in opened.new_records()] == [2]


def test_a_log_that_somebody_else_emptied_is_read_from_its_new_start(tmp_path):
    log = tmp_path / "log"
    log.touch()
    opened = Journal(log)
    _append(log, '{"n": 12345678}\n')
    list(opened.new_records())
    log.write_text('{"n": 2}\n')
    assert [record["n"] for record in opened.new_records()] == [2]


def test_only_the_workers_line_about_an_attempt_is_shown():
    assert finished_attempt(ATTEMPT) == ATTEMPT
    assert finished_attempt({"message": "tick_served", "shard": 1}) is None
