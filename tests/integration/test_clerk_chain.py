"""An errand's way through the functions, on moto: put with a request, woken by a tick, carried on by the clerk."""

from cronfleet.domain.instant import HOUR, MINUTE, to_text
from tests.support.builders import at
from tests.support.chain import chain

NOON = at("2026-12-01 12:00")


def test_a_backfill_that_was_asked_for_over_http_is_carried_on_to_its_end() -> None:
    with chain(NOON) as made:
        made.minute()
        made.put("hourly", trigger={"cron": "0 * * * *", "timezone": "UTC"}, target={"handler": "demo.heartbeat"})
        asked = {
            "schedule": "hourly",
            "from": to_text(NOON - 5 * HOUR),
            "to": to_text(NOON - HOUR),
            "order": "oldest",
            "max_concurrent": 2,
            "mode": "skip_succeeded",
            "reason": "the disk was full",
        }
        answer = made.call("POST", "/v1/backfills", asked)
        assert answer.status == 201, answer.text
        made.until(NOON + 2 * MINUTE)
        after = made.call("GET", f"/v1/backfills/{answer.json['id']}").json
        rows = made.history("hourly")
    assert after["status"] == "finished"
    assert [row["status"] for row in rows] == ["succeeded"] * 4
    assert {row["nominal_at"] for row in rows} == {to_text(NOON - hours * HOUR) for hours in range(2, 6)}
