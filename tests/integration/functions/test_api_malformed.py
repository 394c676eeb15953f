"""Requests that are wrong: each is refused with a problem of RFC 9457 that names the field, and changes nothing."""

import copy
import json

import pytest

from functions.api import reading
from functions.api.problems import MAX_ERRORS
from tests.support.api import NIGHTLY, api_on_memory, event_of

RUN = "acme~nightly~1~20261130T203000Z~schedule"


@pytest.fixture(scope="module")
def api():
    with pytest.MonkeyPatch.context() as patch:
        made = api_on_memory(patch)
        assert made.register().status == 201
        yield made


LIMIT = "policies.timeout_seconds"
HEARTBEAT = "policies.heartbeat_timeout"
IAM = "arn:aws:iam::123456789012:role"
ROLE = f"{IAM}/cronfleet-target-x"
QUEUE = "arn:aws:sqs:us-east-1:123456789012:x"
BUS = "arn:aws:events:us-east-1:123456789012:event-bus/x"
ELSEWHERE = "arn:aws:ecs:us-west-2:123456789012:cluster/x"
MACHINE = {"state_machine": "arn:aws:states:us-east-1:123456789012:stateMachine:x", "role": ROLE}
TASK = {
    "ecs_task": "arn:aws:ecs:us-east-1:123456789012:task-definition/x",
    "cluster": "arn:aws:ecs:us-east-1:123456789012:cluster/x",
    "container": "job",
    "subnets": ["subnet-12345678"],
    "role": ROLE,
}


def schedule(**changes):
    """A good schedule with some fields changed; `a__b=1` changes the field b of a."""
    made = copy.deepcopy(NIGHTLY) | {"id": "new"}
    for path, value in changes.items():
        *parents, name = path.split("__")
        inside = made
        for parent in parents:
            inside = inside.setdefault(parent, {})
        inside[name] = value
    return made


def without(name):
    return {key: value for key, value in schedule().items() if key != name}


def deep(levels):
    return '{"payload":' + "[" * levels + "]" * levels + "}"


NOTHING_SENT = [
    "POST /v1/schedules",
    "PUT /v1/schedules/new",
    "PATCH /v1/schedules/nightly",
    "POST /v1/schedules/absent/resume",
    "POST /v1/schedules/nightly/shadow",
    "POST /v1/bulk/resume",
    "PUT /v1/calendars/uk",
    "PUT /v1/tenants/acme/events",
    "POST /v1/preview",
    "POST /v1/heartbeats/absent",
]

BODIES = [
    # JSON itself
    ("no body at all", "", "body"),
    ("blanks only", "  \n", "body"),
    ("cut off", '{"id": "new"', "body"),
    ("no JSON", "id=new", "body"),
    ("single quotes", "{'id': 'new'}", "body"),
    ("a trailing comma", '{"id": "new",}', "body"),
    ("two values", '{"id": "new"} {}', "body"),
    ("a comment", '{"id": "new"} // mine', "body"),
    ("an array", "[]", "body"),
    ("text", '"nightly"', "body"),
    ("a number", "7", "body"),
    ("null", "null", "body"),
    ("true", "true", "body"),
    ("NaN", '{"payload": NaN}', "payload"),
    ("infinity", '{"payload": {"a": -Infinity}}', "payload.a"),
    ("a float past the largest", '{"payload": {"a": 1e999}}', "payload.a"),
    ("a number of five thousand digits", '{"payload": [' + "9" * 5_000 + "]}", "payload.0"),
    ("a fraction with more digits than a double has", '{"payload": {"a": 3.14159265358979323846}}', "payload.a"),
    ("a whole number past the doubles, written as a fraction", '{"payload": 9007199254740993.0}', "payload"),
    ("a fraction that would become nothing", '{"payload": 1e-400}', "payload"),
    ("a fraction of a thousand digits", '{"payload": 0.' + "1" * 1_000 + "}", "payload"),
    ("a name twice", '{"id": "new", "id": "newer"}', "id"),
    ("a name twice, deep inside", '{"trigger": {"cron": "* * * * *", "cron": "@daily"}}', "trigger.cron"),
    ("half a surrogate pair", '{"owner": "\\ud83d"}', "owner"),
    ("half a surrogate pair in a name", '{"payload": {"\\udc00": 1}}', "payload"),
    ("forty levels", deep(40), "payload.0.0"),
    ("ten thousand levels", deep(10_000), "body"),
    ("not UTF-8", b'{"owner": "\xff"}', "body"),
    ("UTF-16", json.dumps(NIGHTLY).encode("utf-16"), "body"),
    ("a byte order mark", b"\xef\xbb\xbf{}", "body"),
    ("bytes that a gateway has put U+FFFD for", '{"owner": "M\ufffdller"}', "body"),
    ("a raw line break in text", '{"owner": "a\nb"}', "body"),
    ("NUL after the body", json.dumps(NIGHTLY) + "\0", "body"),
    ("a name with a line break", '{"a\\nb": 1}', "a\\nb"),
    ("an empty name", '{"": 1}', "body"),
    # names
    ("an empty object", {}, "trigger"),
    ("no target", without("target"), "target"),
    ("a misspelt field", schedule(lables={}), "lables"),
    ("a field of another case", schedule(Trigger={}), "Trigger"),
    ("a read-only field", schedule(status="paused"), "status"),
    ("another tenant's name", schedule(tenant="rival"), "tenant"),
    ("an unknown policy", schedule(policies__misfires={}), "policies.misfires"),
    ("an unknown retry field", schedule(policies__retry__attempts=3), "policies.retry.attempts"),
    ("an unknown backoff field", schedule(policies__retry__backoff__base=3), "policies.retry.backoff.base"),
    ("an unknown misfire field", schedule(policies__misfire__grace=3), "policies.misfire.grace"),
    # id, owner, description, labels
    ("an empty id", schedule(id=""), "id"),
    ("a long id", schedule(id="a" * 65), "id"),
    ("an id with a tilde", schedule(id="a~b"), "id"),
    ("an id with a hash", schedule(id="a#b"), "id"),
    ("an id with a slash", schedule(id="a/b"), "id"),
    ("an id with a line break at its end", schedule(id="new\n"), "id"),
    ("an id that begins with a dot", schedule(id=".new"), "id"),
    ("an id in Devanagari", schedule(id="रात"), "id"),
    ("a number for an id", schedule(id=7), "id"),
    ("a number for an owner", schedule(owner=7), "owner"),
    ("null for an owner", schedule(owner=None), "owner"),
    ("a long owner", schedule(owner="a" * 129), "owner"),
    ("a control character in the owner", schedule(owner="a\x1b[31m"), "owner"),
    ("a long description", schedule(description="a" * 2_001), "description"),
    ("an array for a description", schedule(description=["a"]), "description"),
    ("an escape sequence in a description", schedule(description="a\x1b[31m"), "description"),
    ("NUL in a description", schedule(description="a\0"), "description"),
    ("seventeen labels", schedule(labels={f"l{n}": "" for n in range(17)}), "labels"),
    ("an array of labels", schedule(labels=["a"]), "labels"),
    ("a number in a label", schedule(labels={"team": 7}), "labels.team"),
    ("null in a label", schedule(labels={"team": None}), "labels.team"),
    ("an empty label name", schedule(labels={"": "x"}), "labels."),
    ("a label name with a blank", schedule(labels={"my team": "x"}), "labels.my team"),
    ("a long label", schedule(labels={"team": "x" * 129}), "labels.team"),
    ("a line break in a label", schedule(labels={"team": "a\nb"}), "labels.team"),
    # trigger
    ("an empty trigger", schedule(trigger={}), "trigger"),
    ("text for a trigger", schedule(trigger="0 2 * * *"), "trigger"),
    ("null for a trigger", schedule(trigger=None), "trigger"),
    ("an array of triggers", schedule(trigger=[]), "trigger"),
    ("two kinds at once", schedule(trigger__every="10s"), "trigger"),
    ("a zone alone", schedule(trigger={"timezone": "UTC"}), "trigger"),
    ("cron without a zone", schedule(trigger={"cron": "0 2 * * *"}), "trigger.timezone"),
    ("an unknown zone", schedule(trigger__timezone="Asia/Calcuta"), "trigger.timezone"),
    ("an offset for a zone", schedule(trigger__timezone="+05:30"), "trigger.timezone"),
    ("a path for a zone", schedule(trigger__timezone="../../etc/passwd"), "trigger.timezone"),
    ("an empty zone", schedule(trigger__timezone=""), "trigger.timezone"),
    ("hour 25", schedule(trigger__cron="0 25 * * *"), "trigger.cron"),
    ("minute 60", schedule(trigger__cron="60 * * * *"), "trigger.cron"),
    ("four fields", schedule(trigger__cron="0 2 * *"), "trigger.cron"),
    ("six fields", schedule(trigger__cron="0 0 2 * * *"), "trigger.cron"),
    ("an empty cron", schedule(trigger__cron=""), "trigger.cron"),
    ("the thirtieth of February", schedule(trigger__cron="0 0 30 2 *"), "trigger.cron"),
    ("a step of zero", schedule(trigger__cron="*/0 * * * *"), "trigger.cron"),
    ("a rate without a known unit", schedule(trigger__cron="rate(5 fortnights)"), "trigger.cron"),
    ("a very long cron", schedule(trigger__cron="0 " * 300), "trigger.cron"),
    ("a number for cron", schedule(trigger__cron=5), "trigger.cron"),
    ("no unit", schedule(trigger={"every": "10"}), "trigger.every"),
    ("every zero", schedule(trigger={"every": "0s"}), "trigger.every"),
    ("every negative", schedule(trigger={"every": "-5s"}), "trigger.every"),
    ("every half a second", schedule(trigger={"every": "0.5s"}), "trigger.every"),
    ("every number", schedule(trigger={"every": 10}), "trigger.every"),
    ("every two years", schedule(trigger={"every": "731d"}), "trigger.every"),
    ("a zone with an interval", schedule(trigger={"every": "10s", "timezone": "UTC"}), "trigger.timezone"),
    ("an anchor that is no time", schedule(trigger={"every": "10s", "anchor": "noon"}), "trigger.anchor"),
    (
        "an anchor without an offset",
        schedule(trigger={"every": "1h", "anchor": "2026-12-01T00:00:00"}),
        "trigger.anchor",
    ),
    ("yesterday", schedule(trigger={"at": "2026-11-29T12:00:00Z"}), "trigger.at"),
    ("now", schedule(trigger={"at": "2026-11-30T12:00:00Z"}), "trigger.at"),
    ("no offset and no zone", schedule(trigger={"at": "2026-12-01T02:00:00"}), "trigger.at"),
    ("a date alone", schedule(trigger={"at": "2026-12-01"}), "trigger.at"),
    ("the thirty-first of November", schedule(trigger={"at": "2026-11-31T00:00:00Z"}), "trigger.at"),
    ("hour 25 of a day", schedule(trigger={"at": "2026-12-01T25:00:00Z"}), "trigger.at"),
    ("an epoch number", schedule(trigger={"at": 1796040000}), "trigger.at"),
    ("an unknown trigger field", schedule(trigger__jitter=5), "trigger.jitter"),
    # target
    ("an empty target", schedule(target={}), "target"),
    ("text for a target", schedule(target="billing.nightly"), "target"),
    ("two targets", schedule(target__lambda="billing"), "target"),
    ("an unknown target", schedule(target={"queue": "billing"}), "target.queue"),
    ("an empty handler", schedule(target={"handler": ""}), "target.handler"),
    ("a handler with a blank", schedule(target={"handler": "billing nightly"}), "target.handler"),
    ("a handler that is a path", schedule(target={"handler": "../billing"}), "target.handler"),
    ("a number for a handler", schedule(target={"handler": 7}), "target.handler"),
    ("a long handler", schedule(target={"handler": "a" * 129}), "target.handler"),
    ("http without TLS", schedule(target={"url": "http://example.com/"}), "target.url"),
    ("a file", schedule(target={"url": "file:///etc/passwd"}), "target.url"),
    ("no scheme", schedule(target={"url": "example.com/hook"}), "target.url"),
    ("no host", schedule(target={"url": "https:///hook"}), "target.url"),
    ("a password in the URL", schedule(target={"url": "https://me:secret@example.com/"}), "target.url"),
    ("a user in the URL", schedule(target={"url": "https://me@example.com/"}), "target.url"),
    ("a fragment", schedule(target={"url": "https://example.com/#top"}), "target.url"),
    ("a port that is none", schedule(target={"url": "https://example.com:99999/"}), "target.url"),
    ("a port of letters", schedule(target={"url": "https://example.com:http/"}), "target.url"),
    ("a blank in the URL", schedule(target={"url": "https://example.com/a b"}), "target.url"),
    ("a line break in the URL", schedule(target={"url": "https://example.com/\r\nX: y"}), "target.url"),
    ("a backslash in the URL", schedule(target={"url": "https://example.com\\@evil.com"}), "target.url"),
    ("loopback", schedule(target={"url": "https://127.0.0.1/"}), "target.url"),
    ("instance metadata", schedule(target={"url": "https://169.254.169.254/latest"}), "target.url"),
    ("loopback in IPv6", schedule(target={"url": "https://[::1]/"}), "target.url"),
    ("a broken IPv6 address", schedule(target={"url": "https://[::1/"}), "target.url"),
    ("a host with an underscore", schedule(target={"url": "https://my_host.example.com/"}), "target.url"),
    ("a host of dots", schedule(target={"url": "https://a..b/"}), "target.url"),
    ("a long URL", schedule(target={"url": "https://example.com/" + "a" * 2_048}), "target.url"),
    (
        "a key for a secret",
        schedule(target={"url": "https://example.com/", "secret": "whsec_MfKQ9r8"}),
        "target.secret",
    ),
    ("any text for a secret", schedule(target={"url": "https://example.com/", "secret": "hunter2"}), "target.secret"),
    (
        "another tenant's secret",
        schedule(target={"url": "https://example.com/", "secret": "cronfleet/rival/hook"}),
        "target.secret",
    ),
    (
        "a way out of one's own secrets",
        schedule(target={"url": "https://example.com/", "secret": "cronfleet/acme/../rival/hook"}),
        "target.secret",
    ),
    (
        "no secret's name",
        schedule(target={"url": "https://example.com/", "secret": "cronfleet/acme/"}),
        "target.secret",
    ),
    ("a secret with a handler", schedule(target__secret="cronfleet/acme/hook"), "target.secret"),
    ("a function with a blank", schedule(target={"lambda": "my function"}), "target.lambda"),
    ("an ARN of a queue", schedule(target={"lambda": "arn:aws:sqs:us-east-1:123456789012:q"}), "target.lambda"),
    ("null for a function", schedule(target={"lambda": None}), "target.lambda"),
    ("a function that no worker may call", schedule(target={"lambda": "cronfleet-api"}), "target.lambda"),
    (
        "the ARN of a function that no worker may call",
        schedule(target={"lambda": "arn:aws:lambda:us-east-1:123456789012:function:payments"}),
        "target.lambda",
    ),
    # targets that are called as a role
    ("a queue without a role", schedule(target={"sqs": QUEUE}), "target.role"),
    ("a role that is not named as one", schedule(target={"sqs": QUEUE, "role": f"{IAM}/admin"}), "target.role"),
    ("a role under a path", schedule(target={"sqs": QUEUE, "role": f"{IAM}/x/cronfleet-target-x"}), "target.role"),
    ("a role below one", schedule(target={"sqs": QUEUE, "role": f"{ROLE}/x"}), "target.role"),
    ("a role with a handler", schedule(target__role=ROLE), "target.role"),
    ("a queue's address", schedule(target={"sqs": "https://sqs.amazonaws.com/1/q", "role": ROLE}), "target.sqs"),
    ("a topic for a queue", schedule(target={"sqs": QUEUE.replace("sqs", "sns"), "role": ROLE}), "target.sqs"),
    ("every queue", schedule(target={"sqs": QUEUE[:-1] + "*", "role": ROLE}), "target.sqs"),
    ("another account's queue", schedule(target={"sqs": QUEUE.replace("123", "321"), "role": ROLE}), "target.sqs"),
    ("an external id", schedule(target={"sqs": QUEUE, "role": ROLE, "external_id": "mine"}), "target.external_id"),
    ("a queue and a topic", schedule(target={"sqs": QUEUE, "sns": QUEUE, "role": ROLE}), "target"),
    ("a source of AWS's own", schedule(target={"event_bus": BUS, "role": ROLE, "source": "aws.x"}), "target.source"),
    ("a source with a queue", schedule(target={"sqs": QUEUE, "role": ROLE, "source": "x"}), "target.source"),
    ("a task without a cluster", schedule(target={"ecs_task": TASK["ecs_task"], "role": ROLE}), "target.cluster"),
    ("a task on Fargate without subnets", schedule(target={**TASK, "subnets": []}), "target.subnets"),
    ("a subnet that is none", schedule(target={**TASK, "subnets": ["default"]}), "target.subnets"),
    ("a cluster elsewhere", schedule(target=TASK | {"cluster": ELSEWHERE}), "target.ecs_task"),
    ("a payload that no task can be given", schedule(target=TASK, payload="x" * 7_000), "payload"),
    ("an execution of more than a week", schedule(target=MACHINE, policies__timeout_seconds=604_801), LIMIT),
    (
        "a queue that takes an hour",
        schedule(target={"sqs": QUEUE, "role": ROLE}, policies__timeout_seconds=3600),
        LIMIT,
    ),
    ("an execution that beats", schedule(target=MACHINE, policies__heartbeat_timeout="30s"), HEARTBEAT),
    # policies
    ("text for policies", schedule(policies="default"), "policies"),
    ("null for policies", schedule(policies=None), "policies"),
    ("an unknown overlap", schedule(policies__overlap="queue"), "policies.overlap"),
    ("a concurrency key of nothing", schedule(policies__concurrency_key=""), "policies.concurrency_key"),
    ("a concurrency key with a space", schedule(policies__concurrency_key="a b"), "policies.concurrency_key"),
    ("a concurrency key too long", schedule(policies__concurrency_key="k" * 65), "policies.concurrency_key"),
    ("a number for a concurrency key", schedule(policies__concurrency_key=7), "policies.concurrency_key"),
    ("a breaker of no failures", schedule(policies__breaker={"failures": 0}), "policies.breaker.failures"),
    ("a breaker without failures", schedule(policies__breaker={"cooldown": "10m"}), "policies.breaker.failures"),
    ("a breaker of 101 failures", schedule(policies__breaker={"failures": 101}), "policies.breaker.failures"),
    (
        "a cooldown that is none",
        schedule(policies__breaker={"failures": 5, "cooldown": "soon"}),
        "policies.breaker.cooldown",
    ),
    (
        "a cooldown too short",
        schedule(policies__breaker={"failures": 5, "cooldown": "10s"}),
        "policies.breaker.cooldown",
    ),
    (
        "a cooldown too long",
        schedule(policies__breaker={"failures": 5, "cooldown": "8d"}),
        "policies.breaker.cooldown",
    ),
    ("a heartbeat too short", schedule(policies__heartbeat_timeout="4s"), "policies.heartbeat_timeout"),
    ("a heartbeat too long", schedule(policies__heartbeat_timeout="16m"), "policies.heartbeat_timeout"),
    ("a heartbeat in words", schedule(policies__heartbeat_timeout="soon"), "policies.heartbeat_timeout"),
    ("a number for a heartbeat", schedule(policies__heartbeat_timeout=30), "policies.heartbeat_timeout"),
    (
        "a heartbeat of a webhook",
        schedule(target={"url": "https://example.com"}, policies__heartbeat_timeout="1m"),
        "policies.heartbeat_timeout",
    ),
    ("text for target_breaker", schedule(policies__target_breaker="off"), "policies.target_breaker"),
    ("an unknown misfire policy", schedule(policies__misfire__policy="all"), "policies.misfire.policy"),
    ("catch up without max", schedule(policies__misfire__policy="catch_up"), "policies.misfire.max"),
    ("catch up zero", schedule(policies__misfire={"policy": "catch_up", "max": 0}), "policies.misfire.max"),
    ("catch up too many", schedule(policies__misfire={"policy": "catch_up", "max": 1_001}), "policies.misfire.max"),
    ("no grace", schedule(policies__misfire__grace_seconds=0), "policies.misfire.grace_seconds"),
    ("grace of years", schedule(policies__misfire__grace_seconds=10**9), "policies.misfire.grace_seconds"),
    ("negative jitter", schedule(policies__jitter_seconds=-1), "policies.jitter_seconds"),
    ("jitter of two days", schedule(policies__jitter_seconds=172_800), "policies.jitter_seconds"),
    ("jitter as text", schedule(policies__jitter_seconds="60"), "policies.jitter_seconds"),
    ("jitter with a fraction", schedule(policies__jitter_seconds=0.5), "policies.jitter_seconds"),
    ("jitter as true", schedule(policies__jitter_seconds=True), "policies.jitter_seconds"),
    ("a spread of two days", schedule(policies__spread="auto:2d"), "policies.spread"),
    ("a spread by hand", schedule(policies__spread="30m"), "policies.spread"),
    ("a spread as true", schedule(policies__spread=True), "policies.spread"),
    ("no attempt", schedule(policies__retry__max_attempts=0), "policies.retry.max_attempts"),
    ("twenty-one attempts", schedule(policies__retry__max_attempts=21), "policies.retry.max_attempts"),
    ("a backoff of another kind", schedule(policies__retry__backoff__kind="linear"), "policies.retry.backoff.kind"),
    ("a backoff of nothing", schedule(policies__retry__backoff__base_seconds=0), "policies.retry.backoff.base_seconds"),
    (
        "a backoff that ends before it begins",
        schedule(policies__retry__backoff={"base_seconds": 60, "max_seconds": 30}),
        "policies.retry.backoff.max_seconds",
    ),
    ("no time limit", schedule(policies__timeout_seconds=0), "policies.timeout_seconds"),
    ("a limit past the worker's", schedule(policies__timeout_seconds=841), "policies.timeout_seconds"),
    ("a number of twenty digits", schedule(policies__timeout_seconds=10**20), "policies.timeout_seconds"),
    # window and payload
    ("a start that is no time", schedule(start_at="tomorrow"), "start_at"),
    ("a start without an offset", schedule(start_at="2026-12-01T00:00:00"), "start_at"),
    ("a start as a number", schedule(start_at=1796040000), "start_at"),
    ("a start before 1970", schedule(start_at="1969-12-31T23:59:59Z"), "start_at"),
    ("an end before the start", schedule(start_at="2027-01-02T00:00:00Z", end_at="2027-01-01T00:00:00Z"), "end_at"),
    ("an end at the start", schedule(start_at="2027-01-01T00:00:00Z", end_at="2027-01-01T00:00:00Z"), "end_at"),
    ("an end that has been", schedule(end_at="2026-11-29T00:00:00Z"), "end_at"),
    ("an end before the first time", schedule(end_at="2026-11-30T20:00:00Z"), "end_at"),
    ("a large payload", schedule(payload="x" * 50_000), "payload"),
]

OTHERS = [
    # method, target, body, headers, status, field
    ("GET", "/v1/nothing", None, {}, 404, "path"),
    ("GET", "/v2/schedules", None, {}, 404, "path"),
    ("GET", "/v1/schedules/", None, {}, 404, "path"),
    ("DELETE", "/v1/schedules", None, {}, 405, "method"),
    ("PUT", "/v1/schedules", NIGHTLY, {}, 405, "method"),
    ("POST", "/v1/schedules/nightly", {}, {}, 405, "method"),
    ("GET", "/v1/schedules/nightly/pause", None, {}, 405, "method"),
    ("OPTIONS", "/v1/schedules", None, {}, 405, "method"),
    ("GET", "/v1/schedules/missing", None, {}, 404, "schedule_id"),
    ("GET", "/v1/schedules/a~b", None, {}, 400, "schedule_id"),
    ("GET", f"/v1/schedules/{'a' * 65}", None, {}, 400, "schedule_id"),
    ("DELETE", "/v1/schedules/missing", None, {}, 404, "schedule_id"),
    ("PATCH", "/v1/schedules/missing", {"owner": "me"}, {}, 404, "schedule_id"),
    ("GET", "/v1/schedules/missing/runs", None, {}, 404, "schedule_id"),
    ("GET", "/v1/schedules/missing/fires", None, {}, 404, "schedule_id"),
    ("POST", "/v1/schedules/missing/run", None, {}, 404, "schedule_id"),
    ("GET", "/v1/runs/nightly", None, {}, 400, "run_id"),
    ("GET", "/v1/runs/acme~nightly~1~20261131T000000Z~schedule", None, {}, 400, "run_id"),
    ("GET", f"/v1/runs/{RUN}", None, {}, 404, "run_id"),
    ("POST", f"/v1/runs/{RUN}/cancel", None, {}, 404, "run_id"),
    ("GET", f"/v1/runs/{RUN}/log", None, {}, 404, "run_id"),
    ("GET", f"/v1/runs/{RUN.replace('acme', 'rival')}/log", None, {}, 404, "run_id"),
    ("GET", "/v1/runs/x/log", None, {}, 400, "run_id"),
    ("GET", f"/v1/runs/{RUN}/log?attempt=0", None, {}, 400, "attempt"),
    ("GET", f"/v1/runs/{RUN}/log?attempt=one", None, {}, 400, "attempt"),
    ("GET", f"/v1/runs/{RUN}/log?attempt=1000", None, {}, 400, "attempt"),
    ("GET", f"/v1/runs/{RUN.replace('acme', 'rival')}", None, {}, 404, "run_id"),
    ("GET", f"/v1/runs/{'a' * 300}", None, {}, 400, "run_id"),
    ("GET", f"/v1/runs/{RUN.replace('~1~', '~01~')}", None, {}, 400, "run_id"),
    ("GET", "/v1/runs/acme~nightly~1~20261130T250000Z~schedule", None, {}, 400, "run_id"),
    # queries
    ("GET", "/v1/schedules?limit=0", None, {}, 400, "limit"),
    ("GET", "/v1/schedules?limit=101", None, {}, 400, "limit"),
    ("GET", "/v1/schedules?limit=ten", None, {}, 400, "limit"),
    ("GET", "/v1/schedules?limit=1.0", None, {}, 400, "limit"),
    ("GET", "/v1/schedules?limit=", None, {}, 400, "limit"),
    ("GET", "/v1/schedules?limit=1_0", None, {}, 400, "limit"),
    ("GET", "/v1/schedules?limit=1&limit=2", None, {}, 400, "limit"),
    ("GET", "/v1/schedules?status=cancelled", None, {}, 400, "status"),
    ("GET", "/v1/schedules?status=", None, {}, 400, "status"),
    ("GET", "/v1/schedules?prefix=a%7Eb", None, {}, 400, "prefix"),
    ("GET", "/v1/schedules?cursor=", None, {}, 400, "cursor"),
    ("GET", "/v1/schedules?cursor=!!!", None, {}, 400, "cursor"),
    ("GET", f"/v1/schedules?cursor={'a' * 2_049}", None, {}, 400, "cursor"),
    ("GET", "/v1/schedules?page=2", None, {}, 400, "page"),
    ("GET", "/v1/schedules?limit=1&%6cimit=2", None, {}, 400, "limit"),
    ("GET", "/v1/schedules?=1", None, {}, 400, "query"),
    ("GET", "/v1/schedules?limit=%D9%A3", None, {}, 400, "limit"),
    ("GET", "/v1/health?verbose=1", None, {}, 400, "verbose"),
    ("GET", "/v1/schedules/nightly/explain?At=2026-12-01T00:00:00Z", None, {}, 400, "At"),
    ("GET", "/v1/schedules/nightly/runs?cursor=bm90aGluZw", None, {}, 400, "cursor"),
    ("GET", "/v1/schedules/nightly/runs?limit=1000", None, {}, 400, "limit"),
    ("GET", "/v1/schedules/nightly/runs?status=dead", None, {}, 400, "status"),
    ("GET", "/v1/schedules/nightly/fires?limit=1001", None, {}, 400, "limit"),
    ("GET", "/v1/schedules/nightly/fires?from=today", None, {}, 400, "from"),
    ("GET", "/v1/schedules/nightly/fires?from=2026-12-01T00:00:00+05:30", None, {}, 400, "from"),
    ("GET", "/v1/schedules/nightly/fires?to=2026-12-01", None, {}, 400, "to"),
    ("GET", "/v1/schedules/nightly/fires?from=2026-12-02T00:00Z&to=2026-12-01T00:00Z", None, {}, 400, "to"),
    ("GET", "/v1/schedules/nightly/fires?until=2026-12-01T00:00Z", None, {}, 400, "until"),
    ("GET", "/v1/schedules/nightly/fires?to=2026-11-30T11:59:59Z", None, {}, 400, "to"),
    ("DELETE", f"/v1/schedules/nightly?reason={'a' * 501}", None, {}, 400, "reason"),
    ("DELETE", "/v1/schedules/nightly?force=true", None, {}, 400, "force"),
    ("DELETE", "/v1/schedules/nightly?reason=%1B%5B31m", None, {}, 400, "reason"),
    # headers
    ("POST", "/v1/schedules", schedule(), {"Content-Type": "text/plain"}, 415, "Content-Type"),
    ("POST", "/v1/schedules", "id=new", {"Content-Type": "application/x-www-form-urlencoded"}, 415, "Content-Type"),
    ("POST", "/v1/schedules", schedule(), {"Content-Type": "application/merge-patch+json"}, 415, "Content-Type"),
    ("PATCH", "/v1/schedules/nightly", {}, {"Content-Type": "application/json-patch+json"}, 415, "Content-Type"),
    ("PUT", "/v1/schedules/new", schedule(), {"Content-Type": "application/json; charset=latin1"}, 415, "Content-Type"),
    (
        "PUT",
        "/v1/schedules/new",
        schedule(),
        {"Content-Type": "application/json; v=1; charset=latin1"},
        415,
        "Content-Type",
    ),
    ("PUT", "/v1/schedules/new", schedule(), {"Content-Type": ";;"}, 415, "Content-Type"),
    ("POST", "/v1/schedules", schedule(), {"Content-Encoding": "gzip"}, 415, "Content-Encoding"),
    ("POST", "/v1/schedules", schedule(), {"Idempotency-Key": ""}, 400, "Idempotency-Key"),
    ("POST", "/v1/schedules", schedule(), {"Idempotency-Key": "a" * 129}, 400, "Idempotency-Key"),
    ("POST", "/v1/schedules", schedule(), {"Idempotency-Key": "two words"}, 400, "Idempotency-Key"),
    ("POST", "/v1/schedules/nightly/run", None, {"Idempotency-Key": "ключ"}, 400, "Idempotency-Key"),
    ("PUT", "/v1/schedules/nightly", NIGHTLY, {"If-Match": "1-abc"}, 400, "If-Match"),
    ("PATCH", "/v1/schedules/nightly", {"owner": "me"}, {"If-Match": '"1-abc'}, 400, "If-Match"),
    ("DELETE", "/v1/schedules/nightly", None, {"If-Match": ""}, 400, "If-Match"),
    ("DELETE", "/v1/schedules/nightly", None, {"If-Match": '"1-abc"'}, 412, "If-Match"),
    ("PATCH", "/v1/schedules/nightly", {"owner": "me"}, {"If-Match": '"1-abc"'}, 412, "If-Match"),
    ("PUT", "/v1/schedules/absent", schedule(id="absent"), {"If-Match": "*"}, 412, "If-Match"),
    ("PUT", "/v1/schedules/nightly", NIGHTLY, {"If-None-Match": '"1-abc"'}, 400, "If-None-Match"),
    ("PUT", "/v1/schedules/nightly", NIGHTLY, {"If-None-Match": "*"}, 412, "If-None-Match"),
    ("PUT", "/v1/schedules/new", schedule(), {"If-None-Match": "*", "If-Match": "*"}, 400, "If-None-Match"),
    # conditions that nobody would check, bodies that nobody would read
    ("POST", "/v1/schedules/nightly/run", None, {"If-Match": '"1-abc"'}, 412, "If-Match"),
    ("POST", "/v1/schedules/nightly/run", None, {"If-Match": "1-abc"}, 400, "If-Match"),
    ("POST", "/v1/schedules/nightly/run", None, {"If-None-Match": "*"}, 400, "If-None-Match"),
    ("POST", "/v1/schedules", schedule(), {"If-Match": "*"}, 400, "If-Match"),
    ("POST", "/v1/schedules", schedule(), {"If-None-Match": "*"}, 400, "If-None-Match"),
    ("POST", f"/v1/runs/{RUN}/cancel", None, {"If-Match": '"1-abc"'}, 400, "If-Match"),
    ("PATCH", "/v1/schedules/nightly", {"owner": "me"}, {"If-None-Match": "*"}, 400, "If-None-Match"),
    ("DELETE", "/v1/schedules/nightly", None, {"If-None-Match": "*"}, 400, "If-None-Match"),
    ("POST", "/v1/schedules/nightly/pause", {"reason": "x"}, {"If-None-Match": "*"}, 400, "If-None-Match"),
    (
        "PUT",
        "/v1/schedules/nightly",
        schedule(id="nightly", owner="me"),
        {"If-Unmodified-Since": "Mon, 30 Nov 2026 11:00:00 GMT"},
        400,
        "If-Unmodified-Since",
    ),
    ("PATCH", "/v1/schedules/nightly", {"owner": "me"}, {"Idempotency-Key": "abc"}, 400, "Idempotency-Key"),
    ("DELETE", "/v1/schedules/nightly", {"reason": "no longer needed"}, {}, 400, "body"),
    ("GET", "/v1/schedules/nightly", {"limit": 1}, {}, 400, "body"),
    ("GET", "/v1/schedules/nightly/pause", {"reason": "x"}, {}, 405, "method"),
    # null for what is no field would be taken back from where it never was
    ("PATCH", "/v1/schedules/nightly", {"lables": None}, {}, 400, "lables"),
    ("PATCH", "/v1/schedules/nightly", {"": None}, {}, 400, "body"),
    ("PATCH", "/v1/schedules/nightly", {"policies": {"retry": {"attempts": None}}}, {}, 400, "policies.retry.attempts"),
    ("PATCH", "/v1/schedules/nightly", {"target": {"function": None}}, {}, 400, "target.function"),
    ("PATCH", "/v1/schedules/nightly", {"version": None}, {}, 400, "version"),
    # what is wrong with the request itself is said before what is in its way
    ("POST", "/v1/schedules", {**NIGHTLY, "trigger": {"every": "0s"}}, {}, 400, "trigger.every"),
    ("POST", "/v1/schedules", {**NIGHTLY, "end_at": "2026-11-30T20:00:00Z"}, {}, 400, "end_at"),
    ("PUT", "/v1/schedules/nightly", {**NIGHTLY, "payload": "x" * 50_000}, {"If-Match": '"1-abc"'}, 400, "payload"),
    ("PUT", "/v1/schedules/nightly", {**NIGHTLY, "target": {}}, {"If-None-Match": "*"}, 400, "target"),
    ("PATCH", "/v1/schedules/nightly", {"trigger": {"cron": "x"}}, {"If-Match": '"1-abc"'}, 400, "trigger.cron"),
    (
        "POST",
        "/v1/schedules/nightly/pause",
        {"reason": "x", "until": "2026-11-30T11:00:00Z"},
        {"If-Match": '"1-abc"'},
        400,
        "until",
    ),
    # bodies of other routes
    ("POST", "/v1/schedules", NIGHTLY, {}, 409, "id"),
    ("PUT", "/v1/schedules/new", schedule(id="newer"), {}, 400, "id"),
    ("PUT", "/v1/schedules/new", None, {}, 400, "body"),
    ("PATCH", "/v1/schedules/nightly", None, {}, 400, "body"),
    ("PATCH", "/v1/schedules/nightly", [], {}, 400, "body"),
    ("PATCH", "/v1/schedules/nightly", {"id": "other"}, {}, 400, "id"),
    ("PATCH", "/v1/schedules/nightly", {"trigger": None}, {}, 400, "trigger"),
    ("PATCH", "/v1/schedules/nightly", {"trigger": {"every": "10s"}}, {}, 400, "trigger"),
    ("PATCH", "/v1/schedules/nightly", {"trigger": {"cron": "61 * * * *"}}, {}, 400, "trigger.cron"),
    ("PATCH", "/v1/schedules/nightly", {"target": {"url": "https://example.com/"}}, {}, 400, "target"),
    (
        "PATCH",
        "/v1/schedules/nightly",
        {"policies": {"retry": {"max_attempts": 0}}},
        {},
        400,
        "policies.retry.max_attempts",
    ),
    ("PATCH", "/v1/schedules/nightly", {"version": 7}, {}, 400, "version"),
    ("PATCH", "/v1/schedules/nightly", {"labels": {"a b": "c"}}, {}, 400, "labels.a b"),
    ("POST", "/v1/schedules/nightly/pause", None, {}, 400, "body"),
    ("POST", "/v1/schedules/nightly/pause", {}, {}, 400, "reason"),
    ("POST", "/v1/schedules/nightly/pause", {"reason": ""}, {}, 400, "reason"),
    ("POST", "/v1/schedules/nightly/pause", {"reason": "\x1b[31m"}, {}, 400, "reason"),
    ("POST", "/v1/schedules/nightly/pause", {"reason": "x", "until": "2026-11-30T11:59:59Z"}, {}, 400, "until"),
    ("POST", "/v1/schedules/nightly/pause", {"reason": "x", "until": "soon"}, {}, 400, "until"),
    ("POST", "/v1/schedules/nightly/pause", {"reason": "x", "for": "1h"}, {}, 400, "for"),
    ("POST", "/v1/schedules/nightly/resume", {"missed": "skip"}, {}, 400, "missed"),
    ("POST", "/v1/schedules/nightly/resume", {"missed": {"policy": "all"}}, {}, 400, "missed.policy"),
    ("POST", "/v1/schedules/nightly/resume", {"missed": {"policy": "catch_up"}}, {}, 400, "missed.max"),
    ("POST", "/v1/schedules/nightly/run", {"payload": "x" * 50_000}, {}, 400, "payload"),
    ("POST", "/v1/schedules/nightly/run", {"pay": 1}, {}, 400, "pay"),
    ("POST", "/v1/schedules/nightly/run", "null", {}, 400, "body"),
    ("POST", f"/v1/runs/{RUN}/cancel", {"reason": 7}, {}, 400, "reason"),
    ("POST", "/v1/preview", {}, {}, 400, "trigger"),
    ("POST", "/v1/preview", {"trigger": {"cron": "@reboot", "timezone": "UTC"}}, {}, 400, "trigger.cron"),
    ("POST", "/v1/preview", {"trigger": {"every": "10s"}, "limit": 1_001}, {}, 400, "limit"),
    ("POST", "/v1/preview", {"trigger": {"every": "10s"}, "limit": "5"}, {}, 400, "limit"),
    ("POST", "/v1/preview", {"trigger": {"every": "10s"}, "after": "now"}, {}, 400, "after"),
    ("POST", "/v1/preview", {"trigger": {"every": "10s"}, "until": "2026-11-30T12:00:00Z"}, {}, 400, "until"),
]


def assert_problem(answer, status, field):
    assert answer.status == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json
    assert problem["status"] == status
    assert {"type", "title", "detail", "instance"} <= set(problem)
    assert field in answer.fields, answer.text
    assert all(error["reason"] for error in problem["errors"])


@pytest.fixture(autouse=True)
def _nothing_changes(api):
    before = copy.copy(api.store.state.timers), len(api.store.state.audit), len(api.store.state.runs)
    yield
    assert (api.store.state.timers, len(api.store.state.audit), len(api.store.state.runs)) == before


@pytest.mark.parametrize(("body", "field"), [row[1:] for row in BODIES], ids=[row[0] for row in BODIES])
def test_a_schedule_that_cannot_be_registered_is_refused_by_the_name_of_its_field(api, body, field):
    assert_problem(api.call("POST", "/v1/schedules", body), 400, field)


@pytest.mark.parametrize(
    ("method", "target", "body", "headers", "status", "field"),
    OTHERS,
    ids=[f"{row[0]} {row[1][:60]}" for row in OTHERS],
)
def test_a_request_that_is_wrong_elsewhere_is_refused_by_the_name_of_what_is_wrong(
    api, method, target, body, headers, status, field
):
    assert_problem(api.call(method, target, body, headers=headers), status, field)


def test_a_body_of_more_than_64_kb_is_too_large(api):
    assert_problem(api.call("POST", "/v1/schedules", schedule(description="x" * 70_000)), 413, "body")


def test_a_body_that_is_not_the_base64_it_is_said_to_be_is_refused(api):
    event = event_of("POST", "/v1/schedules", b"{}") | {"body": "no base64!"}
    assert_problem(api.send(event), 400, "body")


@pytest.mark.parametrize(
    "content_type", ["text/plain", "text/html; charset=latin-1", "multipart/form-data", "nonsense"]
)
@pytest.mark.parametrize("method_and_path", NOTHING_SENT)
def test_of_what_type_an_empty_body_is_does_not_matter(api, method_and_path, content_type):
    """`curl -X POST -H 'Content-Type: text/plain'` sends nothing, of a type."""
    method, path = method_and_path.split()
    plain, typed = (api.call(method, path, "", headers=headers) for headers in ({}, {"content-type": content_type}))
    assert typed.status < 500
    assert (typed.status, typed.fields) == (plain.status, plain.fields)


def test_a_wrong_method_says_which_are_right(api):
    assert api.call("PUT", "/v1/schedules", NIGHTLY).headers["allow"] == "GET, POST"


def test_a_thousand_unknown_fields_are_refused_in_an_answer_that_can_be_read(api):
    answer = api.call("POST", "/v1/schedules", schedule(**{f"field{number}": 1 for number in range(1_000)}))
    assert (answer.status, len(answer.fields)) == (400, MAX_ERRORS)


def test_a_preview_may_carry_the_headers_that_a_client_sends_with_every_post(api):
    headers = {"Idempotency-Key": "abc"}
    assert api.call("POST", "/v1/preview", {"trigger": {"every": "10s"}}, headers=headers).status == 200


@pytest.mark.parametrize(
    "number", ["0.10000000000000001", "1.00", "1E2", "5e-324", "0.1000000000000000055511151231257827"]
)
def test_a_number_that_is_kept_as_it_was_written_is_taken_in_every_form(number):
    event = event_of("POST", "/v1/schedules", f'{{"payload": {number}}}')
    assert reading.read(event)["body"] == event["body"]


def test_everything_that_is_wrong_is_named_at_once(api):
    answer = api.call("POST", "/v1/schedules", schedule(owner=1, lables={}, policies__overlap="x"))
    assert set(answer.fields) == {"owner", "lables", "policies.overlap"}


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"lables": {}}, "did you mean labels?"),
        ({"policies__retry__max_attempt": 3}, "did you mean max_attempts?"),
        ({"target": {"handlr": "x"}}, "did you mean handler?"),
        ({"status": "paused"}, "read-only"),
        ({"policies__jitter_seconds": 0.5}, "not 0.5"),
        ({"target": {"lambda": "payments"}}, "cronfleet-target-"),
        ({"trigger__cron": "0 25 * * *"}, "25"),
        ({"target": {"url": "https://example.com/", "secret": "whsec_abc"}}, "Secrets Manager"),
    ],
)
def test_a_refusal_says_what_to_write_instead(api, changes, hint):
    assert hint in api.call("POST", "/v1/schedules", schedule(**changes)).json["detail"]
