"""`Tokens` of an OpenID Connect provider: JWTs, checked by PyJWT with algorithms that the installation has fixed."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import jwt

from cronfleet.adapters.oidc.key_set import KeySet
from cronfleet.ports.clock import SteadyClock
from cronfleet.settings import Oidc

LEEWAY_SECONDS: Final = 10
"""How far the provider's clock may be from ours; an end holds to the second all the same, where it is asked again."""

REQUIRED: Final = ("iss", "aud", "sub", "exp")


class OidcTokens:
    """Tokens of the provider that `oidc` names."""

    def __init__(self, oidc: Oidc, clock: SteadyClock) -> None:
        self._oidc = oidc
        self._keys = KeySet(oidc.issuer, oidc.jwks_url, clock)
        self.credential: str = f"jwt:{urlsplit(oidc.issuer).hostname}"

    def claims(self, token: str) -> Mapping[str, Any] | None:
        """See `Tokens.claims`. The algorithm is taken from the settings, and the token's must be one of them."""
        # What is wrong with a token is told to nobody; a nesting that no token has is wrong as well.
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError, RecursionError):
            return None
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in self._oidc.algorithms or not isinstance(key_id, str) or "crit" in header:
            return None
        key = self._keys.find(key_id)
        return None if key is None or key.algorithm_name != algorithm else self._verified(token, key, algorithm)

    def _verified(self, token: str, key: jwt.PyJWK, algorithm: str) -> Mapping[str, Any] | None:
        try:
            return jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=self._oidc.audience,
                issuer=self._oidc.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": list(REQUIRED)},
            )
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError):
            return None
