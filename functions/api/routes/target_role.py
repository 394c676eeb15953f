"""/v1/target-role: what a tenant's role must say so that this installation calls targets as it."""

import functools
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.services.target_roles import TargetRoles
from cronfleet.settings import from_environment

from ..reading import JSON
from ..requests import caller_of
from ..schemas import ID
from ..target_role_answers import TargetRoleAnswer

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> TargetRoles:
    return bootstrap.target_roles(from_environment())


@router.get("/v1/target-role", summary="See what a target's role must say")
def target_role(
    schedule: Annotated[
        str | None, Query(pattern=ID, description="A schedule: with what its target needs the role to be permitted.")
    ] = None,
) -> Response[TargetRoleAnswer]:
    """The trust policy to paste into a role of yours, with the external id that is your tenant's alone."""
    return Response(200, JSON, _service().describe(caller_of(router.current_event.raw_event), schedule))
