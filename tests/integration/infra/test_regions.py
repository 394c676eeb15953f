"""Copies of the tables in other regions, and installations that stand by on them."""

import json
from pathlib import Path
from typing import Any

import pytest

from cronfleet.adapters.dynamodb import schema
from infra.config.context import ConfigError
from infra.config.installation import Config, from_context
from infra.node import use_packaged_node

WEST = {"region": "eu-west-1", "account": "123456789012"}
CENTRAL = {"region": "eu-central-1", "account": "123456789012"}


def chosen(**choices: object) -> Config:
    return from_context({name.replace("__", "."): value for name, value in choices.items()})


def state_of(config: Config, folder: Path) -> dict[str, Any]:
    """The template of the state stack alone: nothing is bundled for it."""
    use_packaged_node()
    import aws_cdk as cdk  # noqa: PLC0415 - Node is chosen before

    from infra.stacks.state import State  # noqa: PLC0415 - as above

    app = cdk.App(outdir=str(folder))
    State(app, "state", config)
    app.synth()
    template: dict[str, Any] = json.loads((folder / "state.template.json").read_text())
    return template["Resources"]


def test_tables_are_copied_to_other_regions_where_they_are_as_safe_as_at_home(tmp_path: Path) -> None:
    config = chosen(**WEST, regions__replicas="eu-central-1")
    tables = [one for one in state_of(config, tmp_path).values() if one["Type"] == "AWS::DynamoDB::GlobalTable"]
    assert len(tables) == len(schema.TABLES)
    for table in tables:
        replicas = {one["Region"]: one for one in table["Properties"]["Replicas"]}
        assert set(replicas) == {"eu-west-1", "eu-central-1"}
        for replica in replicas.values():
            assert replica["DeletionProtectionEnabled"] is True
            assert replica["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


def test_a_standby_makes_no_tables_where_those_of_another_region_are_copied_to() -> None:
    config = chosen(**CENTRAL, regions__tables_of="eu-west-1", regions__standby="second")
    assert not config.regions.makes_tables
    assert chosen().regions.makes_tables


def test_a_standby_with_a_key_of_its_own_makes_it_for_the_logs_that_ask_for_it(tmp_path: Path) -> None:
    config = chosen(**CENTRAL, regions__tables_of="eu-west-1", regions__standby="second", encryption__key="own")
    kinds = {one["Type"] for one in state_of(config, tmp_path).values()}
    assert {"AWS::KMS::Key", "AWS::SSM::Parameter"} <= kinds


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"regions__replicas": "eu-central-1"}, "a region of its own"),
        ({**WEST, "regions__replicas": "eu-west-1"}, "other AWS regions"),
        ({**WEST, "regions__replicas": "Frankfurt"}, "other AWS regions"),
        ({**WEST, "regions__replicas": "eu-central-1,eu-central-1"}, "each region once"),
        ({**WEST, "regions__replicas": "eu-central-1", "encryption__key": "own"}, "a key lies in one region"),
        ({**WEST, "regions__tables_of": "eu-central-1"}, "can only stand by"),
        ({**WEST, "regions__tables_of": "eu-west-1", "regions__standby": "a"}, "the other region"),
        ({"regions__standby": "The Second"}, "small letters"),
    ],
)
def test_what_would_lose_or_double_fires_is_refused(choices: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        chosen(**choices)
