"""Tables: the DynamoDB tables of `cronfleet.adapters.dynamodb.schema`, made so that nobody loses one."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from cronfleet.adapters.dynamodb import schema
from infra.config.installation import Config


class Tables(Construct):
    """All tables of `schema.TABLES`. What uses them knows them by name: `JobStore`."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        for table in schema.TABLES:
            self._table(table, config)

    def _table(self, table: schema.Table, config: Config) -> dynamodb.TableV2:
        return dynamodb.TableV2(
            self,
            table.name.capitalize(),
            table_name=f"{config.prefix}-{table.name}",
            partition_key=_attribute(table.partition),
            sort_key=_attribute(table.sort) if table.sort else None,
            global_secondary_indexes=[_index(index) for index in table.indexes],
            billing=dynamodb.Billing.on_demand(),
            time_to_live_attribute=table.ttl,
            deletion_protection=not config.local,
            removal_policy=cdk.RemovalPolicy.DESTROY if config.local else cdk.RemovalPolicy.RETAIN,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=not config.local
            ),
        )


def _attribute(key: schema.Key) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=key.name, type=dynamodb.AttributeType[_TYPES[key.type]])


_TYPES: Final[dict[schema.KeyType, str]] = {"S": "STRING", "N": "NUMBER"}


def _index(index: schema.Index) -> dynamodb.GlobalSecondaryIndexPropsV2:
    projection = dynamodb.ProjectionType.INCLUDE if index.projected else dynamodb.ProjectionType.KEYS_ONLY
    return dynamodb.GlobalSecondaryIndexPropsV2(
        index_name=index.name,
        partition_key=_attribute(index.partition),
        sort_key=_attribute(index.sort),
        projection_type=projection,
        non_key_attributes=list(index.projected) or None,
    )
