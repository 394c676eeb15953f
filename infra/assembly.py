"""The whole installation as a CDK app: its stacks, which know each other and nothing of any AWS account."""

from collections.abc import Mapping
from typing import Final

import aws_cdk as cdk

from infra import nag
from infra.config.installation import APPLICATION, from_context
from infra.stacks.control_plane import ControlPlane
from infra.stacks.data_plane import DataPlane
from infra.stacks.edge import EdgeStack
from infra.stacks.long_workers import LongWorkersStack
from infra.stacks.observability import Observability
from infra.stacks.state import State

FLAGS: Final = {
    # What CloudFormation would refuse fails the synthesis, not the deployment.
    "@aws-cdk/core:validateAgainstDefaultRules": True,
    "@aws-cdk/aws-dynamodb:retainTableReplica": True,
    "@aws-cdk/aws-lambda:recognizeLayerVersion": True,
}


def build(context: Mapping[str, object], outdir: str | None = None) -> cdk.App:
    """The app for `context`; what the CDK command line passes on is laid over it."""
    app = cdk.App(context={**FLAGS, **context}, outdir=outdir, analytics_reporting=False)
    config = from_context(app.node.get_all_context())
    observability = Observability(app, f"{config.prefix}-observability", config)
    state = State(app, f"{config.prefix}-state", config)
    data_plane = DataPlane(app, f"{config.prefix}-data-plane", config)
    control_plane = ControlPlane(app, f"{config.prefix}-control-plane", config)
    # They know each other by names alone, so nothing but this says which comes first.
    state.add_stack_dependency(observability)
    data_plane.add_stack_dependency(state)
    control_plane.add_stack_dependency(data_plane)
    control_plane.add_stack_dependency(state)
    if config.long_workers.enabled and not config.local:
        long_workers = LongWorkersStack(app, f"{config.prefix}-long-workers", config)
        long_workers.add_stack_dependency(data_plane)
        long_workers.add_stack_dependency(state)
    if config.edge is not None and config.api.domain is not None:
        edge = EdgeStack(app, f"{config.prefix}-edge", config, config.edge, config.api.domain)
        edge.add_stack_dependency(state)
        # The API asks for what the edge shows: not before it is shown.
        control_plane.add_stack_dependency(edge)
    cdk.Tags.of(app).add("application", APPLICATION)
    if config.environment:
        cdk.Tags.of(app).add("environment", config.environment)
    if not config.local:
        nag.check(app, config)
    return app
