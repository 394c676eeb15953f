"""Tables: the DynamoDB tables of `cronfleet.adapters.dynamodb.schema`, made so that nobody loses one."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

from cronfleet.adapters.dynamodb import schema
from infra.config.installation import Config
from infra.config.tables import Capacity, Scaling, Warmth


class Tables(Construct):
    """All tables of `schema.TABLES`. What uses them knows them by name: `JobStore`."""

    def __init__(self, scope: Construct, construct_id: str, config: Config, key: kms.IKey | None) -> None:
        super().__init__(scope, construct_id)
        for table in schema.TABLES:
            self._table(table, config, key)

    def _table(self, table: schema.Table, config: Config, key: kms.IKey | None) -> None:
        chosen = config.tables
        dynamodb.TableV2(
            self,
            table.name.capitalize(),
            table_name=f"{config.prefix}-{table.name}",
            partition_key=_attribute(table.partition),
            sort_key=_attribute(table.sort) if table.sort else None,
            global_secondary_indexes=[
                _index(index, chosen.capacity[f"{table.name}.{index.name}"]) for index in table.indexes
            ],
            billing=_billing(chosen.capacity[table.name]),
            warm_throughput=_warm(chosen.capacity[table.name].warm),
            encryption=None if key is None else dynamodb.TableEncryptionV2.customer_managed_key(key),
            time_to_live_attribute=table.ttl,
            replicas=[_replica(region, config) for region in config.regions.replicas] or None,
            deletion_protection=chosen.protected,
            removal_policy=cdk.RemovalPolicy.RETAIN if chosen.protected else cdk.RemovalPolicy.DESTROY,
            point_in_time_recovery_specification=_recovery(chosen.recovery_days),
        )


def _replica(region: str, config: Config) -> dynamodb.ReplicaTableProps:
    """A copy: protected and restorable as the table itself."""
    chosen = config.tables
    return dynamodb.ReplicaTableProps(
        region=region,
        deletion_protection=chosen.protected,
        point_in_time_recovery_specification=_recovery(chosen.recovery_days),
    )


def _recovery(days: int) -> dynamodb.PointInTimeRecoverySpecification:
    return dynamodb.PointInTimeRecoverySpecification(
        point_in_time_recovery_enabled=days > 0, recovery_period_in_days=days or None
    )


def _attribute(key: schema.Key) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=key.name, type=dynamodb.AttributeType[_TYPES[key.type]])


_TYPES: Final[dict[schema.KeyType, str]] = {"S": "STRING", "N": "NUMBER"}


def _index(index: schema.Index, chosen: Capacity) -> dynamodb.GlobalSecondaryIndexPropsV2:
    projection = dynamodb.ProjectionType.INCLUDE if index.projected else dynamodb.ProjectionType.KEYS_ONLY
    return dynamodb.GlobalSecondaryIndexPropsV2(
        index_name=index.name,
        partition_key=_attribute(index.partition),
        sort_key=_attribute(index.sort),
        projection_type=projection,
        non_key_attributes=list(index.projected) or None,
        read_capacity=_capacity(chosen.read),
        write_capacity=_capacity(chosen.write),
        max_read_request_units=chosen.most_read,
        max_write_request_units=chosen.most_write,
        warm_throughput=_warm(chosen.warm),
    )


def _billing(chosen: Capacity) -> dynamodb.Billing:
    read, write = _capacity(chosen.read), _capacity(chosen.write)
    if read is not None and write is not None:
        return dynamodb.Billing.provisioned(read_capacity=read, write_capacity=write)
    return dynamodb.Billing.on_demand(
        max_read_request_units=chosen.most_read, max_write_request_units=chosen.most_write
    )


def _capacity(scaling: Scaling | None) -> dynamodb.Capacity | None:
    if scaling is None:
        return None
    return dynamodb.Capacity.autoscaled(
        min_capacity=scaling.minimum,
        max_capacity=scaling.maximum,
        target_utilization_percent=scaling.target_percent,
        # Without it a table could not be changed from one mode to the other.
        seed_capacity=scaling.minimum,
    )


def _warm(warmth: Warmth | None) -> dynamodb.WarmThroughput | None:
    if warmth is None:
        return None
    return dynamodb.WarmThroughput(read_units_per_second=warmth.read, write_units_per_second=warmth.write)
