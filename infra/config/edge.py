"""CloudFront and WAF in front of the API: off unless the edge has a name."""

from dataclasses import dataclass
from typing import Final

from infra.config.api import CERTIFICATE, Api, Domain, domain_of, matching
from infra.config.context import ConfigError, Context

REGION: Final = "us-east-1"
"""Where CloudFront's certificates and firewalls lie, wherever the installation does."""

REQUESTS_PER_FIVE_MINUTES: Final = 10_000
FEWEST_REQUESTS: Final = 10
MOST_REQUESTS: Final = 2_000_000_000
WHY_REQUESTS: Final = "which is what a rule of WAF counts to"


@dataclass(frozen=True, slots=True)
class Edge:
    """`requests_per_five_minutes` is what one address may ask for, `client_certificate` what CloudFront shows the API.

    `secret_version` is raised to have CloudFront take up a new value of the secret between it and the API.
    """

    domain: Domain
    requests_per_five_minutes: int
    client_certificate: str
    secret_version: int


def edge_of(context: Context, api: Api) -> Edge | None:
    """The choices under `edge`; None without a name."""
    domain = domain_of(context, "edge.domain", REGION)
    client_certificate = matching(
        context, "edge.client_certificate", CERTIFICATE, f"the ARN of a client certificate in ACM in {REGION}"
    )
    requests = context.number(
        "edge.requests_per_five_minutes", REQUESTS_PER_FIVE_MINUTES, FEWEST_REQUESTS, MOST_REQUESTS, WHY_REQUESTS
    )
    version = context.number("edge.secret_version", 1, 1, 1_000_000)
    if domain is None:
        if client_certificate:
            raise ConfigError("context 'edge.client_certificate' without 'edge.domain.name': write the name as well")
        return None
    if api.domain is None or not context.text("region"):
        raise ConfigError(
            "context 'edge.domain.name' needs 'api.domain.name', under which CloudFront reaches the API, and 'region'"
        )
    if context.text("regions.tables_of"):
        raise ConfigError(
            f"context 'edge.domain.name' with 'regions.tables_of': the edge lies in {REGION}, whatever is behind "
            "it, and is the first one's; leave it out here, and point 'api.domain.name' here when this one takes over"
        )
    if domain.name == api.domain.name:
        context.refuse("edge.domain.name", domain.name, "another name than 'api.domain.name', which it asks itself")
    if api.has_default_endpoint:
        raise ConfigError(
            "context 'api.domain.keep_default_endpoint' is true with 'edge.domain.name': leave it out, or callers go "
            "around the edge"
        )
    if bool(client_certificate) != bool(api.truststore):
        raise ConfigError(
            "context 'edge.client_certificate' and 'api.domain.truststore' go together: the one is what CloudFront "
            "shows, the other who issued it; write both, or neither"
        )
    return Edge(domain, requests, client_certificate, version)
