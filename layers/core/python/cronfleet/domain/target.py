"""Targets: what a run calls. The set is open: a new kind is one dataclass here and one adapter."""

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

LAMBDA_FUNCTION: Final = re.compile(
    r"(arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:)?cronfleet-target-[A-Za-z0-9_-]{1,48}"
    r"(:[A-Za-z0-9$_-]{1,128})?",
    re.ASCII,
)
"""What a worker may invoke: an installation opts a function in by its name. A version or alias may follow."""


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
