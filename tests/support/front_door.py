"""The front door in one process: authorizer, then API, as the gateway joins them, on one store."""

import copy
import json
from typing import Any

import pytest

from cronfleet import settings
from functions.authorizer import handler as authorizer
from tests.support.api import EVENTS, Answer, Api, event_of

_ASKED = json.loads((EVENTS / "authorizer.json").read_text(encoding="utf-8"))


class FrontDoor:
    """Requests with nothing but their headers to say who asks."""

    def __init__(self, api: Api, monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
        self.api = api
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert settings.from_environment()
        authorizer._service.cache_clear()

    def context_of(self, authorization: str | None) -> dict[str, Any] | int:
        """What the authorizer says of a credential; a status where the gateway lets nobody through."""
        if not authorization:
            return 401  # The gateway asks nobody about a request without the header.
        event = copy.deepcopy(_ASKED)
        event["headers"]["authorization"] = authorization
        said = authorizer.handle(event, None)
        return said["context"] if said["isAuthorized"] else 403

    def call(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        authorization: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """The answer to a request, as whoever sent it gets it."""
        context = self.context_of(authorization)
        if isinstance(context, int):
            return Answer(context, {}, '{"message": "said by the gateway"}')
        event = event_of(method, target, body, headers=headers)
        event["requestContext"]["authorizer"]["lambda"] = context
        return self.api.send(event)
