"""Observability: alarms and dashboard. Made of names alone, so it depends on no other stack and none depends on it."""

import aws_cdk as cdk
from constructs import Construct

from infra.alarms import alarms
from infra.config.installation import Config
from infra.constructs.alarm import Alarm
from infra.constructs.dashboard import Dashboard
from infra.metrics import Metric
from infra.stacks.environment import environment_of


class Observability(cdk.Stack):
    """Every alarm of `infra/alarms.py`, and the dashboard of `infra/dashboard.py`."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id, description="Cronfleet: alarms and dashboard", env=environment_of(config))
        there = [
            Alarm(self, _id_of(spec.name), config, spec).alarm
            for spec in alarms(config)
            # The emulator takes no alarm on an expression; the local stack judges those by itself.
            if not config.local or isinstance(spec.metric, Metric)
        ]
        Dashboard(self, "Dashboard", config, there)


def _id_of(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))
