"""What one installation may choose, read from the CDK context and nothing else: no credentials, no look-ups.

`cdk synth -c environment=staging -c shards=128`, or the same flags of `python -m infra.app`.
"""

import platform
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from cronfleet.domain.shard import MAX_SHARDS
from cronfleet.settings import (
    ALGORITHMS,
    DEFAULT_ROLE_CLAIM,
    DEFAULT_SHARDS,
    DEFAULT_TENANT_CLAIM,
    OIDC_ALGORITHMS,
    OIDC_AUDIENCE,
    OIDC_ISSUER,
    OIDC_JWKS_URL,
    OIDC_ROLE_CLAIM,
    OIDC_TENANT_CLAIM,
    RUN_QUEUES,
)

Architecture = Literal["arm64", "x86_64"]

APPLICATION: Final = "cronfleet"
LAMBDA_PYTHON: Final = "3.14"
"""The newest Python that Lambda runs; every locked package has a wheel for it (decision 0002)."""

LOCAL_SHARDS: Final = 2
DEFAULT_CONCURRENCY: Final = {"standard": 500, "priority": 300, "backfill": 50}
"""Runs of each queue at once. A new account has 1,000 in all: the rest is for the functions that decide."""
LOCAL_CONCURRENCY: Final = {"backfill": 2}
"""On one machine what yields to live traffic leaves it the processor."""
FEWEST_WORKERS: Final = 2
MOST_WORKERS: Final = 1_000

LOOPBACK: Final = "127.0.0.0/8,::1/128"
MACHINES: Final[dict[str, Architecture]] = {
    "aarch64": "arm64",
    "arm64": "arm64",
    "amd64": "x86_64",
    "x86_64": "x86_64",
}


class ConfigError(ValueError):
    """A context value is wrong; the message names it and says what to write instead."""


@dataclass(frozen=True, slots=True)
class Config:
    """One installation of Cronfleet.

    `local` is the emulator on the developer's machine: host Python and processor, tables that may be deleted.
    `python` is a version such as `3.14`. `webhook_allowed_networks` are comma-separated CIDR ranges.
    `worker_concurrency` is how many runs of each queue go on at once at most; one that is not named has no limit.
    `oidc` is what the authorizer reads of an identity provider from its environment; all of it is empty without one.
    """

    environment: str
    local: bool
    shards: int
    python: str
    architecture: Architecture
    webhook_allowed_networks: str
    email_sender: str
    worker_concurrency: Mapping[str, int]
    oidc: Mapping[str, str]

    @property
    def prefix(self) -> str:
        """The beginning of every physical name, e.g. `cronfleet` or `cronfleet-staging`."""
        return f"{APPLICATION}-{self.environment}" if self.environment else APPLICATION

    @property
    def wheel_platform(self) -> str | None:
        """The platform whose wheels the functions need, in uv's words; None means this machine's own."""
        if self.local:
            return None
        return {"arm64": "aarch64-manylinux_2_28", "x86_64": "x86_64-manylinux_2_28"}[self.architecture]


def from_context(value_of: Callable[[str], object]) -> Config:
    """The installation that the context describes; `value_of` answers None for what is not set."""
    local = _flag(value_of, "local")
    return Config(
        environment=_environment(value_of("environment")),
        local=local,
        shards=_shards(value_of("shards"), LOCAL_SHARDS if local else DEFAULT_SHARDS),
        python=_python(value_of("python"), _host_python() if local else LAMBDA_PYTHON),
        architecture=_architecture(value_of("architecture"), local=local),
        webhook_allowed_networks=str(value_of("webhook_allowed_networks") or (LOOPBACK if local else "")),
        email_sender=str(value_of("email_sender") or ""),
        worker_concurrency=_worker_concurrency(value_of, local=local),
        oidc=_oidc(value_of),
    )


OIDC: Final[dict[str, tuple[str, str]]] = {
    "oidc_issuer": (OIDC_ISSUER, ""),
    "oidc_audience": (OIDC_AUDIENCE, ""),
    "oidc_jwks_url": (OIDC_JWKS_URL, ""),
    "oidc_algorithms": (OIDC_ALGORITHMS, ",".join(ALGORITHMS)),
    "oidc_tenant_claim": (OIDC_TENANT_CLAIM, DEFAULT_TENANT_CLAIM),
    "oidc_role_claim": (OIDC_ROLE_CLAIM, DEFAULT_ROLE_CLAIM),
}
"""Context value → the setting that it becomes, and what stands there where it is left out."""


def _oidc(value_of: Callable[[str], object]) -> dict[str, str]:
    given = {name: str(value_of(name) or "") for name in OIDC}
    if not given["oidc_issuer"]:
        lost = [name for name, value in given.items() if value]
        if lost:
            raise ConfigError(
                f"context {', '.join(lost)} without oidc_issuer: write the issuer as well, or none of them"
            )
        return {setting: "" for setting, _ in OIDC.values()}
    if not given["oidc_audience"]:
        raise ConfigError("context 'oidc_audience' is missing: without it, tokens for any application would be let in")
    for name in ("oidc_issuer", "oidc_jwks_url"):
        if given[name] and not re.fullmatch(r"(https://|http://(127\.0\.0\.1|localhost)[:/])\S+", given[name]):
            raise ConfigError(f"context {name!r} is {given[name]!r}: write an https URL")
    unknown = {part.strip() for part in given["oidc_algorithms"].split(",") if part.strip()} - set(ALGORITHMS)
    if unknown:
        raise ConfigError(
            f"context 'oidc_algorithms' has {', '.join(sorted(unknown))}: write {' or '.join(ALGORITHMS)}"
        )
    return {setting: given[name] or default for name, (setting, default) in OIDC.items()}


def _worker_concurrency(value_of: Callable[[str], object], *, local: bool) -> dict[str, int]:
    chosen = {name: value_of(f"{name}_concurrency") for name in RUN_QUEUES}
    if local:
        chosen = {name: value for name, value in chosen.items() if value is not None or name in LOCAL_CONCURRENCY}
    defaults = LOCAL_CONCURRENCY if local else DEFAULT_CONCURRENCY
    return {name: _concurrency(name, value or defaults[name]) for name, value in chosen.items()}


def _concurrency(name: str, value: object) -> int:
    text = str(value)
    if not text.isdecimal() or not FEWEST_WORKERS <= int(text) <= MOST_WORKERS:
        raise ConfigError(
            f"context '{name}_concurrency' is {text!r}: write a whole number from {FEWEST_WORKERS} to {MOST_WORKERS}, "
            "which is what a queue's trigger takes"
        )
    return int(text)


def _flag(value_of: Callable[[str], object], name: str) -> bool:
    value = str(value_of(name) or "false").lower()
    if value not in {"true", "false"}:
        raise ConfigError(f"context {name!r} is {value!r}: write true or false")
    return value == "true"


def _environment(value: object) -> str:
    name = str(value or "")
    if name and not re.fullmatch(r"[a-z][a-z0-9-]{0,19}", name):
        raise ConfigError(f"context 'environment' is {name!r}: write at most 20 small letters, digits and hyphens")
    return name


def _shards(value: object, default: int) -> int:
    text = str(value or default)
    if not text.isdecimal() or not 1 <= int(text) <= MAX_SHARDS:
        raise ConfigError(f"context 'shards' is {text!r}: write a whole number from 1 to {MAX_SHARDS}")
    return int(text)


def _python(value: object, default: str) -> str:
    version = str(value or default)
    if not re.fullmatch(r"3\.\d+", version):
        raise ConfigError(f"context 'python' is {version!r}: write a version that Lambda runs, such as {LAMBDA_PYTHON}")
    return version


def _architecture(value: object, *, local: bool) -> Architecture:
    machine = str(value or (platform.machine().lower() if local else "arm64"))
    if machine not in MACHINES:
        raise ConfigError(f"context 'architecture' is {machine!r}: write arm64 or x86_64")
    return MACHINES[machine]


def _host_python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"
