"""What one installation may choose, read from the CDK context and nothing else: no credentials, no look-ups.

`cdk synth -c environment=staging -c shards=128`, or the same flags of `python -m infra.app`.
"""

import platform
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from cronfleet.domain.shard import MAX_SHARDS
from cronfleet.settings import DEFAULT_SHARDS

Architecture = Literal["arm64", "x86_64"]

APPLICATION: Final = "cronfleet"
LAMBDA_PYTHON: Final = "3.14"
"""The newest Python that Lambda runs; every locked package has a wheel for it (decision 0002)."""

LOCAL_SHARDS: Final = 2
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
    """

    environment: str
    local: bool
    shards: int
    python: str
    architecture: Architecture
    webhook_allowed_networks: str

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
    )


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
