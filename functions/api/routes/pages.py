"""The public pages: the index, the OpenAPI document and Swagger UI. They need no key and know no tenant."""

import json
from typing import Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet.version import VERSION

from ..reading import JSON

router = APIGatewayHttpRouter()

INDEX: Final = {"name": "cronfleet", "version": VERSION, "api": "/v1", "docs": "/docs", "openapi": "/openapi.json"}


@router.get("/", include_in_schema=False, enable_validation=False)
def index() -> Response[str]:
    """What is where."""
    return Response(200, JSON, json.dumps(INDEX))


@router.get("/openapi.json", include_in_schema=False, enable_validation=False, compress=True)
def openapi() -> Response[str]:
    """The OpenAPI 3.1 document."""
    from ..openapi import document  # noqa: PLC0415 - only this page and the next need it, and it is slow to load

    return Response(200, JSON, document())


@router.get("/docs", include_in_schema=False, enable_validation=False, compress=True)
def docs() -> Response[str]:
    """Swagger UI, whole in one page: it loads nothing from elsewhere."""
    from ..openapi import swagger_page  # noqa: PLC0415 - as above

    return Response(200, "text/html; charset=utf-8", swagger_page())
