"""docs/api.md names every route that the API has, and no other."""

import json
import re
from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs"
ROUTES = re.compile(r"((?:`[A-Z]+`(?:, | and ))*)`([A-Z]+) (/v1/[^`?]*)[^`]*`")


def named() -> set[tuple[str, str]]:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    found = ROUTES.findall(text)
    return {(method, path) for more, last, path in found for method in [*re.findall("[A-Z]+", more), last]}


def test_the_document_names_every_route_and_no_other() -> None:
    paths = json.loads((DOCS / "api" / "openapi.json").read_text(encoding="utf-8"))["paths"]
    routes = {
        (method.upper(), re.sub("{(schedule|tenant)_id}", "{id}", path))
        for path, methods in paths.items()
        for method in methods.keys() & {"get", "post", "put", "patch", "delete"}
    }
    assert named() == routes
