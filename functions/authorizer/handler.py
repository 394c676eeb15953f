"""The authorizer: a key or a token in, tenant and role out. What fails here is an error of ours, never a permission."""

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
    credential = _service().credential_of(written)
    if credential is None:
        return {"isAuthorized": False}
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
