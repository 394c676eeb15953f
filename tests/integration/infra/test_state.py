"""The job store as CloudFormation gets it: complete, and not to be lost by accident."""

import json

import pytest

from cronfleet.adapters.dynamodb import schema
from tests.integration.infra.assembly import Assembly, Resource

TABLE = "AWS::DynamoDB::GlobalTable"
MOST_PROJECTED_PER_INDEX = 20
MOST_PROJECTED_PER_TABLE = 100


def tables(assembly: Assembly) -> dict[str, Resource]:
    found = assembly.of_type(TABLE).values()
    return {table["Properties"]["TableName"].removeprefix("cronfleet-"): table for table in found}


def test_every_table_of_the_schema_is_deployed_and_no_other(on_aws: Assembly) -> None:
    assert set(tables(on_aws)) == {table.name for table in schema.TABLES}


@pytest.mark.parametrize("table", schema.TABLES, ids=lambda table: table.name)
def test_a_table_survives_the_deletion_of_its_stack_and_can_be_restored(on_aws: Assembly, table: schema.Table) -> None:
    deployed = tables(on_aws)[table.name]
    [replica] = deployed["Properties"]["Replicas"]
    assert deployed["DeletionPolicy"] == deployed["UpdateReplacePolicy"] == "Retain"
    assert replica["DeletionProtectionEnabled"] is True
    assert replica["PointInTimeRecoverySpecification"] == {
        "PointInTimeRecoveryEnabled": True,
        "RecoveryPeriodInDays": 35,
    }
    assert deployed["Properties"]["BillingMode"] == "PAY_PER_REQUEST"


@pytest.mark.parametrize("table", schema.TABLES, ids=lambda table: table.name)
def test_keys_indexes_and_expiry_are_those_of_the_schema(on_aws: Assembly, table: schema.Table) -> None:
    properties = tables(on_aws)[table.name]["Properties"]
    keys = [table.partition.name] + ([table.sort.name] if table.sort else [])
    indexes = {index["IndexName"]: index for index in properties.get("GlobalSecondaryIndexes", [])}
    assert [key["AttributeName"] for key in properties["KeySchema"]] == keys
    assert set(indexes) == {index.name for index in table.indexes}
    for index in table.indexes:
        deployed = indexes[index.name]
        assert [key["AttributeName"] for key in deployed["KeySchema"]] == [index.partition.name, index.sort.name]
        assert set(deployed["Projection"].get("NonKeyAttributes", ())) == set(index.projected)
    assert properties.get("TimeToLiveSpecification", {}).get("AttributeName") == table.ttl


def test_key_attributes_have_the_types_of_the_schema(on_aws: Assembly) -> None:
    properties = tables(on_aws)["schedules"]["Properties"]
    types = {item["AttributeName"]: item["AttributeType"] for item in properties["AttributeDefinitions"]}
    assert types["due_at"] == "N"
    assert types["pk"] == types["sk"] == types["due_shard"] == "S"


@pytest.mark.parametrize("table", schema.TABLES, ids=lambda table: table.name)
def test_no_index_projects_more_attributes_than_dynamodb_takes(table: schema.Table) -> None:
    assert all(len(index.projected) <= MOST_PROJECTED_PER_INDEX for index in table.indexes)
    assert sum(len(index.projected) for index in table.indexes) <= MOST_PROJECTED_PER_TABLE


def test_the_state_stack_on_aws_refuses_to_be_deleted(on_aws: Assembly) -> None:
    manifest = json.loads((on_aws.folder / "manifest.json").read_text())
    assert manifest["artifacts"]["cronfleet-state"]["properties"]["terminationProtection"] is True


def test_the_local_stack_may_be_thrown_away(on_this_machine: Assembly) -> None:
    for table in tables(on_this_machine).values():
        [replica] = table["Properties"]["Replicas"]
        assert table["DeletionPolicy"] == "Delete"
        assert replica["DeletionProtectionEnabled"] is False


@pytest.mark.parametrize("table", schema.TABLES, ids=lambda table: table.name)
def test_a_table_and_its_indexes_refuse_what_no_honest_load_brings(on_aws: Assembly, table: schema.Table) -> None:
    properties = tables(on_aws)[table.name]["Properties"]
    [replica] = properties["Replicas"]
    for part, reads in ((properties, replica), *zip(*_indexes(properties, replica), strict=True)):
        assert part["WriteOnDemandThroughputSettings"] == {"MaxWriteRequestUnits": 20_000}
        assert reads["ReadOnDemandThroughputSettings"] == {"MaxReadRequestUnits": 20_000}


def test_a_development_environment_can_be_thrown_away_and_is_guarded_more_closely(in_dev: Assembly) -> None:
    for table in in_dev.of_type(TABLE).values():
        [replica] = table["Properties"]["Replicas"]
        assert table["DeletionPolicy"] == "Delete"
        assert replica["DeletionProtectionEnabled"] is False
        assert replica["PointInTimeRecoverySpecification"]["RecoveryPeriodInDays"] == 1
        assert table["Properties"]["WriteOnDemandThroughputSettings"] == {"MaxWriteRequestUnits": 1_000}


def test_a_provisioned_table_follows_its_load_and_so_does_its_index(with_everything: Assembly) -> None:
    properties = tables(with_everything)["runs"]["Properties"]
    assert properties["BillingMode"] == "PROVISIONED"
    scaling = properties["WriteProvisionedThroughputSettings"]["WriteCapacityAutoScalingSettings"]
    assert (scaling["MinCapacity"], scaling["MaxCapacity"], scaling["SeedCapacity"]) == (100, 4000, 100)
    assert scaling["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] == 70
    [index] = properties["GlobalSecondaryIndexes"]
    scaling = index["WriteProvisionedThroughputSettings"]["WriteCapacityAutoScalingSettings"]
    assert scaling["MaxCapacity"] == 300
    assert "WriteOnDemandThroughputSettings" not in json.dumps(properties)


def test_the_table_of_schedules_and_its_due_index_are_kept_warm_where_that_is_asked_for(
    with_everything: Assembly, on_aws: Assembly
) -> None:
    properties = tables(with_everything)["schedules"]["Properties"]
    assert properties["WarmThroughput"] == {"WriteUnitsPerSecond": 6000}
    warm = {index["IndexName"]: index.get("WarmThroughput") for index in properties["GlobalSecondaryIndexes"]}
    assert warm == {"due": {"WriteUnitsPerSecond": 12_000}, "by_tenant": None, "by_calendar": None}
    assert "WarmThroughput" not in json.dumps(tables(on_aws))


def _indexes(properties: Resource, replica: Resource) -> tuple[list[Resource], list[Resource]]:
    """The indexes as the table says what is written to them, and as its replica says what is read."""
    return properties.get("GlobalSecondaryIndexes", []), replica.get("GlobalSecondaryIndexes", [])
