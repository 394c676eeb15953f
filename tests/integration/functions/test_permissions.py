"""Who may what: each route asks the one table of roles, and another tenant's things are not there."""

import json
import re

import pytest

from cronfleet.domain.role import Role
from functions.api import openapi
from functions.api.app import routes
from functions.api.permissions import PUBLIC, ROLES
from tests.support.api import Api


def test_every_route_has_a_line_in_the_table_of_roles_and_every_line_a_route() -> None:
    assert {(route.method, route.openapi_path) for route in routes()} == set(ROLES)


def _cases() -> list[tuple[str, str, Role]]:
    return [(*key, role) for key, role in ROLES.items() if role is not PUBLIC]


@pytest.mark.parametrize(("method", "path", "needed"), _cases())
def test_a_role_below_the_one_that_a_route_takes_is_refused_and_told_which_it_takes(
    memory: Api, method: str, path: str, needed: Role
) -> None:
    target = re.sub("{.*?}", "acme", path)
    for role in Role:
        answer = memory.call(method, target, role=role)
        assert (answer.status == 403) == (not role.allows(needed)), (role, answer.text)
        if answer.status == 403:
            assert needed in answer.json["detail"]
            assert role in answer.json["detail"]


def test_every_change_may_be_refused_for_its_state_and_says_so() -> None:
    """In a suspended tenant, over a quota, under an id that is taken: the document says 409 for whatever changes."""
    paths = json.loads(openapi.document())["paths"]
    for (method, path), role in ROLES.items():
        if path in paths and method != "GET" and role is not Role.VIEWER:
            assert "409" in paths[path][method.lower()]["responses"], (method, path)


def test_the_document_says_which_role_each_operation_takes() -> None:
    paths = json.loads(openapi.document())["paths"]
    for (method, path), role in ROLES.items():
        if path in paths and role is not PUBLIC:
            assert paths[path][method.lower()]["description"].endswith(f"Role: {role}.")
