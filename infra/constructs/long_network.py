"""LongNetwork: where long workers run, and what they can reach from there. Nothing can reach them.

Without a NAT gateway, and so without a way to the internet, unless the installation wants one: AWS is reached through
endpoints inside the VPC.
"""

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Final

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.config.installation import Config
from infra.config.long_workers import ENDPOINTS, EXISTING, NAT, PUBLIC, Network
from infra.constructs.log_group import log_group
from infra.constructs.service_principal import acting_for_this_account

ZONES: Final = 2

QUARTER: Final = 2
"""By how many bits the prefix of a subnet is longer than that of its VPC: two for tasks, and two beside them."""

SERVICES: Final = {
    "Sqs": ec2.InterfaceVpcEndpointAwsService.SQS,
    "EcrApi": ec2.InterfaceVpcEndpointAwsService.ECR,
    "EcrImages": ec2.InterfaceVpcEndpointAwsService.ECR_DOCKER,
    "Logs": ec2.InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS,
    "Secrets": ec2.InterfaceVpcEndpointAwsService.SECRETS_MANAGER,
    "Events": ec2.InterfaceVpcEndpointAwsService.EVENTBRIDGE,
}
"""What a long worker uses besides DynamoDB and S3 (where ECR keeps the layers of images), whose endpoints cost nothing.
Each of these has a price by the hour and zone.
"""


class LongNetwork(Construct):
    """A VPC of its own, or one that is there; the subnets of the tasks, and a security group that lets nobody in."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        network = config.long_workers.network
        self.has_public_addresses = network.has_public_addresses
        if network.kind == EXISTING:
            self.vpc: ec2.IVpc = self._existing(network)
            self.subnets = ec2.SubnetSelection(subnets=self._subnets(network))
        else:
            self.vpc = self._new(config, network)
            self.subnets = ec2.SubnetSelection(subnet_group_name="tasks")
        self.security_groups = self._security_groups(network)
        if network.kind == ENDPOINTS:
            traced = {"Traces": ec2.InterfaceVpcEndpointAwsService.XRAY} if config.traces.goes_to_cloudwatch else {}
            self._add_endpoints({**SERVICES, **traced})

    def _existing(self, network: Network) -> ec2.IVpc:
        # By what is written down, and not by a look-up: the synthesis needs no credentials.
        return ec2.Vpc.from_vpc_attributes(
            self, "Vpc", vpc_id=network.vpc_id, availability_zones=list(network.availability_zones)
        )

    def _subnets(self, network: Network) -> list[ec2.ISubnet]:
        pairs = zip(network.subnet_ids, network.availability_zones, strict=True)
        return [
            ec2.Subnet.from_subnet_attributes(self, f"Subnet{number}", subnet_id=subnet, availability_zone=zone)
            for number, (subnet, zone) in enumerate(pairs)
        ]

    def _new(self, config: Config, network: Network) -> ec2.Vpc:
        kinds = {
            ENDPOINTS: ec2.SubnetType.PRIVATE_ISOLATED,
            PUBLIC: ec2.SubnetType.PUBLIC,
            NAT: ec2.SubnetType.PRIVATE_WITH_EGRESS,
        }
        # Of one size whatever else there is, and first: a subnet whose range changes is made anew before the old one
        # goes, in a range that the old one still has, so that the kind of a network could never be changed.
        size = IPv4Network(network.cidr).prefixlen + QUARTER
        subnets = [ec2.SubnetConfiguration(name="tasks", subnet_type=kinds[network.kind], cidr_mask=size)]
        if network.kind == NAT:
            subnets.append(ec2.SubnetConfiguration(name="nat", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=size))
        vpc = ec2.Vpc(
            self,
            "Vpc",
            vpc_name=f"{config.prefix}-long-workers",
            ip_addresses=ec2.IpAddresses.cidr(network.cidr),
            max_azs=ZONES,
            # One for all zones: what goes through it is what jobs do outside, and none of the product's own traffic.
            nat_gateways=1 if network.kind == NAT else 0,
            subnet_configuration=subnets,
            gateway_endpoints={
                "DynamoDb": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.DYNAMODB),
                "S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3),
            },
        )
        # What was refused is what is looked for when something cannot be reached; the rest would be paid for in vain.
        kept = log_group(self, "RefusedLogs", config, f"/aws/ecs/{config.prefix}-long-workers-refused")
        role = iam.Role(self, "RefusedRole", assumed_by=acting_for_this_account(self, "vpc-flow-logs.amazonaws.com"))
        vpc.add_flow_log(
            "Refused",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(kept, role),
            traffic_type=ec2.FlowLogTrafficType.REJECT,
        )
        return vpc

    def _security_groups(self, network: Network) -> list[ec2.ISecurityGroup]:
        if network.security_group_ids:
            return [
                ec2.SecurityGroup.from_security_group_id(self, f"Tasks{number}", one, mutable=False)
                for number, one in enumerate(network.security_group_ids)
            ]
        group = ec2.SecurityGroup(
            self,
            "Tasks",
            vpc=self.vpc,
            description="Long workers: nobody reaches them",
            allow_all_outbound=True,
        )
        return [group]

    def _add_endpoints(self, services: Mapping[str, ec2.InterfaceVpcEndpointAwsService]) -> None:
        group = ec2.SecurityGroup(
            self, "Endpoints", vpc=self.vpc, description="AWS, for long workers", allow_all_outbound=False
        )
        for tasks in self.security_groups:
            group.add_ingress_rule(tasks, ec2.Port.HTTPS, "from long workers")
        for name, service in services.items():
            ec2.InterfaceVpcEndpoint(
                self,
                name,
                vpc=self.vpc,
                service=service,
                subnets=self.subnets,
                security_groups=[group],
                open=False,
                private_dns_enabled=True,
            )
