"""What a function reads from its environment, as one frozen value.

Read once by each function's entry; nothing reads the environment on import. An error names every missing variable.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cronfleet.domain import shard
from cronfleet.domain.attempt_line import Lines
from cronfleet.domain.claiming import Claiming
from cronfleet.domain.hold import ANYWHERE, Here
from cronfleet.domain.run import LONG_QUEUE, Lane
from cronfleet.domain.shard import MAX_SHARDS
from cronfleet.domain.span import DEFAULT_LATE_SECONDS, DEFAULT_RATIO, Keeping
from cronfleet.domain.tenant import TIERS

TABLE_PREFIX: Final = "CRONFLEET_TABLE_PREFIX"
SHARDS: Final = "CRONFLEET_SHARDS"
CLAIMS: Final = "CRONFLEET_CLAIMS"
"""How claims and draws are written: `batched`, or `single` for an engine that cannot do it."""
TICK_QUEUE_URL: Final = "CRONFLEET_TICK_QUEUE_URL"
ERRAND_QUEUE_URL: Final = "CRONFLEET_ERRAND_QUEUE_URL"
RUN_QUEUE_URLS: Final = "CRONFLEET_RUN_QUEUE_URLS"
EVENT_BUS: Final = "CRONFLEET_EVENT_BUS"
WEBHOOK_ALLOWED_NETWORKS: Final = "CRONFLEET_WEBHOOK_ALLOWED_NETWORKS"
EMAIL_SENDER: Final = "CRONFLEET_EMAIL_SENDER"
EDGE_SECRET: Final = "CRONFLEET_EDGE_SECRET"  # noqa: S105 - the name of a variable
"""The name of the secret that shows that a request came through the installation's edge; empty: any way is fine."""
EDGE_HEADER: Final = "x-cronfleet-edge"
"""The header in which the edge shows that secret."""
INSTALLATION: Final = "CRONFLEET_INSTALLATION"
TARGET_CALLERS: Final = "CRONFLEET_TARGET_CALLERS"
TRUST_IS_ENFORCED: Final = "CRONFLEET_TRUST_IS_ENFORCED"
LONG_WORKERS: Final = "CRONFLEET_LONG_WORKERS"
STANDBY: Final = "CRONFLEET_STANDBY"
"""The name of the standby as which an installation is deployed: it is held until that is released."""

TRACES: Final = "CRONFLEET_TRACES"
"""Where spans go: a URL that takes OTLP/HTTP as JSON, `cloudwatch`, or nothing."""
TRACE_RATIO: Final = "CRONFLEET_TRACE_RATIO"
LATE_SECONDS: Final = "CRONFLEET_LATE_SECONDS"
LOG_SUCCESS_RATIO: Final = "CRONFLEET_LOG_SUCCESS_RATIO"
LOG_DETAILS: Final = "CRONFLEET_LOG_DETAILS"

CLOUDWATCH: Final = "cloudwatch"
"""The value of `TRACES` for the OTLP endpoint of the function's own region."""

OIDC_ISSUER: Final = "CRONFLEET_OIDC_ISSUER"
OIDC_AUDIENCE: Final = "CRONFLEET_OIDC_AUDIENCE"
OIDC_JWKS_URL: Final = "CRONFLEET_OIDC_JWKS_URL"
OIDC_ALGORITHMS: Final = "CRONFLEET_OIDC_ALGORITHMS"
OIDC_TENANT_CLAIM: Final = "CRONFLEET_OIDC_TENANT_CLAIM"
OIDC_ROLE_CLAIM: Final = "CRONFLEET_OIDC_ROLE_CLAIM"

FUNCTION_QUEUES: Final = (*TIERS, Lane.BACKFILL.value)
"""What there are worker functions of: the tiers, and the lane that yields to them."""

RUN_QUEUES: Final = (*FUNCTION_QUEUES, LONG_QUEUE)
"""What there are run queues of: those, and the one of what no function can carry."""

DEFAULT_SHARDS: Final = shard.DEFAULT_SHARDS
DEFAULT_TENANT_CLAIM: Final = "cronfleet_tenant"
DEFAULT_ROLE_CLAIM: Final = "cronfleet_role"
ALGORITHMS: Final = ("RS256", "ES256")
"""How tokens may be signed: with a key that only the identity provider has. An installation may leave one out."""


class SettingsError(RuntimeError):
    """The environment of a function is incomplete or wrong; the message says which variable and what to set."""


@dataclass(frozen=True, slots=True)
class Oidc:
    """The identity provider whose tokens are let in: who signs (`issuer`), for whom (`audience`), and how.

    `jwks_url` is where its keys are, or empty: then its discovery document says where.
    """

    issuer: str
    audience: str
    jwks_url: str = ""
    algorithms: tuple[str, ...] = ALGORITHMS
    tenant_claim: str = DEFAULT_TENANT_CLAIM
    role_claim: str = DEFAULT_ROLE_CLAIM


@dataclass(frozen=True, slots=True)
class Traces:
    """Where spans are delivered, of which runs, and whether each request is signed for AWS (`region`)."""

    endpoint: str
    keeping: Keeping
    region: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """One installation as a function sees it.

    `run_queue_urls` maps each tier, and `backfill`, to its queue's URL. `webhook_allowed_networks` are CIDR ranges that
    webhooks may reach although they are private, loopback or link-local; empty by default. `oidc` is there where
    tokens of an identity provider are let in besides API keys.
    """

    table_prefix: str
    shards: int = DEFAULT_SHARDS
    claiming: Claiming = Claiming.BATCHED
    tick_queue_url: str = ""
    run_queue_urls: Mapping[str, str] | None = None
    errand_queue_url: str = ""
    event_bus: str = ""
    """The name of the bus of lifecycle events; empty where nobody is told."""
    webhook_allowed_networks: tuple[str, ...] = ()
    email_sender: str = ""
    """Whom e-mails to channels come from, an identity verified in SES; empty: none is sent."""
    installation: str = ""
    """This installation's name in the external ids of tenants' roles; empty: no role is assumed."""
    target_callers: tuple[str, ...] = ()
    """The ARNs of the roles that assume those of tenants."""
    trust_is_enforced: bool = True
    """False on an emulator, where every role lets everybody in: then roles are not tried for that."""
    oidc: Oidc | None = None
    edge_secret: str = ""
    """The name of the secret between the edge and the API; empty where there is no edge."""
    has_long_workers: bool = False
    """Whether attempts may take hours."""
    here: Here = ANYWHERE
    traces: Traces | None = None
    """`None`: no span leaves this process, and nothing that makes them is imported."""
    lines: Lines = field(default_factory=Lines)
    log_region: str = ""
    log_group: str = ""
    log_stream: str = ""
    """Where this process's log goes, in CloudWatch Logs; empty where Lambda does not say."""


def _required(environment: Mapping[str, str], names: tuple[str, ...]) -> None:
    missing = [name for name in names if not environment.get(name)]
    if missing:
        raise SettingsError(
            f"set {', '.join(missing)} in the function's environment: the CDK app does so for each function"
        )


def _run_queue_urls(text: str) -> dict[str, str]:
    urls = json.loads(text)
    if not isinstance(urls, dict) or set(urls) != set(RUN_QUEUES):
        raise SettingsError(f"{RUN_QUEUE_URLS} must be a JSON object with one URL for each of {', '.join(RUN_QUEUES)}")
    return {str(name): str(url) for name, url in urls.items()}


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _flag(env: Mapping[str, str], name: str) -> bool:
    written = env.get(name) or "false"
    if written not in ("true", "false"):
        raise SettingsError(f"{name} is {written!r}: write true or false")
    return written == "true"


def _oidc(env: Mapping[str, str]) -> Oidc | None:
    issuer = env.get(OIDC_ISSUER, "")
    if not issuer:
        return None
    _required(env, (OIDC_AUDIENCE,))
    written = env.get(OIDC_ALGORITHMS) or ",".join(ALGORITHMS)
    algorithms = tuple(part.strip() for part in written.split(",") if part.strip())
    if not algorithms or not set(algorithms) <= set(ALGORITHMS):
        raise SettingsError(f"{OIDC_ALGORITHMS} is {written!r}: write one or both of {', '.join(ALGORITHMS)}")
    return Oidc(
        issuer,
        env[OIDC_AUDIENCE],
        env.get(OIDC_JWKS_URL, ""),
        algorithms,
        env.get(OIDC_TENANT_CLAIM) or DEFAULT_TENANT_CLAIM,
        env.get(OIDC_ROLE_CLAIM) or DEFAULT_ROLE_CLAIM,
    )


def _claiming(env: Mapping[str, str]) -> Claiming:
    written = env.get(CLAIMS) or Claiming.BATCHED.value
    if written not in list(Claiming):
        raise SettingsError(f"{CLAIMS} is {written!r}: write {' or '.join(Claiming)}")
    return Claiming(written)


def _traces(env: Mapping[str, str]) -> Traces | None:
    written = env.get(TRACES, "")
    if not written:
        return None
    keeping = Keeping(_ratio(env, TRACE_RATIO, DEFAULT_RATIO), _late_seconds(env))
    region = env.get("AWS_REGION", "")
    if written == CLOUDWATCH and region:
        return Traces(f"https://xray.{region}.amazonaws.com/v1/traces", keeping, region)
    if not written.startswith(("https://", "http://")):
        raise SettingsError(f"{TRACES} is {written!r}: write the URL of an OTLP endpoint for traces, or {CLOUDWATCH}")
    return Traces(written, keeping)


def _ratio(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name) or str(default)
    try:
        ratio = float(text)
    except ValueError:
        ratio = -1
    if not 0 <= ratio <= 1:
        raise SettingsError(f"{name} is {text!r}: write a number from 0 to 1, such as {default}")
    return ratio


def _late_seconds(env: Mapping[str, str]) -> int:
    text = env.get(LATE_SECONDS) or str(DEFAULT_LATE_SECONDS)
    if not text.isdecimal():
        raise SettingsError(f"{LATE_SECONDS} is {text!r}: write a whole number of seconds")
    return int(text)


METRICS_NAMESPACE: Final = "POWERTOOLS_METRICS_NAMESPACE"
"""As Powertools calls it."""


def namespace_of(prefix: str) -> str:
    """Under which name CloudWatch keeps the metrics of the installation whose names begin with `prefix`.

    Each has its own: two installations in one account would otherwise set off each other's alarms.
    """
    return prefix.capitalize()


def metrics_namespace(environment: Mapping[str, str] | None = None) -> str:
    """The namespace of this process's metrics: what it is told, since its tables may have another prefix than it."""
    env = os.environ if environment is None else environment
    return env.get(METRICS_NAMESPACE) or namespace_of(env.get(TABLE_PREFIX, "cronfleet"))


def from_environment(*needed: str, environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process; `needed` names the variables this function cannot do without.

    Raises `SettingsError` with every missing variable at once.
    """
    env = os.environ if environment is None else environment
    _required(env, (TABLE_PREFIX, *needed))
    shards = env.get(SHARDS, str(DEFAULT_SHARDS))
    if not shards.isdecimal() or not 1 <= int(shards) <= MAX_SHARDS:
        raise SettingsError(f"{SHARDS} is {shards!r}: write a whole number from 1 to {MAX_SHARDS}")
    return Settings(
        table_prefix=env[TABLE_PREFIX],
        shards=int(shards),
        claiming=_claiming(env),
        tick_queue_url=env.get(TICK_QUEUE_URL, ""),
        run_queue_urls=_run_queue_urls(env[RUN_QUEUE_URLS]) if env.get(RUN_QUEUE_URLS) else None,
        errand_queue_url=env.get(ERRAND_QUEUE_URL, ""),
        event_bus=env.get(EVENT_BUS, ""),
        webhook_allowed_networks=_listed(env.get(WEBHOOK_ALLOWED_NETWORKS, "")),
        email_sender=env.get(EMAIL_SENDER, ""),
        installation=env.get(INSTALLATION, ""),
        target_callers=_listed(env.get(TARGET_CALLERS, "")),
        trust_is_enforced=env.get(TRUST_IS_ENFORCED, "true") != "false",
        oidc=_oidc(env),
        edge_secret=env.get(EDGE_SECRET, ""),
        has_long_workers=_flag(env, LONG_WORKERS),
        here=Here(env.get("AWS_REGION", ""), env.get(STANDBY, "")),
        traces=_traces(env),
        lines=Lines(_ratio(env, LOG_SUCCESS_RATIO, 1.0), _late_seconds(env), env.get(LOG_DETAILS, "") == "true"),
        log_region=env.get("AWS_REGION", ""),
        log_group=env.get("AWS_LAMBDA_LOG_GROUP_NAME", ""),
        log_stream=env.get("AWS_LAMBDA_LOG_STREAM_NAME", ""),
    )
