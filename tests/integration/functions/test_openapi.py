"""The OpenAPI document: the copy in the repository is the one that is served, and it is sound."""

import json
from pathlib import Path

import pytest

from cronfleet.version import VERSION
from functions.api import openapi
from functions.api.app import app
from tests.support.api import api_on_memory

ROOT = Path(__file__).parent.parent.parent.parent
KEPT = ROOT / "docs" / "api" / "openapi.json"


@pytest.fixture(scope="module")
def document():
    return json.loads(openapi.document())


def test_the_copy_in_the_repository_is_up_to_date():
    assert KEPT.read_text(encoding="utf-8") == openapi.document(), (
        "the routes have changed: python -m functions.api.openapi docs/api/openapi.json"
    )


def test_the_document_is_valid_openapi_3_1(document):
    from openapi_spec_validator import validate  # noqa: PLC0415 - it takes seconds, in each process that collects

    assert document["openapi"].startswith("3.1")
    validate(document)


def test_every_route_below_v1_is_described(document):
    described = {(path, method.upper()) for path, operations in document["paths"].items() for method in operations}
    routes = {(route.openapi_path, route.method) for route in (*app._static_routes, *app._dynamic_routes)}
    assert described == {(path, method) for path, method in routes if path.startswith("/v1/")}


def test_every_operation_but_the_ping_needs_a_key_and_shows_problems(document):
    assert document["security"] == [{"key": []}]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert "503" in operation["responses"], f"{method} {path}"
            assert operation["summary"]


def test_every_operation_says_what_it_does_and_what_the_gateway_may_answer_instead(document):
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["description"], f"{method} {path}"
            by_key = set() if path == openapi.OPEN_PATH else {"401", "403"}
            assert {"400", "429"} | by_key <= set(operation["responses"]), f"{method} {path}"
            assert (operation.get("security") == []) == (path == openapi.OPEN_PATH), f"{method} {path}"
            assert ("{" in path) <= ("404" in operation["responses"]), f"{method} {path}"


def test_every_field_and_parameter_is_described(document):
    for name, schema in document["components"]["schemas"].items():
        assert schema.get("description"), name
        for field, described in schema.get("properties", {}).items():
            assert described.get("description"), f"{name}.{field}"
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                assert parameter.get("description"), f"{operation['operationId']} {parameter['name']}"


def test_what_the_document_offers_as_an_example_is_accepted(document, monkeypatch):
    """Swagger UI offered all kinds of triggers and targets at once, each empty: a 400 for whoever tried it out."""
    api = api_on_memory(monkeypatch)
    schemas = document["components"]["schemas"]
    assert api.call("POST", "/v1/schedules", schemas["NewScheduleBody"]["examples"][0]).status == 201
    patch = document["paths"]["/v1/schedules/{schedule_id}"]["patch"]["requestBody"]["content"]["application/json"]
    bodies = {"pause": "PauseBody", "resume": "ResumeBody", "run": "RunBody"}
    for verb, name in bodies.items():
        answer = api.call("POST", f"/v1/schedules/billing-nightly/{verb}", schemas[name]["examples"][0])
        assert answer.status in (200, 201), answer.text
    assert api.call("PATCH", "/v1/schedules/billing-nightly", patch["schema"]["examples"][0]).status == 200
    assert api.call("POST", "/v1/preview", schemas["PreviewBody"]["examples"][0]).status == 200
    for parent in ("load", "clean"):  # which an example runs after
        assert (
            api.call(
                "PUT", f"/v1/schedules/{parent}", {**schemas["NewScheduleBody"]["examples"][0], "id": parent}
            ).status
            == 201
        )
    for kind, name in (("trigger", "TriggerBody"), ("target", "TargetBody")):
        for example in schemas[name]["examples"]:
            body = {**schemas["NewScheduleBody"]["examples"][0], "id": None, kind: example}
            answer = api.call("POST", "/v1/schedules", body)
            assert answer.status == 201, answer.text


def test_no_schema_is_left_out(document):
    text = json.dumps(document)
    for name in (part.split('"')[0] for part in text.split("#/components/schemas/")[1:]):
        assert name in document["components"]["schemas"], name


def test_the_page_serves_the_same_document(monkeypatch):
    api = api_on_memory(monkeypatch)
    assert api.call("GET", "/openapi.json").text == openapi.document()
    assert "?format=json" not in api.call("GET", "/docs").text, "a link to what is not served"


def test_the_version_is_that_of_the_project():
    assert f'version = "{VERSION}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
