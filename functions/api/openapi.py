"""OpenAPI: the document made from the routes, and Swagger UI around it.

`python -m functions.api.openapi docs/api/openapi.json` writes the copy that is kept in the repository.
"""

import functools
import json
import sys
from pathlib import Path
from typing import Any, Final

from aws_lambda_powertools.event_handler.openapi import swagger_ui
from aws_lambda_powertools.event_handler.openapi.models import HTTPBearer
from pydantic import TypeAdapter

from cronfleet.version import VERSION

from .answers import ProblemAnswer
from .app import app
from .problems import PROBLEM_JSON
from .reading import JSON, MERGE_PATCH

DESCRIPTION: Final = """\
Schedules that fire on time, and the history of every fire.

Every refusal is a problem of RFC 9457 (`application/problem+json`) that names each field in `errors`. What the gateway
itself refuses has the gateway's own form, `{"message": …}`: 401 without a key, 403 for a key that is not valid, 429
for too many requests.

Lists come in pages: pass the `cursor` of one to get the next. A POST may carry an `Idempotency-Key`: for 24 hours the
same request under the same key gets the same answer and is done once; a different one is refused with 422."""

_REFUSALS: Final = {
    "400": "The request cannot be used as it is; `errors` names each field.",
    "404": "There is no such thing, or it belongs to another tenant.",
    "409": "The id is taken, or the state does not allow this.",
    "412": "The schedule has changed since the ETag in If-Match was read.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "422": "The Idempotency-Key was used for another request.",
    "503": "The job store is busy; try again after `Retry-After` seconds.",
}


@functools.cache
def document() -> str:
    """The OpenAPI 3.1 document as JSON text."""
    made = app.get_openapi_json_schema(
        title="Cronfleet",
        version=VERSION,
        description=DESCRIPTION,
        security_schemes={"key": HTTPBearer(description="An API key: cf_<id>_<secret>")},
        security=[{"key": []}],
    )
    spec: dict[str, Any] = json.loads(made)
    schemas = spec["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError", "ResponseValidationError"):
        schemas.pop(name, None)
    problem = TypeAdapter(ProblemAnswer).json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(problem.pop("$defs"))
    schemas["ProblemAnswer"] = problem
    for path, operations in spec["paths"].items():
        for method, operation in operations.items():
            _finish(method, path, operation)
    return json.dumps(spec, indent=2, ensure_ascii=False) + "\n"


def _finish(method: str, path: str, operation: dict[str, Any]) -> None:
    """What the resolver cannot know: which refusals an operation has, and the media type of a merge patch."""
    responses = operation["responses"]
    responses.pop("422", None)
    for status in _refusals(method, path, operation):
        content = {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/ProblemAnswer"}}}
        responses[status] = {"description": _REFUSALS[status], "content": content}
    if method == "put":
        responses["201"] = {**responses["200"], "description": "It is new."}
    if path == "/v1/health":
        responses["503"] = {**responses["200"], "description": "The job store does not answer."}
    if method == "delete":
        responses["204"] = {"description": "It is deleted."}
    if method == "patch":
        body = {"schema": {"type": "object", "description": "Any fields of a schedule; null takes one back."}}
        operation["requestBody"] = {"required": True, "content": {MERGE_PATCH: body, JSON: body}}


def _refusals(method: str, path: str, operation: dict[str, Any]) -> list[str]:
    if path == "/v1/health":
        return []
    found = ["400", "503"]
    if "{" in path and method != "put":
        found.append("404")
    if method in ("post", "put", "patch"):
        found += ["413", "415"]
    headers = {one["name"].lower() for one in operation.get("parameters", ()) if one["in"] == "header"}
    if "if-match" in headers:
        found.append("412")
    if "idempotency-key" in headers:
        found += ["409", "422"]
    return sorted(found)


@functools.cache
def swagger_page() -> str:
    """Swagger UI with its script, its styles and the document inside."""
    folder = Path(swagger_ui.__file__).parent
    script = (folder / "swagger-ui-bundle.min.js").read_text(encoding="utf-8")
    style = (folder / "swagger-ui.min.css").read_text(encoding="utf-8")
    # `</` could end the script element that the document stands in.
    return swagger_ui.generate_swagger_html(document().replace("</", "<\\/"), script, style, "", None, True)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(document(), encoding="utf-8")
