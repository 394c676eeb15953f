"""An installation in which something of everything has happened: each table holds each of its shapes.

It is what `record_items` writes down of a release, and what today's code is held to.
"""

from typing import Any
from unittest.mock import patch

from cronfleet.adapters.system import clock as system_clock
from cronfleet.domain.instant import HOUR, MINUTE, SECOND, Instant, to_text
from tests.support.builders import at
from tests.support.chain import Chain

START = at("2026-12-01 02:00:03")
"""When the installation begins."""

ADMIN: dict[str, Any] = {"tenant": "root", "role": "platform_admin"}
HEARTBEAT = {"handler": "demo.heartbeat"}
FAILING = {"handler": "demo.flaky"}
ALWAYS = {"failures": 99}
ONE_TRY = {"retry": {"max_attempts": 1, "backoff": {"kind": "fixed", "base_seconds": 1}}}
NIGHTLY = {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}
UK = {"holidays": [{"date": "2026-12-25", "label": "Christmas"}], "covers_until": "2027-12-31", "description": "UK"}
SLACK = {"kind": "slack", "url_secret": "cronfleet/acme/slack", "default": True}
OPERATIONS = {"max_concurrent": 2, "reason": "the disk was full"}


def live(made: Chain) -> None:
    """Seven minutes of it, to a moment at which much is under way."""
    with patch.object(system_clock.time, "sleep"):
        _tenant(made)
        _schedules(made)
        made.until(START + 2 * MINUTE)
        _changes(made)
        made.until(START + 4 * MINUTE)
        _operations(made)
        made.until(START + 5 * MINUTE)
        _late(made)
        made.until(START + 7 * MINUTE)
        _at_the_end(made)


def must(made: Chain, method: str, target: str, body: Any = None, **more: Any) -> Any:
    """The answer to a call that gets through."""
    answer = made.call(method, target, body, **more)
    assert answer.status < 300, (method, target, answer.text)
    return answer.json if answer.text else None


def _tenant(made: Chain) -> None:
    quotas = {"concurrent_runs": 4, "fires_per_second": 50, "requests_per_second": 40, "retention_days": 60}
    must(
        made, "POST", "/v1/tenants", {"id": "acme", "name": "Acme", "lifecycle_events": True, "quotas": quotas}, **ADMIN
    )
    must(made, "POST", "/v1/tenants", {"id": "gone", "tier": "priority"}, **ADMIN)
    must(made, "POST", "/v1/tenants", {"id": "free"}, **ADMIN)
    must(made, "POST", "/v1/tenants", {"id": "asleep"}, **ADMIN)
    kept = must(made, "POST", "/v1/tenants/acme/keys", {"role": "operator", "name": "night", "expires_at": _text(HOUR)})
    must(made, "POST", f"/v1/tenants/acme/keys/{kept['id']}/rotate", {"overlap_seconds": 600})
    must(made, "POST", "/v1/tenants/asleep/suspend", {"reason": "unpaid"}, **ADMIN)
    must(made, "PUT", "/v1/calendars/uk?reason=first", UK)
    must(made, "PUT", "/v1/channels/night", SLACK)
    hours = {"start": "22:00", "end": "07:00", "timezone": "Asia/Kolkata", "days": ["fri"]}
    hook = {
        "kind": "webhook",
        "url": "https://alerts.example.com/in",
        "secret": "cronfleet/acme/key",
        "quiet_hours": hours,
    }
    must(made, "PUT", "/v1/channels/hook", {**hook, "template": "{{state}}: {{text}}"})
    must(made, "PUT", "/v1/channels/mail", {"kind": "email", "to": ["night@example.com"]})
    topic = "arn:aws:sns:us-east-1:111122223333:cronfleet-alerts-ops"
    must(made, "PUT", "/v1/channels/topic", {"kind": "sns", "topic_arn": topic})


def _schedules(made: Chain) -> None:
    """One for each way to fire, to fail, and to be in another's way."""
    weekdays = {**NIGHTLY, "calendar": {"name": "uk", "mode": "roll_forward"}}
    made.put("nightly", trigger=weekdays, target=HEARTBEAT, labels={"team": "a"}, owner="ada", description="text")
    made.put("minutely", trigger={"every": "1m"}, target=HEARTBEAT, policies={"jitter_seconds": 20}, payload={"a": [1]})
    made.put("often", trigger={"every": "20s"}, target=HEARTBEAT)
    once = {"id": "keyed-once", "trigger": {"every": "1h"}, "target": HEARTBEAT}
    must(made, "POST", "/v1/schedules", once, headers={"Idempotency-Key": "k-0001"})
    made.put("once", trigger={"at": _text(MINUTE)}, target=HEARTBEAT)
    made.put("far", trigger={"at": _text(400 * 24 * HOUR)}, target=HEARTBEAT, start_at=_text(HOUR))
    made.put("flaky", trigger={"every": "1m"}, target=FAILING, payload={"failures": 1})
    made.put("dying", trigger={"every": "1m"}, target=FAILING, payload=ALWAYS, policies=ONE_TRY)
    objectives = {
        "starts_within": "5m",
        "succeeds_within": "1m",
        "runs_no_longer_than": "learned",
        "channels": ["night"],
    }
    made.put(
        "watched", trigger={"every": "1m"}, target=FAILING, payload=ALWAYS, policies=ONE_TRY, objectives=objectives
    )
    made.put(
        "pinged", trigger={"every": "1m"}, target=HEARTBEAT, held=True, shadow=True, objectives={"ping_within": "5m"}
    )
    tripping = {**ONE_TRY, "breaker": {"failures": 2, "cooldown": "10m"}}
    made.put("tripping", trigger={"every": "30s"}, target=FAILING, payload=ALWAYS, policies=tripping)
    made.put("child", trigger={"after": ["minutely"], "within": "1h"}, target=HEARTBEAT)
    made.put(
        "joined",
        trigger={"after": ["minutely", "often"], "on": "success", "else": "skip", "within": "1m"},
        target=HEARTBEAT,
    )
    made.put(
        "billed",
        trigger={"every": "1m"},
        target={"handler": "billing.nightly"},
        payload={"accounts": ["a"]},
        policies={"heartbeat_timeout": "30s"},
    )
    late = {"misfire": {"policy": "catch_up", "max": 20, "per_minute": 6}}
    made.put("caught-up", trigger={"every": "20s"}, target=HEARTBEAT, policies=late)
    made.put("lone", trigger={"every": "1m"}, target=FAILING, payload={"failures": 3}, policies={"overlap": "skip"})
    made.put(
        "buffered", trigger={"every": "1m"}, target=FAILING, payload={"failures": 2}, policies={"overlap": "buffer_one"}
    )
    made.put("keyed", trigger={"every": "1m"}, target=HEARTBEAT, policies={"overlap": "skip", "concurrency_key": "db"})
    made.put("pausing", trigger={"every": "1m"}, target=HEARTBEAT, policies={"after_pause": {"policy": "fire_once"}})
    made.put("deleted", trigger={"every": "1m"}, target=HEARTBEAT, labels={"team": "b"})
    made.put("frozen", trigger={"every": "30s"}, target=HEARTBEAT, labels={"freeze": "yes"})
    hook = {"url": "https://hooks.example.com/in", "secret": "cronfleet/acme/key"}
    made.put("hooked", trigger={"every": "1m"}, target=hook)
    made.put("remote", trigger={"every": "1h"}, target={"lambda": "cronfleet-target-one"})
    must(made, "PUT", "/v1/schedules/other", {"trigger": NIGHTLY, "target": HEARTBEAT}, tenant="gone")


def _changes(made: Chain) -> None:
    """What callers do meanwhile."""
    token = must(made, "POST", "/v1/schedules/pinged/heartbeat", {"reason": "the old crontab"})["path"]
    must(made, "POST", f"{token}?state=success", {"message": "done", "exit_code": 0})
    must(made, "POST", "/v1/schedules/pausing/pause", {"reason": "a move", "until": _text(3 * MINUTE)})
    must(made, "PATCH", "/v1/schedules/minutely", {"labels": {"team": "c"}, "payload": {"a": None}})
    must(made, "POST", "/v1/schedules/minutely/rollback", {"version": 1, "reason": "no"})
    must(made, "DELETE", "/v1/schedules/deleted?reason=over")
    scope = {"label": {"freeze": "yes"}}
    must(made, "POST", "/v1/freezes", {"scope": scope, "reason": "stock-taking", "until": _text(5 * MINUTE)})
    must(made, "POST", "/v1/freezes", {"scope": {"tier": "priority"}, "reason": "a move"}, **ADMIN)
    must(made, "POST", "/v1/schedules/nightly/run", {"payload": {"by": "hand"}, "reason": "at once"})
    must(made, "PUT", "/v1/calendars/uk", {**UK, "description": "England"})
    must(made, "POST", "/v1/channels/night/test")
    crontab = "CRON_TZ=Europe/Berlin\n5 4 * * * /usr/bin/true\n"
    must(made, "POST", "/v1/imports/crontab", crontab, headers={"Content-Type": "text/plain"})
    must(made, "DELETE", "/v1/tenants/gone?confirm=gone&reason=over", **ADMIN)


def _operations(made: Chain) -> None:
    stretch = {"from": _text(-3 * HOUR), "to": _text(-HOUR)}
    must(made, "POST", "/v1/backfills", {**OPERATIONS, **stretch, "schedule": "minutely", "mode": "skip_succeeded"})
    paused = must(made, "POST", "/v1/backfills", {**OPERATIONS, **stretch, "schedule": "often", "order": "newest"})
    must(made, "POST", f"/v1/backfills/{paused['id']}/pause", {"reason": "later"})
    must(made, "POST", "/v1/reruns", {**OPERATIONS, "filter": {"schedule": "dying"}, "payload": {"failures": 0}})
    must(
        made,
        "POST",
        "/v1/dead-letters/redrive",
        {**OPERATIONS, "filter": {"schedule": "watched"}, "rate_per_minute": 1},
    )
    letters = must(made, "GET", "/v1/dead-letters")["dead_letters"]
    must(made, "POST", "/v1/dead-letters/discard", {"run_ids": [letters[0]["run_id"]], "reason": "of no use"})
    must(made, "POST", f"/v1/runs/{letters[1]['run_id']}/rerun", {"reason": "once more"})


def _late(made: Chain) -> None:
    """Nothing works for a minute: what was due then is late."""
    made.skip_to(START + 6 * MINUTE)


def _at_the_end(made: Chain) -> None:
    """What waits for workers, and for the clerk, and is not taken any more."""
    must(made, "POST", "/v1/schedules/far/run", {"reason": "at once"})
    queued = must(made, "POST", "/v1/schedules/nightly/run", {"reason": "no, not now"})
    must(made, "POST", f"/v1/runs/{queued['run_id']}/cancel", {"reason": "a slip"})
    made.claim_until(made.now + 20 * SECOND)


def _text(after: Instant) -> str:
    return to_text((START + after) // SECOND * SECOND)
