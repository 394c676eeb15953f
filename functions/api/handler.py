"""The API function: an event of the HTTP API in, an answer out."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from . import problems, reading
from .app import admit, app


def handle(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answers one request (payload format 2.0)."""
    try:
        admit(event)
        sound = reading.read(event)
    except Exception as error:
        problem = problems.of(error)
        if problem is None:
            raise
        return problem.gateway_answer(event["rawPath"])
    return app.resolve(sound, context)
