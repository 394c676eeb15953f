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
    assert replica["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
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
