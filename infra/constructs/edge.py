"""Edge: CloudFront in front of the API, with a firewall before it."""

from typing import Final, cast

import aws_cdk as cdk
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_cloudfront as cloudfront
from aws_cdk import aws_cloudfront_origins as origins
from constructs import Construct

from cronfleet.settings import EDGE_HEADER
from infra.config.api import Domain
from infra.config.edge import Edge
from infra.config.installation import Config
from infra.constructs.domain import record
from infra.constructs.edge_secret import secret_name
from infra.constructs.firewall import Firewall

VERSION_HEADER: Final = f"{EDGE_HEADER}-version"
HOST_HEADER: Final = "x-forwarded-host"
"""By it the API knows under which name it was called; CloudFront asks it under another."""

ORIGIN_SECONDS: Final = 30
"""The API's gateway gives up after as long."""

CLOUDFRONT_ZONE: Final = "Z2FDTNDATAQYW2"
"""The hosted zone of every distribution, as Route 53 has it."""


class EdgeDistribution(Construct):
    """The distribution: nothing is cached, all methods and headers go through, and each request shows the secret."""

    def __init__(
        self, scope: Construct, construct_id: str, config: Config, edge: Edge, api: Domain, firewall: Firewall
    ) -> None:
        super().__init__(scope, construct_id)
        self.distribution = cloudfront.Distribution(
            self,
            "Distribution",
            comment=f"{config.prefix}: the API",
            domain_names=[edge.domain.name],
            certificate=acm.Certificate.from_certificate_arn(self, "Certificate", edge.domain.certificate),
            minimum_protocol_version=cloudfront.SecurityPolicyProtocol.TLS_V1_2_2021,
            http_version=cloudfront.HttpVersion.HTTP2_AND_3,
            web_acl_id=firewall.arn,
            default_behavior=cloudfront.BehaviorOptions(
                origin=_origin(config, edge, api),
                allowed_methods=cloudfront.AllowedMethods.ALLOW_ALL,
                cache_policy=cloudfront.CachePolicy.CACHING_DISABLED,
                origin_request_policy=cloudfront.OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
                viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.HTTPS_ONLY,
            ),
        )
        if edge.client_certificate:
            self._show(edge.client_certificate)
        if edge.domain.hosted_zone:
            name = self.distribution.distribution_domain_name
            for kind in ("A", "AAAA"):
                record(self, f"Record{kind}", edge.domain, name, CLOUDFRONT_ZONE, kind)

    def _show(self, certificate: str) -> None:
        # The construct does not know this yet; the resource does.
        resource = cast("cloudfront.CfnDistribution", self.distribution.node.default_child)
        resource.add_property_override(
            "DistributionConfig.Origins.0.CustomOriginConfig.OriginMtlsConfig.ClientCertificateArn", certificate
        )


def _origin(config: Config, edge: Edge, api: Domain) -> origins.HttpOrigin:
    # CloudFormation puts the value in at the deployment: it stands in no template and no context.
    secret = cdk.SecretValue.secrets_manager(secret_name(config))
    return origins.HttpOrigin(
        api.name,
        protocol_policy=cloudfront.OriginProtocolPolicy.HTTPS_ONLY,
        origin_ssl_protocols=[cloudfront.OriginSslPolicy.TLS_V1_2],
        read_timeout=cdk.Duration.seconds(ORIGIN_SECONDS),
        custom_headers={
            EDGE_HEADER: secret.unsafe_unwrap(),
            # A changed secret is looked up only in a resource that changes as well.
            VERSION_HEADER: str(edge.secret_version),
            HOST_HEADER: edge.domain.name,
        },
    )
