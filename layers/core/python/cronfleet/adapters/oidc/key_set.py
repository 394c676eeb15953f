"""The key set of the identity provider: fetched rarely, kept for long, and not for everybody who sends junk."""

import contextlib
from collections.abc import Mapping
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from cronfleet.adapters.oidc.fetching import fetch
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.ports.clock import SteadyClock
from cronfleet.ports.job_store import NoAnswer

FRESH_FOR: Final = HOUR
"""How long the keys are used before they are fetched again."""
USED_FOR: Final = 24 * HOUR
"""How long they are used while the provider gives no answer."""
UNKNOWN_EVERY: Final = MINUTE
"""A token that names an unknown key has the keys fetched again, at most once in this time: whoever invents names of
keys causes no storm of fetches.
"""
RETRY_EVERY: Final = 10 * SECOND
"""How long a provider that gave no answer is left alone."""

MAX_KEYS: Final = 32
LEAST_RSA_BITS: Final = 2_048


class KeySet:
    """The provider's public keys by their ids. One per process."""

    def __init__(self, issuer: str, jwks_url: str, clock: SteadyClock) -> None:
        self._issuer = issuer
        self._jwks_url = jwks_url
        self._clock = clock
        self._keys: Mapping[str, jwt.PyJWK] = {}
        self._fetched_at: int | None = None
        self._tried_at: int | None = None

    def find(self, key_id: str) -> jwt.PyJWK | None:
        """The key of this id. Raises `NoAnswer` while there are no keys, or none that may still be used."""
        if self._age() >= FRESH_FOR:
            self._renew()
        if key_id not in self._keys and self._since_try() >= UNKNOWN_EVERY:
            with contextlib.suppress(NoAnswer):
                self._fetch()
        return self._keys.get(key_id)

    def _renew(self) -> None:
        may_be_used = self._age() < USED_FOR
        if self._since_try() < RETRY_EVERY:
            if may_be_used:
                return
            raise NoAnswer(f"the keys of {self._issuer} could not be fetched a moment ago")
        try:
            self._fetch()
        except NoAnswer:
            if not may_be_used:
                raise

    def _fetch(self) -> None:
        self._tried_at = self._clock.steady()
        url = self._jwks_url or self._discovered()
        self._keys = _keys_in(fetch(url))
        self._fetched_at = self._tried_at

    def _discovered(self) -> str:
        """Where the provider says that its keys are."""
        url = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
        said = fetch(url)
        if said.get("issuer") != self._issuer or not isinstance(said.get("jwks_uri"), str):
            raise NoAnswer(f"{url} is of another issuer, or names no jwks_uri")
        return str(said["jwks_uri"])

    def _age(self) -> int:
        return USED_FOR if self._fetched_at is None else self._clock.steady() - self._fetched_at

    def _since_try(self) -> int:
        return UNKNOWN_EVERY if self._tried_at is None else self._clock.steady() - self._tried_at


def _keys_in(document: Mapping[str, Any]) -> Mapping[str, jwt.PyJWK]:
    """Keys that verify signatures; those of other kinds and uses are left out. `NoAnswer` where there is none."""
    written = document.get("keys")
    found: dict[str, jwt.PyJWK] = {}
    for one in written[:MAX_KEYS] if isinstance(written, list) else ():
        if isinstance(one, dict) and isinstance(one.get("kid"), str) and one.get("use", "sig") == "sig":
            with contextlib.suppress(jwt.PyJWTError, ValueError, TypeError):
                key = jwt.PyJWK.from_dict(one)
                if _is_strong(key):
                    found[one["kid"]] = key
    if not found:
        raise NoAnswer("the identity provider's key set holds no key that can be used")
    return found


def _is_strong(key: jwt.PyJWK) -> bool:
    if key.key_type == "RSA":
        return isinstance(key.key, RSAPublicKey) and key.key.key_size >= LEAST_RSA_BITS
    return key.key_type == "EC"
