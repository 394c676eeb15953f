"""Observability: the alarms. Made of names alone, so it depends on no other stack and none depends on it."""

import aws_cdk as cdk
from constructs import Construct

from infra.alarms import alarms
from infra.config.installation import Config
from infra.constructs.alarm import Alarm
from infra.stacks.environment import environment_of


class Observability(cdk.Stack):
    """Every alarm of `infra/alarms.py`."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id, description="Cronfleet: alarms", env=environment_of(config))
        for spec in alarms(config):
            Alarm(self, _id_of(spec.name), config, spec)


def _id_of(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))
