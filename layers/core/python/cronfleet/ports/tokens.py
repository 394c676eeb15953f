"""Tokens of an identity provider, as the services need them checked."""

from collections.abc import Mapping
from typing import Any, Protocol


class Tokens(Protocol):
    """The installation's identity provider."""

    @property
    def credential(self) -> str:
        """What a token of it is called as a credential: `jwt:` and the provider's host."""
        ...

    def claims(self, token: str) -> Mapping[str, Any] | None:
        """What `token` says, or `None` unless the provider signed it, for this installation, and it holds now.

        Raises `NoAnswer` when the provider's keys cannot be had: that is not a refusal.
        """
        ...
