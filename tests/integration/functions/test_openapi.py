"""The OpenAPI document: the copy in the repository is the one that is served, and it is sound."""

import json
from pathlib import Path

import pytest
from openapi_spec_validator import validate

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
    assert document["openapi"].startswith("3.1")
    validate(document)


def test_every_route_below_v1_is_described(document):
    described = {(path, method.upper()) for path, operations in document["paths"].items() for method in operations}
    routes = {(route.openapi_path, route.method) for route in (*app._static_routes, *app._dynamic_routes)}
    assert described == {(path, method) for path, method in routes if path.startswith("/v1/")}


def test_every_operation_needs_a_key_and_shows_problems(document):
    assert document["security"] == [{"key": []}]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert "503" in operation["responses"], f"{method} {path}"
            assert operation["summary"]


def test_no_schema_is_left_out(document):
    text = json.dumps(document)
    for name in (part.split('"')[0] for part in text.split("#/components/schemas/")[1:]):
        assert name in document["components"]["schemas"], name


def test_the_page_serves_the_same_document(monkeypatch):
    api = api_on_memory(monkeypatch)
    assert api.call("GET", "/openapi.json").text == openapi.document()


def test_the_version_is_that_of_the_project():
    assert f'version = "{VERSION}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
