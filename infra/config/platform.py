"""What an installation runs on: where, which Python, which processor."""

import platform
import re
import sys
from dataclasses import dataclass
from typing import Final, Literal

from infra.config.context import Context

Architecture = Literal["arm64", "x86_64"]

LAMBDA_PYTHON: Final = "3.14"
"""The newest Python that Lambda runs; every locked package has a wheel for it (decision 0002)."""

MACHINES: Final[dict[str, Architecture]] = {
    "aarch64": "arm64",
    "arm64": "arm64",
    "amd64": "x86_64",
    "x86_64": "x86_64",
}


@dataclass(frozen=True, slots=True)
class Platform:
    """`account` (twelve digits) and `region` are empty where those of the AWS profile are meant.

    `python` is a version such as `3.14`.
    """

    account: str
    region: str
    python: str
    architecture: Architecture


def platform_of(context: Context, *, local: bool) -> Platform:
    """Where it runs: on this machine with its own Python and processor, on AWS on arm64 with the newest."""
    return Platform(
        account=_account(context),
        region=_region(context),
        python=_python(context, _host_python() if local else LAMBDA_PYTHON),
        architecture=_architecture(context, local=local),
    )


def _account(context: Context) -> str:
    account = context.text("account")
    if account and not re.fullmatch(r"[0-9]{12}", account):
        context.refuse("account", account, "the twelve digits of an AWS account as text, or leave it out")
    return account


def _region(context: Context) -> str:
    region = context.text("region")
    if region and not re.fullmatch(r"[a-z]{2}(-[a-z]+)+-\d", region):
        context.refuse("region", region, "an AWS region such as eu-central-1, or leave it out")
    return region


def _python(context: Context, default: str) -> str:
    version = context.text("python") or default
    if not re.fullmatch(r"3\.(1[1-9]|[2-9][0-9])", version):
        context.refuse("python", version, f"a version that Lambda runs, such as {LAMBDA_PYTHON}")
    return version


def _architecture(context: Context, *, local: bool) -> Architecture:
    machine = context.text("architecture") or (platform.machine().lower() if local else "arm64")
    if machine not in MACHINES:
        context.refuse("architecture", machine, "arm64 or x86_64")
    return MACHINES[machine]


def _host_python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"
