"""Registered over HTTP, fired on time, run, and in the history: the whole chain on moto, in travelled time."""

import pytest

from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, to_text
from tests.support.builders import at
from tests.support.chain import chain

KOLKATA_TWO = at("2026-11-30 20:30")
"""02:00 on 1 December in Asia/Kolkata."""

NIGHTLY = {
    "trigger": {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"},
    "target": {"handler": "billing.nightly"},
    "policies": {"jitter_seconds": 60},
    "payload": {"accounts": ["a", "b"]},
}


def test_a_week_of_a_nightly_job_runs_on_time_every_night() -> None:
    with chain(KOLKATA_TWO - HOUR) as made:
        made.put("nightly", **NIGHTLY)
        for night in range(7):
            made.skip_to(KOLKATA_TWO + night * DAY - 5 * SECOND)
            made.until(KOLKATA_TWO + night * DAY + 70 * SECOND)
        history = made.history("nightly")
    assert [run["status"] for run in history] == ["succeeded"] * 7
    assert [run["nominal_at"] for run in reversed(history)] == [to_text(KOLKATA_TWO + n * DAY) for n in range(7)]
    assert all(0 <= run["lag_seconds"] < 6 for run in history)
    assert len({run["due_at"][17:19] for run in history}) > 1, "jitter differs from night to night"


def test_a_schedule_every_ten_seconds_fires_every_ten_seconds() -> None:
    start = at("2026-12-01 12:00")
    with chain(start) as made:
        made.minute()
        made.put("beat", trigger={"every": "10s"}, target={"handler": "demo.heartbeat"})
        made.until(start + 2 * MINUTE)
        history = made.history("beat")
    nominals = [run["nominal_at"] for run in reversed(history) if run["status"] == "succeeded"]
    assert nominals == [to_text(start + n * 10 * SECOND) for n in range(1, len(nominals) + 1)]
    assert len(nominals) >= 12


def test_a_job_that_fails_is_retried_with_backoff_until_it_succeeds() -> None:
    start = at("2026-12-01 12:00")
    with chain(start) as made:
        made.minute()
        made.put(
            "flaky",
            trigger={"at": to_text(start + 20 * SECOND)},
            target={"handler": "demo.flaky"},
            payload={"failures": 2},
            policies={"retry": {"max_attempts": 3, "backoff": {"kind": "fixed", "base_seconds": 20}}},
        )
        made.until(start + 2 * MINUTE)
        (run,) = made.history("flaky")
        schedule = made.call("GET", "/v1/schedules/flaky").json
    assert run["status"] == "succeeded"
    assert [attempt["outcome"] for attempt in run["attempts"]] == ["failed", "failed", "succeeded"]
    assert "hung up" in run["attempts"][0]["error"]
    assert schedule["status"] == "completed"


def test_a_job_that_always_fails_becomes_a_dead_letter_with_every_attempts_reason() -> None:
    start = at("2026-12-01 12:00")
    with chain(start) as made:
        made.minute()
        made.put(
            "doomed",
            trigger={"at": to_text(start + 20 * SECOND)},
            target={"handler": "demo.flaky"},
            payload={"failures": 99},
            policies={"retry": {"max_attempts": 2, "backoff": {"kind": "fixed", "base_seconds": 10}}},
        )
        made.until(start + 2 * MINUTE)
        (run,) = made.history("doomed")
    assert run["status"] == "dead"
    assert run["reason"]["code"] == "attempts"
    assert [bool(attempt["error"]) for attempt in run["attempts"]] == [True, True]


def test_run_now_passes_a_pause_and_a_scheduled_fire_does_not() -> None:
    start = at("2026-12-01 12:00")
    with chain(start) as made:
        made.minute()
        made.put("beat", trigger={"every": "10s"}, target={"handler": "demo.heartbeat"})
        made.until(start + 30 * SECOND)
        assert made.call("POST", "/v1/schedules/beat/pause", {"reason": "maintenance"}).status == 200
        before = len(made.history("beat"))
        asked = made.call("POST", "/v1/schedules/beat/run", {})
        assert asked.status == 201, asked.text
        made.until(start + 2 * MINUTE)
        rows = made.history("beat")
        manual = [run for run in rows if run["cause"].startswith("manual")]
        assert [run["status"] for run in manual] == ["succeeded"]
        started_after = [run for run in rows if run["status"] == "succeeded" and run not in manual]
        assert len(started_after) <= before
        made.call("POST", "/v1/schedules/beat/resume", {})
        made.until(start + 3 * MINUTE)
        rows = made.history("beat")
    (held_back,) = [run for run in rows if run["status"] == "paused"]
    assert "maintenance" in held_back["reason"]["text"]
    assert held_back["until_nominal_at"] == to_text(start + 2 * MINUTE)
    assert sum(run["status"] == "succeeded" for run in rows) > len(started_after) + 1


def test_after_an_outage_of_the_scheduler_the_misfire_policy_decides_and_the_ledger_has_it_all() -> None:
    start = at("2026-12-01 12:00")
    with chain(start) as made:
        made.minute()
        made.put(
            "every-minute",
            trigger={"cron": "* * * * *", "timezone": "UTC"},
            target={"handler": "demo.heartbeat"},
            policies={"misfire": {"policy": "catch_up", "max": 3, "grace_seconds": 60}},
        )
        made.until(start + 2 * MINUTE)
        made.skip_to(start + 62 * MINUTE)
        made.until(start + 63 * MINUTE)
        rows = made.history("every-minute")
    missed = [row for row in rows if row["status"] == "missed"]
    assert len(missed) == 1
    ran = sorted(row["nominal_at"] for row in rows if row["status"] == "succeeded")
    assert set(ran) >= {to_text(start + n * MINUTE) for n in (1, 2, 58, 59, 60, 61, 62, 63)}
    assert (missed[0]["nominal_at"], missed[0]["until_nominal_at"]) == (
        to_text(start + 3 * MINUTE),
        to_text(start + 57 * MINUTE),
    )


@pytest.mark.parametrize("minutes", [16, 25 * 24 * 60, 400 * 24 * 60])
def test_a_one_shot_far_ahead_waits_however_far_it_is(minutes: int) -> None:
    """O58: no queue delay is used beyond its maximum, no timer overflows."""
    start = at("2026-12-01 12:00")
    shot = start + minutes * MINUTE
    with chain(start) as made:
        made.put("once", trigger={"at": to_text(shot)}, target={"handler": "demo.heartbeat"})
        made.skip_to(start + 5 * MINUTE)
        made.until(start + 6 * MINUTE)
        assert made.history("once") == []
        made.skip_to(shot - 20 * SECOND)
        made.until(shot + 10 * SECOND)
        (run,) = made.history("once")
    assert (run["status"], run["nominal_at"]) == ("succeeded", to_text(shot))
