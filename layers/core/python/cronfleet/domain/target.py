"""Targets: what a run calls. The set is open: a new kind is one dataclass here and one adapter."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class HandlerTarget:
    """A Python function registered by `name` with `cronfleet.sdk.handler`."""

    name: str


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """An HTTPS request, signed as Standard Webhooks asks with the key that `secret` refers to."""

    url: str
    secret: str | None = None


@dataclass(frozen=True, slots=True)
class LambdaTarget:
    """A Lambda function, by name or ARN, invoked and waited for."""

    function: str


Target: TypeAlias = HandlerTarget | WebhookTarget | LambdaTarget
