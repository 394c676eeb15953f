"""Edge: CloudFront and WAF, in the region where those of all the world are described."""

import aws_cdk as cdk
from constructs import Construct

from infra.config import edge
from infra.config.api import Domain
from infra.config.installation import Config
from infra.constructs.edge import EdgeDistribution
from infra.constructs.firewall import Firewall


class EdgeStack(cdk.Stack):
    """The way in. It knows the API by its domain name, and the secret between them by its name."""

    def __init__(self, scope: Construct, construct_id: str, config: Config, chosen: edge.Edge, api: Domain) -> None:
        environment = cdk.Environment(account=config.platform.account or None, region=edge.REGION)
        super().__init__(scope, construct_id, description="Cronfleet: CloudFront and WAF", env=environment)
        firewall = Firewall(self, "Firewall", config, chosen)
        way_in = EdgeDistribution(self, "Edge", config, chosen, api, firewall)
        cdk.CfnOutput(self, "DistributionDomain", value=way_in.distribution.distribution_domain_name)
        cdk.CfnOutput(self, "EdgeEndpoint", value=f"https://{chosen.domain.name}")
