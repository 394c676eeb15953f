"""OpenAPI: the document made from the routes, and Swagger UI around it.

`python -m functions.api.openapi docs/api/openapi.json` writes the copy that is kept in the repository.
"""

import functools
import inspect
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from aws_lambda_powertools.event_handler.openapi import swagger_ui
from aws_lambda_powertools.event_handler.openapi.models import HTTPBearer
from pydantic import TypeAdapter

from cronfleet.domain.role import Role
from cronfleet.version import VERSION

from .answers import GatewayAnswer, ProblemAnswer
from .app import app, routes
from .documents import document_of
from .permissions import PUBLIC, ROLES
from .problems import PROBLEM_JSON
from .reading import JSON, MERGE_PATCH
from .schemas import ScheduleBody

DESCRIPTION: Final = """\
Schedules that fire on time, and the history of every fire.

Every refusal is a problem of RFC 9457 (`application/problem+json`) that names each field in `errors`. What the gateway
itself refuses has the gateway's own form, `{"message": …}`: 401 without a credential, 403 for one that is not valid,
404 for a path that is none of its routes, 429 for too many requests.

A credential is an API key or a token of the installation's identity provider, and has a role; each operation says
which one it takes (viewer, operator, editor, tenant_admin or platform_admin, each of which may all that those before it
may). It belongs to a tenant, and so does all that it sees. A platform admin may act for another tenant with the header
`Cronfleet-Tenant: <id>`.

Times are RFC 3339. Lists come in pages: pass the `cursor` of one to get the next. A POST may carry an
`Idempotency-Key`: for 24 hours the same request under the same key gets the same answer and is done once; a different
one is refused with 422. A schedule's `ETag` moves with every change of it: sent back in `If-Match`, it lets a change
through only while the schedule is the one that you have seen (else 412)."""

TAGS: Final = {
    "schedules": "Register, read, change, pause, resume and delete; see when one fires.",
    "versions": "What a schedule has said over time, what has changed, and back to that.",
    "calendars": "Holidays, extra working days and freezes, in versions; what a new one changes.",
    "shadow": "What a held schedule would have fired, beside what the old system ran.",
    "heartbeats": "The URL of a schedule that a job outside pings.",
    "imports": "What files of other schedulers become: crontabs, CronJobs, EventBridge Scheduler.",
    "bulk": "One change of many schedules.",
    "runs": "Run now, read the history, cancel.",
    "dead_letters": "Runs that ended without having done their work: what went wrong, and what becomes of them.",
    "reruns": "One run again, or all that a filter takes.",
    "backfills": "Dates of the past, run once.",
    "operations": "Backfills, re-runs and redrives alike: how far they are; pause, resume, cancel.",
    "ledger": "Why a schedule ran at a time, or did not.",
    "dependencies": "What a schedule runs after, and what runs after it.",
    "objectives": "What is expected of a schedule, and how that stands.",
    "channels": "Where incidents are told: SNS, webhook, e-mail, Slack-compatible chats.",
    "incidents": "What was promised and is broken, from when that is noticed until it is whole again.",
    "notices": "What became of each message.",
    "freezes": "A label, a tenant or a tier in which nothing starts, in one write.",
    "holds": "The installation in which nothing is claimed: for an update, or as a second region.",
    "breakers": "Targets that fail again and again, and are left alone for a while.",
    "lint": "What about schedules will surprise, and when many fire at once.",
    "forecast": "How many fires are due in the next days.",
    "preview": "When a trigger would fire.",
    "tenants": "Who the installation serves, what each may use, and what it does.",
    "audit": "Who changed what, when and why; and whether anybody has changed that since.",
    "tenant_life": "A tenant as a whole: exported, suspended, deleted.",
    "target_role": "The trust that targets with an ARN need: whose roles may assume yours, and on whose behalf.",
    "zone_data": "Which release of the zone data is at work, and what follows from a new one.",
    "keys": "API keys of a tenant: make, list, replace, revoke.",
    "health": "Whether all is well.",
}
"""The parts of the API, in the order in which the document shows them: the modules of its routes."""

_REFUSALS: Final = {
    "400": "The request cannot be used as it is; `errors` names each field.",
    "404": "There is no such thing, or it belongs to another tenant.",
    "409": "The id is taken, or the state or a quota does not allow this.",
    "412": "It has changed since the ETag in If-Match was read.",
    "413": "The body is too large.",
    "415": "The body is of a media type that is not read here.",
    "422": "The Idempotency-Key was used for another request.",
    "503": "The job store is busy; try again after `Retry-After` seconds.",
}


CANCEL_RUN_PATH: Final = "/v1/runs/{run_id}/cancel"
OPEN_PATH: Final = "/v1/heartbeats/{token}"
"""Needs no key: its token is one."""

_BOUNDS: Final = {"ge": "minimum", "le": "maximum"}

_GATEWAY: Final = {
    "401": "There is no Authorization header, or the credential has just ended.",
    "403": "The credential is not valid (the gateway says so), or its role does not suffice (a problem).",
    "429": "Too many requests at a time; those of one credential are counted too: see `Retry-After`.",
}

_HEADERS: Final = (
    ("200", "ETag", "ScheduleAnswer", "For If-Match."),
    ("201", "ETag", "ScheduleAnswer", "For If-Match."),
    ("200", "ETag", "CalendarAnswer", "For If-Match; the newest version has one."),
    ("200", "ETag", "CalendarChangeAnswer", "For If-Match; a dry run has none."),
    ("201", "ETag", "CalendarChangeAnswer", "For If-Match."),
    ("200", "ETag", "TenantAnswer", "For If-Match."),
    ("201", "ETag", "TenantAnswer", "For If-Match."),
    ("201", "Location", "Answer", "Where the new thing is."),
    ("503", "Retry-After", "ProblemAnswer", "Seconds."),
)
"""Status, header, the schema that it comes with, and what it says."""


@functools.cache
def document() -> str:
    """The OpenAPI 3.1 document as JSON text."""
    made = app.get_openapi_json_schema(
        title="Cronfleet",
        version=VERSION,
        description=DESCRIPTION,
        security_schemes={
            "key": HTTPBearer(description="An API key, cf_<id>_<secret>, or a token of the identity provider")
        },
        security=[{"key": []}],
    )
    spec: dict[str, Any] = _whole_numbers(json.loads(made))
    _finish_schemas(spec["components"]["schemas"])
    for path, operations in spec["paths"].items():
        for method, operation in operations.items():
            _finish(method, path, operation)
    spec["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    spec["paths"] = dict(sorted(spec["paths"].items(), key=_place))
    return json.dumps(spec, indent=2, ensure_ascii=False) + "\n"


def _whole_numbers(value: Any) -> Any:
    """`value` with `64` where the resolver writes `64.0`."""
    match value:
        case dict():
            return {name: _whole_numbers(inner) for name, inner in value.items()}
        case list():
            return [_whole_numbers(inner) for inner in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def _finish_schemas(schemas: dict[str, Any]) -> None:
    for name in ("HTTPValidationError", "ValidationError", "ResponseValidationError", "DocumentBody", "CrontabBody"):
        schemas.pop(name, None)  # the last two are how files reach their routes; callers send them as they are
    for model in (ProblemAnswer, GatewayAnswer):
        made = TypeAdapter(model).json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(made.pop("$defs", {}))
        schemas[model.__name__] = made


def _place(item: tuple[str, dict[str, Any]]) -> tuple[int, int]:
    """Where a path stands: by its part of the API, the shorter first."""
    path, operations = item
    (tag,) = next(iter(operations.values()))["tags"]
    return list(TAGS).index(tag), path.count("/")


def _finish(method: str, path: str, operation: dict[str, Any]) -> None:
    """What the resolver cannot know: what an operation says of itself, its refusals, the form of a merge patch."""
    function = _functions()[method.upper(), path]
    tag = function.__module__.rpartition(".")[2]
    operation |= {
        "operationId": f"{tag}_{function.__name__}",
        "tags": [tag],
        "description": _described(function, ROLES[method.upper(), path]),
    }
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _of_parameter(parameter["schema"])
    _finish_answers(method, path, operation)
    if path == OPEN_PATH:
        operation["security"] = []
    if method == "patch":
        # A schedule's may be nested anyhow, which no model says; others are models themselves.
        said = _patch() if path == "/v1/schedules/{schedule_id}" else operation["requestBody"]["content"][JSON]
        operation["requestBody"] = {"required": True, "content": {MERGE_PATCH: said, JSON: said}}
    document = document_of(method.upper(), path)
    if document is not None:
        kept = operation["requestBody"]["content"] if document.or_json else {}
        files = {media_type: {"schema": {"type": "string"}} for media_type in document.media_types}
        operation["requestBody"] = {"required": True, "content": {**kept, **files}}


def _described(function: Any, role: Role | None) -> str:
    text = inspect.getdoc(function) or ""
    return text if role is PUBLIC else f"{text}\n\nRole: {role}."


def _of_parameter(schema: dict[str, Any]) -> dict[str, Any]:
    """Without null, since a parameter is there or not; bounds by their names in JSON Schema."""
    made = {_BOUNDS.get(name, name): value for name, value in schema.items() if name != "anyOf"}
    return made | next((kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}), {})


@functools.cache
def _functions() -> Mapping[tuple[str, str], Any]:
    """The function behind each operation, by its method and path."""
    return {(route.method, route.openapi_path): route.func for route in routes()}


def _patch() -> dict[str, Any]:
    fields = dict.fromkeys(ScheduleBody.model_fields, True)
    return {
        "schema": {
            "type": "object",
            "properties": fields,
            "additionalProperties": False,
            "description": "Any fields but `held` and `shadow`, at any depth; null takes one back to its default.",
            "examples": [{"trigger": {"cron": "30 2 * * *"}, "labels": {"team": None}}],
        }
    }


def _finish_answers(method: str, path: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    _describe_successes(method, path, responses)
    for status in _refusals(method, path, operation):
        # A path that the gateway cannot read is none of its routes.
        content = _said_by_either() if status == "404" else {PROBLEM_JSON: _said_by_either()[PROBLEM_JSON]}
        responses[status] = {"description": _REFUSALS[status], "content": content}
    if path == "/v1/health":
        responses["503"] = {**responses["200"], "description": "The job store does not answer."}
    for status, text in _GATEWAY.items():
        if path == OPEN_PATH and status in ("401", "403"):
            continue
        responses[status] = {"description": text, "content": _said_by_either()}
    responses["431"] = {"description": "The request line and the headers are too large for the gateway."}
    _name_headers(responses)
    operation["responses"] = dict(sorted(responses.items()))


def _describe_successes(method: str, path: str, responses: dict[str, Any]) -> None:
    if "200" in responses:
        responses["200"]["description"] = "Here it is." if method == "get" else "It is done."
    if "201" in responses:
        responses["201"]["description"] = "It is new."
    if path == "/v1/schedules" and method == "post":
        responses["200"] = {**responses["201"], "description": "It would be this: a dry run."}
    if method == "put":
        responses["201"] = {**responses["200"], "description": "It is new."}
    if path == CANCEL_RUN_PATH:
        responses["202"] = {**responses["200"], "description": "It is asked for."}
    elif "202" in responses:
        responses["202"]["description"] = "It has begun."
    elif method == "delete":
        responses["204"] = {"description": "It is deleted."}


def _said_by_either() -> dict[str, Any]:
    return {
        JSON: {"schema": {"$ref": "#/components/schemas/GatewayAnswer"}},
        PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/ProblemAnswer"}},
    }


def _name_headers(responses: dict[str, Any]) -> None:
    for status, name, schema, text in _HEADERS:
        response = responses.get(status, {})
        if f'{schema}"' in json.dumps(response.get("content")):
            response.setdefault("headers", {})[name] = {"description": text, "schema": {"type": "string"}}


def _refusals(method: str, path: str, operation: dict[str, Any]) -> list[str]:
    if path == "/v1/health":
        return ["400"]
    found = ["400", "503"]
    if "{" in path:
        found.append("404")
    if method in ("post", "put", "patch"):
        found += ["413", "415"]
    headers = {one["name"].lower() for one in operation.get("parameters", ()) if one["in"] == "header"}
    if "if-match" in headers:
        found.append("412")
    if "idempotency-key" in headers:
        found.append("422")
    if method != "get" and ROLES[method.upper(), path] is not Role.VIEWER:
        found.append("409")
    return sorted(found)


@functools.cache
def swagger_page() -> str:
    """Swagger UI with its script, its styles and the document inside."""
    folder = Path(swagger_ui.__file__).parent
    script = (folder / "swagger-ui-bundle.min.js").read_text(encoding="utf-8")
    style = (folder / "swagger-ui.min.css").read_text(encoding="utf-8")
    # `</` could end the script element that the document stands in.
    page = swagger_ui.generate_swagger_html(document().replace("</", "<\\/"), script, style, "", None, True)
    # The page links to itself in another format, which is not served; the document stands beside it.
    linked = page.replace(
        'currentUrl.pathname + "?format=json"', 'currentUrl.pathname.replace(/docs$/, "openapi.json")'
    )
    return linked.replace("<title>Swagger UI</title>", "<title>Cronfleet API</title>")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(document(), encoding="utf-8")
