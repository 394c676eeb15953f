"""The authorizer: an API key in, a tenant out. What fails here is an error of ours, and never a permission."""

import functools
from typing import Any

from cronfleet import bootstrap
from cronfleet.services.access import Access
from cronfleet.settings import from_environment


@functools.cache
def _service() -> Access:
    return bootstrap.access(from_environment())


def handle(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Answers the HTTP API in its simple form. Raises when the store is silent: the gateway makes it a 500."""
    headers = event.get("headers") or {}
    written = next((value for name, value in headers.items() if name.lower() == "authorization"), "")
    key = _service().key_of(written)
    if key is None:
        return {"isAuthorized": False}
    context = {"tenant": key.tenant.tenant_id, "tier": key.tenant.tier, "key_id": key.key_id}
    return {"isAuthorized": True, "context": context}
