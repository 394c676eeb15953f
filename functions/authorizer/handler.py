"""The authorizer: a key or a token in, tenant and role out. What fails here is an error of ours, never a permission."""

import functools
from typing import Any, Final

from cronfleet import bootstrap
from cronfleet.services.access import Access
from cronfleet.services.door import Door
from cronfleet.settings import EDGE_HEADER, from_environment

REFUSED: Final = {"isAuthorized": False}


@functools.cache
def _service() -> Access:
    return bootstrap.access(from_environment())


@functools.cache
def _door() -> Door | None:
    return bootstrap.door(from_environment())


def handle(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Answers the HTTP API in its simple form. Raises when the store is silent: the gateway makes it a 500."""
    door = _door()
    if door is not None:
        if not door.lets_in(_header(event, EDGE_HEADER)):
            return REFUSED
        if _asks_for_no_credential(event):
            return {"isAuthorized": True}
    credential = _service().credential_of(_header(event, "authorization"))
    if credential is None:
        return REFUSED
    context = {
        "tenant": credential.tenant.tenant_id,
        "tier": credential.tenant.tier,
        # The credential, by the name that it had before there were tokens: the gateway remembers answers over a deploy.
        "key_id": credential.name,
        "role": credential.role.value,
        "actor": credential.actor,
        # As text: gateways differ in what they make of numbers.
        "ends_at": "" if credential.ends_at is None else str(credential.ends_at),
    }
    return {"isAuthorized": True, "context": context}


def _header(event: dict[str, Any], wanted: str) -> str:
    headers = event.get("headers") or {}
    return next((value for name, value in headers.items() if name.lower() == wanted), "")


def _asks_for_no_credential(event: dict[str, Any]) -> bool:
    """Whether the gateway asks by the edge's header alone, as it does for the routes that anybody may call."""
    return len(event.get("identitySource") or ()) == 1
