"""Authorizer: turns the credential of a request into tenant, tier and role."""

from typing import Final

from constructs import Construct

from cronfleet import settings
from cronfleet.adapters.dynamodb import schema
from infra.config.installation import Config
from infra.constructs.code import Code
from infra.constructs.edge_secret import grant_edge_secret, secret_name
from infra.constructs.function import Function, Part, Size
from infra.constructs.job_store import APPEND, LOOK_UP, UPDATE, JobStore
from infra.constructs.rollout import Shift

SIZE: Final = Size(memory_mb=512, timeout_seconds=10)
"""The gateway waits ten seconds for an authorizer and no longer."""


class Authorizer(Function):
    """The function, and the right to look a key up and to note its use."""

    def __init__(self, scope: Construct, construct_id: str, config: Config, code: Code, job_store: JobStore) -> None:
        environment = {**config.oidc, settings.EDGE_SECRET: "" if config.edge is None else secret_name(config)}
        part = Part("authorizer", SIZE, environment=environment, shift=Shift.CANARY)
        super().__init__(scope, construct_id, config, code, part)
        if config.edge is not None:
            grant_edge_secret(self.role, config)
        # A key's last use is noted, and a key of the first release put into its tenant's list.
        job_store.grant(self.role, schema.TENANTS, LOOK_UP + UPDATE + APPEND)
