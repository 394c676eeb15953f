"""The identity provider whose tokens the authorizer lets in besides API keys."""

import re
from typing import Final

from cronfleet.settings import (
    ALGORITHMS,
    DEFAULT_ROLE_CLAIM,
    DEFAULT_TENANT_CLAIM,
    OIDC_ALGORITHMS,
    OIDC_AUDIENCE,
    OIDC_ISSUER,
    OIDC_JWKS_URL,
    OIDC_ROLE_CLAIM,
    OIDC_TENANT_CLAIM,
)
from infra.config.context import ConfigError, Context

OIDC: Final[dict[str, tuple[str, str]]] = {
    "oidc.issuer": (OIDC_ISSUER, ""),
    "oidc.audience": (OIDC_AUDIENCE, ""),
    "oidc.jwks_url": (OIDC_JWKS_URL, ""),
    "oidc.algorithms": (OIDC_ALGORITHMS, ",".join(ALGORITHMS)),
    "oidc.tenant_claim": (OIDC_TENANT_CLAIM, DEFAULT_TENANT_CLAIM),
    "oidc.role_claim": (OIDC_ROLE_CLAIM, DEFAULT_ROLE_CLAIM),
}
"""Context value → the setting that it becomes, and what stands there where it is left out."""


def oidc_of(context: Context) -> dict[str, str]:
    """What the authorizer reads of an identity provider from its environment; all of it is empty without one."""
    # Of a list in cdk.json and of text with commas the same is made.
    given = {name: ",".join(context.texts(name)) for name in OIDC}
    if not given["oidc.issuer"]:
        lost = [name for name, value in given.items() if value]
        if lost:
            raise ConfigError(
                f"context {', '.join(lost)} without oidc.issuer: write the issuer as well, or none of them"
            )
        return {setting: "" for setting, _ in OIDC.values()}
    _require_trust(context, given)
    return {setting: given[name] or default for name, (setting, default) in OIDC.items()}


def _require_trust(context: Context, given: dict[str, str]) -> None:
    if not given["oidc.audience"]:
        raise ConfigError("context 'oidc.audience' is missing: without it, tokens for any application would be let in")
    for name in ("oidc.issuer", "oidc.jwks_url"):
        if given[name] and not re.fullmatch(r"(https://|http://(127\.0\.0\.1|localhost)[:/])\S+", given[name]):
            context.refuse(name, given[name], "an https URL")
    unknown = set(context.texts("oidc.algorithms")) - set(ALGORITHMS)
    if unknown:
        context.refuse("oidc.algorithms", given["oidc.algorithms"], " or ".join(ALGORITHMS))
