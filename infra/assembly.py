"""The whole installation as a CDK app: four stacks that know each other and nothing of any AWS account."""

from collections.abc import Mapping
from typing import Final

import aws_cdk as cdk

from infra.config import APPLICATION, from_context
from infra.stacks.control_plane import ControlPlane
from infra.stacks.data_plane import DataPlane
from infra.stacks.observability import Observability
from infra.stacks.state import State

FLAGS: Final = {
    # What CloudFormation would refuse fails the synthesis, not the deployment.
    "@aws-cdk/core:validateAgainstDefaultRules": True,
    # A stack cannot take away what another still uses.
    "@aws-cdk/core:defaultCrossStackReferences": "strong",
    "@aws-cdk/aws-dynamodb:retainTableReplica": True,
    "@aws-cdk/aws-lambda:recognizeLayerVersion": True,
}


def build(context: Mapping[str, str], outdir: str | None = None) -> cdk.App:
    """The app for `context`, which is laid over what the CDK command line passed on."""
    app = cdk.App(context={**FLAGS, **context}, outdir=outdir, analytics_reporting=False)
    config = from_context(app.node.try_get_context)
    Observability(app, f"{config.prefix}-observability", config)
    state = State(app, f"{config.prefix}-state", config)
    data_plane = DataPlane(app, f"{config.prefix}-data-plane", config, state.job_store, state.event_bus)
    ControlPlane(
        app,
        f"{config.prefix}-control-plane",
        config,
        job_store=state.job_store,
        event_bus=state.event_bus,
        run_queues=data_plane.run_queues,
    )
    cdk.Tags.of(app).add("application", APPLICATION)
    if config.environment:
        cdk.Tags.of(app).add("environment", config.environment)
    return app
