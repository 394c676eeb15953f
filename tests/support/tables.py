"""The job store's tables and the queues, made on any engine from the same data that the CDK app reads."""

from typing import Any

from cronfleet.adapters.dynamodb.schema import TABLES, Index, Key, Table
from cronfleet.adapters.sqs.queues import QUEUES, Queue


def create_tables(client: Any, prefix: str) -> None:
    for table in TABLES:
        client.create_table(**_definition(table, f"{prefix}-{table.name}"))


def delete_tables(client: Any, prefix: str) -> None:
    for table in TABLES:
        client.delete_table(TableName=f"{prefix}-{table.name}")


def create_queues(client: Any, prefix: str) -> dict[str, str]:
    """The URL of each queue by its name."""
    return {queue.name: _create_queue(client, f"{prefix}-{queue.name}", queue) for queue in QUEUES}


def _create_queue(client: Any, name: str, queue: Queue) -> str:
    attributes = {"VisibilityTimeout": str(queue.visibility_seconds)}
    url: str = client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return url


def _definition(table: Table, name: str) -> dict[str, Any]:
    used = {key.name: key for key in _keys(table.partition, table.sort)}
    for index in table.indexes:
        used |= {key.name: key for key in _keys(index.partition, index.sort)}
    definition: dict[str, Any] = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _schema(table.partition, table.sort),
        "AttributeDefinitions": [{"AttributeName": key.name, "AttributeType": key.type} for key in used.values()],
    }
    if table.indexes:
        definition["GlobalSecondaryIndexes"] = [
            {
                "IndexName": index.name,
                "KeySchema": _schema(index.partition, index.sort),
                "Projection": _projection(index),
            }
            for index in table.indexes
        ]
    return definition


def _projection(index: Index) -> dict[str, Any]:
    if not index.projected:
        return {"ProjectionType": "KEYS_ONLY"}
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(index.projected)}


def _keys(partition: Key, sort: Key | None) -> list[Key]:
    return [partition] if sort is None else [partition, sort]


def _schema(partition: Key, sort: Key | None) -> list[dict[str, str]]:
    types = ("HASH", "RANGE")
    return [
        {"AttributeName": key.name, "KeyType": kind} for key, kind in zip(_keys(partition, sort), types, strict=False)
    ]
