"""App: the routes, and what surrounds all of them."""

from collections.abc import Callable
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError

from . import problems
from .routes import health, ledger, pages, preview, runs, schedules
from .schemas import fields_by_path

logger = Logger(service="api")
app = APIGatewayHttpResolver(enable_validation=True)
for module in (schedules, runs, ledger, preview, health, pages):
    app.include_router(module.router)


def _refuse_unknown_parameters(resolver: APIGatewayHttpResolver, following: Callable[..., Any]) -> Any:
    """A parameter with a typing error in its name would otherwise be ignored, and the answer be another's."""
    route = resolver.context["_route"]
    if route.path.startswith("/v1/") and "not_found" not in route.func.__name__:
        known = {param.alias for param in route.dependant.query_params}
        given = resolver.current_event.query_string_parameters
        unknown = [{"loc": ("query", name), "type": "extra_forbidden"} for name in given if name not in known]
        if unknown:
            raise problems.of_validation(unknown, {"": frozenset(known)})
    return following(resolver)


app.use(middlewares=[_refuse_unknown_parameters])


@app.exception_handler(RequestValidationError)
def _invalid(error: RequestValidationError) -> Response[str]:
    bodies = app.context["_route"].dependant.body_params
    known = fields_by_path(bodies[0].type_) if bodies and hasattr(bodies[0].type_, "model_fields") else {}
    return problems.of_validation(error.errors(), known).response(app.current_event.path)


@app.not_found
def _not_found(_: NotFoundError) -> Response[str]:
    method, path = app.current_event.http_method, app.current_event.path
    routes = [*app._static_routes, *app._dynamic_routes]  # noqa: SLF001 - it tells its routes nowhere else
    allowed = {route.method for route in routes if route.rule.match(path)}
    problem = problems.method_not_allowed(method, path, allowed) if allowed else problems.not_found(path)
    return problem.response(path)


@app.exception_handler(Exception)
def refuse(error: Exception) -> Response[str]:
    """The problem of `error`; one that is no caller's fault is logged, and says nothing of itself."""
    problem = problems.of(error)
    if problem is None:
        logger.exception("unhandled")
        problem = problems.internal()
    return problem.response(app.current_event.path)
