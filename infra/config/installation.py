"""What one installation may choose, read from the CDK context and nothing else: no credentials, no look-ups.

`make synth ENV=prod`, or `python -m infra.app -c environment=prod -c shards=128`; docs/deploy.md names every choice.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Final

from cronfleet.domain.claiming import Claiming
from cronfleet.domain.shard import MAX_SHARDS
from cronfleet.settings import DEFAULT_SHARDS
from infra.config.alarms import Alarms, alarms_of
from infra.config.api import HOST, Api, api_of, matching
from infra.config.context import Context
from infra.config.edge import Edge, edge_of
from infra.config.encryption import Encryption, encryption_of
from infra.config.identity import oidc_of
from infra.config.logs import Logs, logs_of
from infra.config.long_workers import LongWorkers, long_workers_of
from infra.config.platform import Architecture, Platform, platform_of
from infra.config.regions import Regions, regions_of
from infra.config.rollout import Rollout, rollout_of
from infra.config.tables import Tables, tables_of
from infra.config.targets import installation_of
from infra.config.traces import Traces, traces_of
from infra.config.triggers import Triggers, triggers_of

APPLICATION: Final = "cronfleet"
LOCAL_SHARDS: Final = 2
LOOPBACK: Final = "127.0.0.0/8,::1/128"

NAME: Final = r"[a-z][a-z0-9-]{0,31}"
"""The longest name that is made of it, of a dead-letter queue, stays far below the 64 characters of a function's."""

RESERVED: Final = ("aws", "ssm")
"""How no parameter of Systems Manager may begin; there the key of an installation is written down."""

ADDRESS: Final = rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{HOST}"


@dataclass(frozen=True, slots=True)
class Config:
    """One installation of Cronfleet.

    `local` is the emulator on the developer's machine: host Python and processor, tables that may be deleted.
    `prefix` begins every physical name, e.g. `cronfleet` or `cronfleet-prod`.
    `installation` names it in the external ids that tenants' roles ask for.
    `webhook_allowed_networks` are comma-separated CIDR ranges.
    `oidc` is what the authorizer reads of an identity provider from its environment; all of it is empty without one.
    """

    environment: str
    local: bool
    prefix: str
    platform: Platform
    shards: int
    claiming: Claiming
    webhook_allowed_networks: str
    email_sender: str
    installation: str
    oidc: Mapping[str, str]
    tables: Tables
    encryption: Encryption
    triggers: Triggers
    logs: Logs
    long_workers: LongWorkers
    alarms: Alarms
    regions: Regions
    traces: Traces
    rollout: Rollout
    api: Api
    edge: Edge | None

    @property
    def python(self) -> str:
        """The version of Python that the functions run on."""
        return self.platform.python

    @property
    def architecture(self) -> Architecture:
        """The processor that they run on."""
        return self.platform.architecture

    @property
    def worker_concurrency(self) -> Mapping[str, int]:
        """How many runs of each queue go on at once at most; one that is not named has no limit of its own."""
        most = {name: trigger.max_concurrency for name, trigger in self.triggers.workers.items()}
        return {name: number for name, number in most.items() if number is not None}

    @property
    def wheel_platform(self) -> str | None:
        """The platform whose wheels the functions need, in uv's words; None means this machine's own."""
        if self.local:
            return None
        return {"arm64": "aarch64-manylinux_2_28", "x86_64": "x86_64-manylinux_2_28"}[self.architecture]


def from_context(values: Mapping[str, object]) -> Config:
    """The installation that the context describes. Raises `ConfigError`, also for a name that means nothing."""
    context = Context(values)
    config = read(context)
    context.require_all_read()
    return config


def read(context: Context) -> Config:
    """The same without a look at names that mean nothing."""
    local, environment = context.flag("local"), _environment(context)
    prefix = _prefix(context)
    shards = context.number("shards", LOCAL_SHARDS if local else DEFAULT_SHARDS, 1, MAX_SHARDS)
    api = api_of(context)
    return Config(
        environment=environment,
        local=local,
        prefix=prefix,
        platform=platform_of(context, local=local),
        shards=shards,
        claiming=Claiming(context.one_of("claims", Claiming.BATCHED, list(Claiming))),
        webhook_allowed_networks=_networks(context) or (LOOPBACK if local else ""),
        email_sender=matching(context, "email_sender", ADDRESS, "an address such as alerts@example.com, and no name"),
        installation=installation_of(context, prefix),
        oidc=oidc_of(context),
        tables=tables_of(context, local=local, prefix=prefix),
        encryption=encryption_of(context),
        triggers=triggers_of(context, local=local, shards=shards),
        logs=logs_of(context, local=local),
        long_workers=long_workers_of(context, local=local),
        alarms=alarms_of(context),
        regions=regions_of(context, local=local),
        traces=traces_of(context, local=local),
        rollout=rollout_of(context, local=local),
        api=api,
        edge=edge_of(context, api),
    )


def _environment(context: Context) -> str:
    name = context.environment
    if name and not re.fullmatch(r"[a-z][a-z0-9-]{0,19}", name):
        context.refuse("environment", name, "at most 20 small letters, digits and hyphens")
    return name


def _networks(context: Context) -> str:
    found = context.texts("webhook_allowed_networks")
    for one in found:
        try:
            ip_network(one, strict=False)
        except ValueError:
            context.refuse("webhook_allowed_networks", one, "CIDR ranges such as 10.0.0.0/8")
    return ",".join(found)


def _prefix(context: Context) -> str:
    default = f"{APPLICATION}-{context.environment}" if context.environment else APPLICATION
    name = context.text("name") or default
    if not re.fullmatch(NAME, name):
        context.refuse("name", name, "at most 32 small letters, digits and hyphens")
    if name.startswith(RESERVED):
        context.refuse("name", name, f"one that does not begin with {' or '.join(RESERVED)}: those are AWS's")
    return name
