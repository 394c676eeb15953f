"""Long workers: jobs of hours, on Fargate. For installations that have such jobs, and not on the emulator."""

import aws_cdk as cdk
from constructs import Construct

from infra.config.installation import Config
from infra.constructs.long_network import ZONES, LongNetwork
from infra.constructs.long_worker import LongWorker
from infra.stacks.environment import environment_of


class LongWorkersStack(cdk.Stack):
    """The network, the cluster, and the service that takes from the queue of long runs."""

    @property
    def availability_zones(self) -> list[str]:
        """Those of the region at the deployment: looked up at the synthesis they would need credentials."""
        zones = cdk.Fn.get_azs()
        return [cdk.Fn.select(number, zones) for number in range(ZONES)]

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id, description="Cronfleet: long workers", env=environment_of(config))
        network = LongNetwork(self, "Network", config)
        worker = LongWorker(self, "LongWorker", config, network)
        cdk.CfnOutput(self, "Cluster", value=worker.cluster.cluster_name, description="The cluster of long workers")
        cdk.CfnOutput(self, "Service", value=worker.service.service_name, description="The service of long workers")
