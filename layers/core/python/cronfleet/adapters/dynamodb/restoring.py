"""Tables of an earlier time beside those that are there: all of one second, but the receipts, which stay the newest.

What an installation did after that second is forgotten by all of them, and done again where a policy says so; that an
effect was made is the one thing that must not be forgotten. See docs/restore.md.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import boto3
from botocore.exceptions import ClientError

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.job_store import CONFIG
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.shard import MAX_SHARDS

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

OF_NOW: Final = (schema.RECEIPTS,)
"""Tables that are restored as they were last, whatever second is asked for."""

FENCES: Final = 1_000_000
"""By so much fences of shards rise: no batch of the new time has the id of one that was forgotten."""

READY: Final = "ACTIVE"
ASKS_EVERY_SECONDS: Final = 10


def restoring_client() -> "DynamoDBClient":
    """A client for what concerns whole tables, which the job store's has no words for."""
    return boto3.client("dynamodb", config=CONFIG)


class Restoring:
    """Restores the tables under `prefix` to tables under `into`; `wait` sleeps for so many seconds."""

    def __init__(self, client: "DynamoDBClient", prefix: str, into: str, wait: Callable[[float], None]) -> None:
        self._client = client
        self._prefix = prefix
        self._into = into
        self._wait = wait

    def begin_all(self, at: Instant) -> None:
        """Begin with every table; they are restored side by side."""
        for table in schema.TABLES:
            self.begin(table, at)

    def begin(self, table: schema.Table, at: Instant) -> None:
        """Begin with one table, as it was `at`, a whole second; raises what boto3 raises."""
        source, target = f"{self._prefix}-{table.name}", f"{self._into}-{table.name}"
        if table in OF_NOW:
            self._client.restore_table_to_point_in_time(
                SourceTableName=source, TargetTableName=target, UseLatestRestorableTime=True
            )
        else:
            second = datetime.fromtimestamp(at // SECOND, UTC)
            self._client.restore_table_to_point_in_time(
                SourceTableName=source, TargetTableName=target, RestoreDateTime=second
            )

    def wait_until_ready(self) -> Iterator[str]:
        """Wait for each table in turn, and name it when it is there: it takes minutes, and hours for large ones."""
        for table in schema.TABLES:
            name = f"{self._into}-{table.name}"
            while self._client.describe_table(TableName=name)["Table"]["TableStatus"] != READY:
                self._wait(ASKS_EVERY_SECONDS)
            yield name

    def protect(self, *, recovery_days: int) -> None:
        """Set what a restored table does not bring along: expiry, recovery, protection against deletion."""
        for table in schema.TABLES:
            name = f"{self._into}-{table.name}"
            if table.ttl is not None:
                self._client.update_time_to_live(
                    TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": table.ttl}
                )
            self._client.update_continuous_backups(
                TableName=name,
                PointInTimeRecoverySpecification={
                    "PointInTimeRecoveryEnabled": True,
                    "RecoveryPeriodInDays": recovery_days,
                },
            )
            self._client.update_table(TableName=name, DeletionProtectionEnabled=True)

    def begin_anew(self) -> int:
        """Raise the fence of every shard and let go of its lease; returns how many shards there are."""
        return sum(self._raised(number) for number in range(MAX_SHARDS))

    def _raised(self, shard: int) -> bool:
        try:
            self._client.update_item(
                TableName=f"{self._into}-{schema.SHARDS.name}",
                Key={"pk": {"S": keys.shard(shard)}, "sk": {"S": keys.LEASE}},
                ConditionExpression="attribute_exists(fence)",
                UpdateExpression="SET fence = fence + :more, #until = :never",
                ExpressionAttributeNames={"#until": "until"},
                ExpressionAttributeValues={":more": {"N": str(FENCES)}, ":never": {"N": "0"}},
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            return False
        return True
