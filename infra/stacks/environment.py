"""Which account and region a stack goes to."""

import aws_cdk as cdk

from infra.config.installation import Config


def environment_of(config: Config) -> cdk.Environment:
    """Those of the configuration; what it leaves out is that of the AWS profile at the time of the deployment."""
    return cdk.Environment(account=config.platform.account or None, region=config.platform.region or None)
