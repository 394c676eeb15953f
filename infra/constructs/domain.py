"""Domain: the API under a name of one's own."""

from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_route53 as route53
from constructs import Construct

from infra.config.api import Domain


class ApiDomain(Construct):
    """The name, the API behind it, and its record where a hosted zone is given.

    With a `truststore`, a connection is taken of those clients alone whose certificate one in it has signed.
    """

    def __init__(
        self, scope: Construct, construct_id: str, domain: Domain, stage: apigateway.CfnStage, truststore: str
    ) -> None:
        super().__init__(scope, construct_id)
        name = apigateway.CfnDomainName(
            self,
            "Name",
            domain_name=domain.name,
            domain_name_configurations=[
                apigateway.CfnDomainName.DomainNameConfigurationProperty(
                    certificate_arn=domain.certificate, endpoint_type="REGIONAL", security_policy="TLS_1_2"
                )
            ],
            mutual_tls_authentication=(
                apigateway.CfnDomainName.MutualTlsAuthenticationProperty(truststore_uri=truststore)
                if truststore
                else None
            ),
        )
        mapping = apigateway.CfnApiMapping(
            self, "Mapping", api_id=stage.api_id, domain_name=domain.name, stage=stage.stage_name
        )
        mapping.node.add_dependency(name, stage)
        if domain.hosted_zone:
            record(self, "Record", domain, name.attr_regional_domain_name, name.attr_regional_hosted_zone_id)


def record(scope: Construct, construct_id: str, domain: Domain, target: str, target_zone: str, kind: str = "A") -> None:
    """An alias record of the name in the domain's hosted zone."""
    route53.CfnRecordSet(
        scope,
        construct_id,
        hosted_zone_id=domain.hosted_zone,
        name=domain.name,
        type=kind,
        alias_target=route53.CfnRecordSet.AliasTargetProperty(dns_name=target, hosted_zone_id=target_zone),
    )
