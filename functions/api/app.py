"""App: the routes, and what surrounds all of them."""

from collections.abc import Callable
from typing import Any, Final

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from cronfleet import bootstrap
from cronfleet.domain.errors import ClockSkewed

from . import permissions, problems
from .reading import check_unread
from .requests import ROUTE
from .routes import (
    audit,
    backfills,
    breakers,
    bulk,
    calendars,
    channels,
    dead_letters,
    dependencies,
    forecast,
    freezes,
    health,
    heartbeats,
    holds,
    imports,
    incidents,
    keys,
    ledger,
    lint,
    objectives,
    operations,
    pages,
    preview,
    reruns,
    runs,
    schedules,
    shadow,
    target_role,
    tenant_life,
    tenants,
    versions,
    zone_data,
)
from .schemas import fields_by_path

logger = Logger(service="api")
app = APIGatewayHttpResolver(enable_validation=True)

_GUARDS: Final = {
    "If-Match": "is not checked here, so it would guard nothing; leave it out",
    "If-None-Match": "is not checked here, so it would guard nothing; leave it out",
    "If-Unmodified-Since": "is not checked; send the ETag that you have seen in If-Match",
    "Idempotency-Key": "is not read here: this request may be repeated as it is; leave it out",
}
"""What is wrong with headers that a caller relies on, where a route does not read them."""

for module in (
    schedules,
    versions,
    shadow,
    target_role,
    heartbeats,
    calendars,
    dead_letters,
    dependencies,
    objectives,
    imports,
    bulk,
    runs,
    reruns,
    backfills,
    operations,
    ledger,
    freezes,
    holds,
    breakers,
    channels,
    incidents,
    lint,
    forecast,
    preview,
    zone_data,
    tenants,
    tenant_life,
    keys,
    audit,
    health,
    pages,
):
    app.include_router(module.router)


def admit(event: dict[str, Any]) -> None:
    """Lets a request through to the route that it will be resolved to; see `permissions.admit` for what it raises.

    Before anything of the request is judged: its schema, its body and what it does are told to nobody else.
    """
    sent = APIGatewayProxyEventV2(event)
    # Both are worked out anew each time that they are asked for, and there are many routes.
    path, method = sent.path, sent.http_method.upper()
    for route in routes():
        found = route.rule.match(path) if route.method == method else None
        if found:
            event["requestContext"][ROUTE] = route.openapi_path
            return permissions.admit(event, route.method, route.openapi_path, found.groupdict().get("tenant_id"))
    return None


def _refuse_what_would_be_ignored(resolver: APIGatewayHttpResolver, following: Callable[..., Any]) -> Any:
    """A parameter with a typing error in its name would otherwise be ignored, and the answer be another's; a condition
    that nobody checks would let the change through that it should have stopped.
    """
    route = resolver.context["_route"]
    if route.path.startswith("/v1/") and "not_found" not in route.func.__name__:
        unknown = _unknown_parameters(resolver, route)
        if unknown:
            raise problems.invalid(unknown)
        check_unread(resolver.current_event.raw_event)
        if route.method != "GET" and route.path != preview.PATH:
            _refuse_unread_guards(resolver.current_event.raw_event, route)
    return following(resolver)


def _unknown_parameters(resolver: APIGatewayHttpResolver, route: Any) -> list[problems.FieldError]:
    known = frozenset(param.alias for param in route.dependant.query_params)
    given = resolver.current_event.query_string_parameters
    unknown = [{"loc": ("query", name), "type": "extra_forbidden"} for name in given if name not in known]
    return problems.field_errors(unknown, {"": known})


def _refuse_unread_guards(event: dict[str, Any], route: Any) -> None:
    read = {param.alias.lower() for param in route.dependant.header_params}
    sent = {name.lower() for name in event.get("headers", {})}
    unread = [name for name in _GUARDS if name.lower() in sent - read]
    if unread:
        raise problems.invalid(problems.FieldError(name, _GUARDS[name]) for name in unread)


app.use(middlewares=[_refuse_what_would_be_ignored])


def routes() -> list[Any]:
    """Every route."""
    return [*app._static_routes, *app._dynamic_routes]  # noqa: SLF001 - the resolver tells its routes nowhere else


@app.exception_handler(RequestValidationError)
def _invalid(error: RequestValidationError) -> Response[str]:
    route = app.context["_route"]
    bodies = route.dependant.body_params
    known = fields_by_path(bodies[0].type_) if bodies and hasattr(bodies[0].type_, "model_fields") else {}
    found = problems.field_errors(error.errors(), known)
    # A parameter that is missing may be there under a name that is nearly right.
    return problems.invalid([*found, *_unknown_parameters(app, route)]).response(app.current_event.path)


@app.not_found
def _not_found(_: NotFoundError) -> Response[str]:
    method, path = app.current_event.http_method, app.current_event.path
    allowed = {route.method for route in routes() if route.rule.match(path)}
    problem = problems.method_not_allowed(method, path, allowed) if allowed else problems.not_found(path)
    return problem.response(path)


@app.exception_handler(Exception)
def refuse(error: Exception) -> Response[str]:
    """The answer to a request that ended with `error`."""
    return problem_of(error).response(app.current_event.path)


def problem_of(error: Exception) -> problems.Problem:
    """The problem that `error` is; one that is no caller's fault is logged, and says nothing of itself."""
    problem = problems.of(error)
    if isinstance(error, ClockSkewed):
        bootstrap.telemetry("api").alarm("clock_skewed", skew_seconds=error.skew_ms / 1_000)
    if problem is None:
        logger.exception("unhandled")
        problem = problems.internal()
    return problem
