"""Who may what: each route asks the one table of roles, and another tenant's things are not there."""

import re

import pytest

from cronfleet.domain.role import Role
from functions.api.app import routes
from functions.api.permissions import PUBLIC, ROLES
from tests.support.api import Api


def test_every_route_has_a_line_in_the_table_of_roles() -> None:
    assert {(route.method, route.openapi_path) for route in routes()} - set(ROLES) == set()


def _cases() -> list[tuple[str, str, Role]]:
    here = {(route.method, route.openapi_path) for route in routes()}
    return [(*key, role) for key, role in ROLES.items() if role is not PUBLIC and key in here]


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
