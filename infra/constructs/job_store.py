"""JobStore: the DynamoDB tables of `cronfleet.adapters.dynamodb.schema`, made so that nobody loses one."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from constructs import Construct

from cronfleet.adapters.dynamodb import schema
from infra.config import Config

READ: Final = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")
# A transaction is authorised by the actions it consists of.
WRITE: Final = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:ConditionCheckItem")
CHANGE: Final = ("dynamodb:PutItem", "dynamodb:UpdateItem")
APPEND: Final = ("dynamodb:PutItem",)
UPDATE: Final = ("dynamodb:UpdateItem",)
DELETE: Final = ("dynamodb:DeleteItem",)
ERASE: Final = ("dynamodb:BatchWriteItem",)
LOOK_UP: Final = ("dynamodb:GetItem",)
LOOK_UP_MANY: Final = ("dynamodb:BatchGetItem",)
QUERY: Final = ("dynamodb:Query",)


class JobStore(Construct):
    """All tables, by the names of `schema.TABLES`."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        self._tables = {table.name: self._table(table, config) for table in schema.TABLES}

    def grant(
        self,
        role: iam.Role,
        table: schema.Table,
        actions: tuple[str, ...],
        indexes: tuple[schema.Index, ...] = (),
    ) -> None:
        """Let `role` do `actions` on `table`, and query only the `indexes` named."""
        arn = self._tables[table.name].table_arn
        if actions:
            role.add_to_policy(iam.PolicyStatement(actions=list(actions), resources=[arn]))
        foreign = [index.name for index in indexes if index not in table.indexes]
        if foreign:
            raise ValueError(f"{', '.join(foreign)}: no index of the table {table.name}")
        queried = [f"{arn}/index/{index.name}" for index in indexes]
        if queried:
            role.add_to_policy(iam.PolicyStatement(actions=["dynamodb:Query"], resources=queried))

    def grant_partition(self, role: iam.Role, table: schema.Table, actions: tuple[str, ...], partition: str) -> None:
        """Let `role` do `actions` on the items of one partition of `table`."""
        only = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [partition]}}
        arn = self._tables[table.name].table_arn
        role.add_to_policy(iam.PolicyStatement(actions=list(actions), resources=[arn], conditions=only))

    def grant_walk(self, role: iam.Role, table: schema.Table, index: schema.Index | None = None) -> None:
        """Let `role` go through the whole of `index`, or of the table itself."""
        arn = self._tables[table.name].table_arn + ("" if index is None else f"/index/{index.name}")
        role.add_to_policy(iam.PolicyStatement(actions=["dynamodb:Scan"], resources=[arn]))

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
