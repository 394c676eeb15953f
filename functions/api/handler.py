"""The API function: an event of the HTTP API in, an answer out."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from cronfleet import bootstrap

from . import cold_start, reading
from .app import admit, app, problem_of
from .tracing import traced

cold_start.is_over()


def handle(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answers one request (payload format 2.0)."""
    with traced(event) as answer:
        answer.update(_answer(event, context))
    bootstrap.telemetry("api").count("requests", outcome=f"{answer['statusCode'] // 100}xx")
    return answer


def _answer(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    try:
        admit(event)
        sound = reading.read(event)
    except Exception as error:
        return problem_of(error).gateway_answer(event["rawPath"])
    return app.resolve(sound, context)
