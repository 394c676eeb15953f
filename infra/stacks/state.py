"""State: what must outlive every deployment, and so stands in a stack of its own."""

import aws_cdk as cdk
from constructs import Construct

from infra.config import Config
from infra.constructs.event_bus import EventBus
from infra.constructs.job_store import JobStore


class State(cdk.Stack):
    """The job store, and the bus of events. On AWS the stack refuses to be deleted; its tables stay even if it is."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(
            scope,
            construct_id,
            description="Cronfleet: the job store",
            termination_protection=not config.local,
        )
        self.job_store = JobStore(self, "JobStore", config)
        # Here, because rules of others hang on it.
        self.event_bus = EventBus(self, "EventBus", config)
        cdk.CfnOutput(self, "TablePrefix", value=config.prefix, description="Begins every table's name")
