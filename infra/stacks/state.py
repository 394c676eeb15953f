"""State: what must outlive every deployment, and so stands in a stack of its own."""

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.config.installation import Config
from infra.constructs.edge_secret import NewEdgeSecret
from infra.constructs.encryption_key import NewEncryptionKey, key_of
from infra.constructs.event_bus import NewEventBus
from infra.constructs.tables import Tables
from infra.stacks.environment import environment_of


class State(cdk.Stack):
    """The job store, and the bus of events. On AWS the stack refuses to be deleted; its tables stay even if it is."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(
            scope,
            construct_id,
            description="Cronfleet: the job store",
            termination_protection=config.tables.protected,
            env=environment_of(config),
        )
        # Also where the tables are another region's: there it is the key of the logs.
        key = self._key(config)
        if config.regions.makes_tables:
            Tables(self, "JobStore", config, key)
        # Here, because rules of others hang on it.
        NewEventBus(self, "EventBus", config)
        if config.edge is not None:
            # Here, because the edge knows it before the API asks for it.
            NewEdgeSecret(self, "EdgeSecret", config)
        cdk.CfnOutput(self, "TablePrefix", value=config.tables.prefix, description="Begins every table's name")

    def _key(self, config: Config) -> kms.IKey | None:
        if config.encryption.kind == "own":
            return NewEncryptionKey(self, "EncryptionKey", config).key
        return key_of(self, "EncryptionKey", config)
