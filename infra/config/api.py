"""What the HTTP API takes, from whom, and under which name."""

import re
from dataclasses import dataclass
from typing import Final

from infra.config.context import ConfigError, Context

REQUESTS_PER_SECOND: Final = 500
BURST: Final = 1_000
PINGS_PER_SECOND: Final = 200
PING_BURST: Final = 400
"""A bucket of their own: whoever floods the one route that needs no key takes nothing from the others."""

MOST_REQUESTS: Final = 10_000
MOST_BURST: Final = 5_000
WHY_REQUESTS: Final = "which is what a new account may take in a region"

HOST: Final = r"([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}"
CERTIFICATE: Final = r"arn:aws[a-z-]*:acm:([a-z0-9-]+):\d{12}:certificate/[\w-]+"
HOSTED_ZONE: Final = r"Z[A-Z0-9]{1,31}"
TRUSTSTORE: Final = r"s3://[a-z0-9.-]+/\S+"
ORIGIN: Final = rf"\*|https://{HOST}(:\d+)?|http://(localhost|127\.0\.0\.1)(:\d+)?"


@dataclass(frozen=True, slots=True)
class Domain:
    """A name of one's own, its ACM certificate, and the Route 53 zone that gets a record of it (empty: none does)."""

    name: str
    certificate: str
    hosted_zone: str = ""


@dataclass(frozen=True, slots=True)
class Api:
    """Rates are requests a second, bursts what may come at one moment. `cors_origins` are web pages that may call it.

    `has_default_endpoint`: the address that API Gateway gives answers, as well or alone. `truststore` is the `s3://`
    address of the certificates of whose clients alone connections are taken; empty: of all.
    """

    requests_per_second: int
    burst: int
    pings_per_second: int
    ping_burst: int
    cors_origins: tuple[str, ...]
    domain: Domain | None
    has_default_endpoint: bool
    truststore: str


def api_of(context: Context) -> Api:
    """The choices under `api`."""
    domain = domain_of(context, "api.domain", context.text("region"))
    truststore = matching(context, "api.domain.truststore", TRUSTSTORE, "an address such as s3://BUCKET/clients.pem")
    if truststore and domain is None:
        raise ConfigError("context 'api.domain.truststore' without 'api.domain.name': write the name as well")
    if domain is None and not context.flag("api.domain.keep_default_endpoint", default=True):
        raise ConfigError(
            "context 'api.domain.keep_default_endpoint' is false without 'api.domain.name': write the name"
        )
    return Api(
        requests_per_second=context.number(
            "api.requests_per_second", REQUESTS_PER_SECOND, 1, MOST_REQUESTS, WHY_REQUESTS
        ),
        burst=context.number("api.burst", BURST, 1, MOST_BURST, WHY_REQUESTS),
        pings_per_second=context.number("api.pings_per_second", PINGS_PER_SECOND, 1, MOST_REQUESTS, WHY_REQUESTS),
        ping_burst=context.number("api.ping_burst", PING_BURST, 1, MOST_BURST, WHY_REQUESTS),
        cors_origins=_origins(context),
        domain=domain,
        has_default_endpoint=context.flag("api.domain.keep_default_endpoint", default=domain is None),
        truststore=truststore,
    )


def domain_of(context: Context, key: str, region: str) -> Domain | None:
    """The choices under `key`; its certificate has to lie in `region`, where that is known."""
    name = matching(context, f"{key}.name", HOST, "a host name such as schedules.example.com")
    certificate = matching(context, f"{key}.certificate", CERTIFICATE, "the ARN of an ACM certificate")
    zone = matching(context, f"{key}.hosted_zone", HOSTED_ZONE, "the id of a Route 53 hosted zone, such as Z0123456789")
    if bool(name) != bool(certificate) or (zone and not name):
        raise ConfigError(
            f"context '{key}.name' is {name!r} and '{key}.certificate' is {certificate!r}: write both, or neither"
        )
    found = re.fullmatch(CERTIFICATE, certificate)
    if found and region and found.group(1) != region:
        context.refuse(f"{key}.certificate", certificate, f"the ARN of a certificate in {region}")
    return Domain(name, certificate, zone) if name else None


def matching(context: Context, key: str, pattern: str, instead: str) -> str:
    """A piece of text of a certain form, or nothing."""
    text = context.text(key)
    if text and not re.fullmatch(pattern, text):
        context.refuse(key, text, f"{instead}, or leave it out")
    return text


def _origins(context: Context) -> tuple[str, ...]:
    origins = context.texts("api.cors.origins")
    for origin in origins:
        if not re.fullmatch(ORIGIN, origin):
            context.refuse("api.cors.origins", origin, "origins such as https://console.example.com, or * for all")
    return origins
