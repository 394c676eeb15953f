"""A day with everything in it, on moto: each fire is asked for over HTTP, and the answer is what happened."""

from typing import Any

from cronfleet.domain.instant import HOUR, MINUTE, SECOND, Instant, to_text
from tests.support.builders import at
from tests.support.chain import Chain, chain

START = at("2026-12-01 12:00")
EACH_MINUTE = {"trigger": {"cron": "* * * * *", "timezone": "UTC"}, "target": {"handler": "demo.heartbeat"}}


def explained(made: Chain, instant: Instant) -> dict[str, Any]:
    answer = made.call("GET", f"/v1/schedules/beat/explain?at={to_text(instant)}")
    assert answer.status == 200, answer.text
    found: dict[str, Any] = answer.json
    return found


def ledger(made: Chain, from_at: Instant, to_at: Instant, limit: int = 4) -> list[dict[str, Any]]:
    target = f"/v1/schedules/beat/ledger?from={to_text(from_at)}&to={to_text(to_at)}&limit={limit}"
    entries: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = made.call("GET", target + cursor).json
        entries += page["entries"]
        if page["cursor"] is None:
            return entries
        cursor = f"&cursor={page['cursor']}"


def test_every_minute_of_an_eventful_half_hour_is_accounted_for() -> None:
    with chain(START) as made:
        made.minute()
        made.put("beat", **EACH_MINUTE)
        made.until(START + 2 * MINUTE + 30 * SECOND)  # 12:01 and 12:02 run
        assert made.call("POST", "/v1/schedules/beat/pause", {"reason": "lunch"}).status == 200
        made.until(START + 4 * MINUTE + 30 * SECOND)
        assert explained(made, START + 3 * MINUTE)["is_decided"] is False
        assert made.call("POST", "/v1/schedules/beat/resume").status == 200  # 12:03 and 12:04 are held back
        made.until(START + 5 * MINUTE + 30 * SECOND)  # 12:05 runs
        made.skip_to(START + 20 * MINUTE + 30 * SECOND)  # nothing fires for a quarter of an hour
        made.until(START + 20 * MINUTE + 50 * SECOND)
        changed = {"trigger": {"cron": "*/10 * * * *", "timezone": "UTC"}}
        assert made.call("PATCH", "/v1/schedules/beat?reason=too+often", changed).status == 200
        made.until(START + 21 * MINUTE)
        entries = ledger(made, START, START + 41 * MINUTE)
        codes = [(entry["at"][11:16], entry["code"], entry["count"]) for entry in entries]
        assert codes[:6] == [
            ("12:01", "ran", 1),
            ("12:02", "ran", 1),
            ("12:03", "paused", 2),
            ("12:05", "ran", 1),
            ("12:06", "missed", entries[4]["count"]),
            (codes[5][0], "ran", 1),
        ]
        assert codes[-4:] == [
            ("12:20", "ran", 1),
            ("12:21", "superseded", 1),  # claimed ten seconds ahead, when the trigger changed
            ("12:30", "not_due", 1),
            ("12:40", "not_due", 1),
        ]
        assert sum(entry["count"] for entry in entries) == 21 + 2, "each minute up to the change, and two after it"
        ran = explained(made, START + MINUTE)
        assert (ran["code"], ran["run"]["status"], ran["detail"]["version"]) == ("ran", "succeeded", 1)
        assert ran["detail"]["batch"].split(".")[0] in ("0", "1")
        held = explained(made, START + 4 * MINUTE)
        assert (held["code"], held["detail"]["why"], held["count"]) == ("paused", "lunch", 2)
        replaced = explained(made, START + 23 * MINUTE)
        assert (replaced["code"], replaced["detail"]["why"]) == ("superseded", "too often")
        assert explained(made, START + 30 * MINUTE)["code"] == "not_due"


def test_a_message_that_the_queue_lost_is_told_from_one_that_waits_and_its_run_says_when_it_was_sent_again() -> None:
    with chain(START) as made:
        made.minute()
        made.put("beat", trigger={"at": to_text(START + MINUTE)}, target={"handler": "demo.heartbeat"})
        made.until(START + MINUTE - 5 * SECOND)
        made._sqs.purge_queue(QueueUrl=made.urls["runs-standard"])
        made.until(START + MINUTE + 5 * SECOND)
        queued = explained(made, START + MINUTE)
        assert (queued["code"], queued["is_decided"]) == ("queued", False)
        assert queued["detail"]["claimed_at"] < to_text(START + MINUTE)
        made.travel(START + 8 * MINUTE)
        made.minute()  # the sweeper sends it again, and no worker has it yet
        resent = explained(made, START + MINUTE)
        assert (resent["code"], resent["detail"]["resends"]) == ("resent", 1)
        made._deliver()
        ran = explained(made, START + MINUTE)
        assert (ran["code"], ran["detail"]["resent_at"]) == ("ran", to_text(START + 8 * MINUTE))
        done = explained(made, START + HOUR)
        assert (done["code"], done["detail"]["fired_at"]) == ("completed", to_text(START + MINUTE))


def test_a_schedule_deleted_and_created_anew_tells_its_lives_apart() -> None:
    with chain(START) as made:
        made.minute()
        made.put("beat", **EACH_MINUTE)
        made.until(START + MINUTE + 30 * SECOND)
        assert made.call("DELETE", "/v1/schedules/beat?reason=moved").status == 204
        made.until(START + 3 * MINUTE + 30 * SECOND)
        deleted = explained(made, START + 2 * MINUTE)
        made.put("beat", **EACH_MINUTE)
        made.until(START + 4 * MINUTE + 30 * SECOND)
        codes = {minute: explained(made, START + minute * MINUTE)["code"] for minute in range(5)}
        between = explained(made, START + 2 * MINUTE)
        entries = ledger(made, START, START + 4 * MINUTE)
    assert (deleted["code"], deleted["detail"]["by"], deleted["detail"]["why"]) == ("deleted", "demo", "moved")
    assert codes == {0: "not_created", 1: "ran", 2: "deleted", 3: "deleted", 4: "ran"}
    assert between["detail"]["created_at"] == to_text(START + 3 * MINUTE + 30 * SECOND)
    assert [entry["at"][11:16] for entry in entries] == ["12:01", "12:04"]
