"""The few requests that the job store makes of DynamoDB, by one boto3 client, with errors in the port's words."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from cronfleet.adapters.dynamodb.errors import Item, ask
from cronfleet.adapters.dynamodb.schema import Index, Table
from cronfleet.adapters.dynamodb.skew import Skew
from cronfleet.ports.clock import SteadyClock
from cronfleet.ports.job_store import NoAnswer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from cronfleet.ports.telemetry import Telemetry

MAX_BATCH_GET: Final = 100
"""Keys per BatchGetItem."""
MAX_BATCH_WRITE: Final = 25
"""Items per BatchWriteItem."""
MAX_STATEMENTS: Final = 25
"""Statements per BatchExecuteStatement."""
MAX_BATCH_ROUNDS: Final = 6
_FIRST_PAUSE_SECONDS: Final = 0.05

_SHORT_PAUSE_SECONDS: Final = 0.005

_NAME: Final = re.compile(r"#(\w+)")


@dataclass(frozen=True)
class Expression:
    """A condition, and what to change where it holds. Every attribute is written `#name`, every value `:name`.

    DynamoDB reserves hundreds of words, `status` and `owner` among them, hence no bare names.
    """

    condition: str = ""
    change: str = ""
    names: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        found = sorted(set(_NAME.findall(f"{self.change} {self.condition}")))
        object.__setattr__(self, "names", {f"#{name}": name for name in found})

    def request(self, values: Item | None = None) -> dict[str, Any]:
        """The request's fields for this expression with `values` (`:name` → typed value)."""
        fields: dict[str, Any] = {}
        if self.names:
            fields["ExpressionAttributeNames"] = self.names
        if self.condition:
            fields["ConditionExpression"] = self.condition
            fields["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if self.change:
            fields["UpdateExpression"] = self.change
        if values:
            fields["ExpressionAttributeValues"] = values
        return fields


ALWAYS: Final = Expression()
ABSENT: Final = Expression("attribute_not_exists(#pk)")
"""The condition of every insert."""


def number(value: int) -> Mapping[str, str]:
    """A whole number as a typed value."""
    return {"N": str(value)}


def text(value: str) -> Mapping[str, str]:
    """Text as a typed value."""
    return {"S": value}


class Database:
    """One installation's tables."""

    def __init__(
        self, table_prefix: str, client: "DynamoDBClient", clock: SteadyClock, telemetry: "Telemetry | None" = None
    ) -> None:
        """`telemetry` is told of what costs more than it should, and shows nowhere else."""
        self._prefix = table_prefix
        self._client = client
        self._telemetry = telemetry
        self.clock = clock
        self.skew = Skew(clock, client)

    def name(self, table: Table) -> str:
        """A table's name in this installation."""
        return f"{self._prefix}-{table.name}"

    def get(self, table: Table, partition: str, sort: str, *, consistent: bool = True) -> Item | None:
        """One item, by default as it is now."""
        answer = ask(
            self._client.get_item,
            TableName=self.name(table),
            Key={"pk": text(partition), "sk": text(sort)},
            ConsistentRead=consistent,
        )
        return answer.get("Item")

    def put(self, table: Table, item: Item, expression: Expression = ALWAYS, values: Item | None = None) -> None:
        """Put an item; raises `ConditionFailed`."""
        ask(self._client.put_item, TableName=self.name(table), Item=item, **expression.request(values))

    def update(
        self,
        table: Table,
        partition: str,
        sort: str,
        expression: Expression,
        values: Item,
        *,
        returning: bool = False,
    ) -> Item:
        """Change one item; raises `ConditionFailed`. With `returning`, the answer is the item after the change."""
        answer = ask(
            self._client.update_item,
            TableName=self.name(table),
            Key={"pk": text(partition), "sk": text(sort)},
            ReturnValues="ALL_NEW" if returning else "NONE",
            **expression.request(values),
        )
        return answer.get("Attributes", {})

    def update_all(self, table: Table, changes: Sequence[tuple[str, Sequence[Item]]]) -> Sequence[Mapping[str, Any]]:
        """Change items, each by a statement of its own, and none twice: what stands behind the table's name, with its
        parameters. Answers come in the same order; one with an `Error` says why it was not done.
        """
        update = f'UPDATE "{self.name(table)}"'
        statements: list[Any] = [
            {
                "Statement": f"{update} {change}",
                "Parameters": parameters,
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
            for change, parameters in changes
        ]
        answer = ask(self._client.batch_execute_statement, Statements=statements)
        return answer.get("Responses", [])

    def tell_refused(self, table: Table, statements: int, error: str) -> None:
        """Tell of statements that are refused as such: each of their writes is made alone, and nobody else sees it.

        Threads may do so at once: each line is written whole.
        """
        if self._telemetry is not None:
            self._telemetry.count("statements_refused", statements)
            self._telemetry.event("statements_refused", table=table.name, statements=statements, error=error)

    def query(
        self,
        table: Table,
        keys: str,
        values: Item,
        *,
        limit: int,
        index: Index | None = None,
        start: Item | None = None,
        forward: bool = True,
        consistent: bool = False,
    ) -> tuple[Sequence[Item], Item | None]:
        """One page of at most `limit` items, and the key to go on from while there may be more."""
        request: dict[str, Any] = {"ScanIndexForward": forward, "ConsistentRead": consistent, "Limit": limit}
        return self._query(table, keys, values, index, start, request)

    def query_keys(
        self, table: Table, keys: str, values: Item, *, limit: int, index: Index, start: Item | None
    ) -> tuple[Sequence[Item], Item | None]:
        """The same of an index, of each item the table's key alone."""
        request: dict[str, Any] = {"ScanIndexForward": True, "ConsistentRead": False, "Limit": limit}
        return self._query(table, keys, values, index, start, {**request, "ProjectionExpression": "#pk, #sk"})

    def _query(
        self, table: Table, keys: str, values: Item, index: Index | None, start: Item | None, request: dict[str, Any]
    ) -> tuple[Sequence[Item], Item | None]:
        request |= {} if index is None else {"IndexName": index.name}
        request |= {} if start is None else {"ExclusiveStartKey": start}
        answer = ask(
            self._client.query,
            TableName=self.name(table),
            KeyConditionExpression=keys,
            ExpressionAttributeNames=Expression(f"{keys} {request.get('ProjectionExpression', '')}").names,
            ExpressionAttributeValues=values,
            **request,
        )
        return answer["Items"], answer.get("LastEvaluatedKey")

    def scan(self, table: Table, index: Index, *, limit: int, start: Item | None) -> tuple[Sequence[Item], Item | None]:
        """One page of at most `limit` items of a whole index, and the key to go on from while there may be more."""
        request: dict[str, Any] = {} if start is None else {"ExclusiveStartKey": start}
        answer = ask(self._client.scan, TableName=self.name(table), IndexName=index.name, Limit=limit, **request)
        return answer["Items"], answer.get("LastEvaluatedKey")

    def walk(self, table: Table, *, limit: int, start: Item | None) -> tuple[Sequence[Item], Item | None]:
        """One page of a whole table as it is now, and the key to go on from while there may be more."""
        request: dict[str, Any] = {} if start is None else {"ExclusiveStartKey": start}
        answer = ask(self._client.scan, TableName=self.name(table), Limit=limit, ConsistentRead=True, **request)
        return answer["Items"], answer.get("LastEvaluatedKey")

    def delete(self, table: Table, partition: str, sort: str, expression: Expression, values: Item) -> None:
        """Delete one item; raises `ConditionFailed`."""
        place = {"pk": text(partition), "sk": text(sort)}
        ask(self._client.delete_item, TableName=self.name(table), Key=place, **expression.request(values))

    def delete_all(self, places: Sequence[tuple[Table, str, str]]) -> None:
        """Delete items by table, partition and sort key, whatever they hold; absent ones are no error."""
        for start in range(0, len(places), MAX_BATCH_WRITE):
            wanted: dict[str, list[Any]] = {}
            for table, partition, sort in places[start : start + MAX_BATCH_WRITE]:
                place = {"pk": text(partition), "sk": text(sort)}
                wanted.setdefault(self.name(table), []).append({"DeleteRequest": {"Key": place}})
            self._delete_all(wanted)

    def _delete_all(self, wanted: Mapping[str, Sequence[Any]]) -> None:
        for turn in range(MAX_BATCH_ROUNDS):
            if turn:
                self.back_off(turn)
            answer: Mapping[str, Any] = ask(self._client.batch_write_item, RequestItems=wanted)
            wanted = answer.get("UnprocessedItems", {})
            if not wanted:
                return
        raise NoAnswer(f"items of {', '.join(wanted)} were not deleted in {MAX_BATCH_ROUNDS} rounds")

    def batch_get(self, table: Table, keys: Sequence[tuple[str, str]], *, consistent: bool = False) -> Iterator[Item]:
        """Items by partition and sort key, by default eventually consistent, in no order; absent ones are left out."""
        wanted = [{"pk": text(partition), "sk": text(sort)} for partition, sort in dict.fromkeys(keys)]
        for start in range(0, len(wanted), MAX_BATCH_GET):
            yield from self._batch_get(self.name(table), wanted[start : start + MAX_BATCH_GET], consistent)

    def _batch_get(self, name: str, keys: Sequence[Item], consistent: bool) -> Iterator[Item]:
        for turn in range(MAX_BATCH_ROUNDS):
            if turn:
                self.back_off(turn)
            wanted: Any = {name: {"Keys": keys, "ConsistentRead": consistent}}
            answer: Mapping[str, Any] = ask(self._client.batch_get_item, RequestItems=wanted)
            yield from answer["Responses"].get(name, [])
            keys = answer.get("UnprocessedKeys", {}).get(name, {}).get("Keys", [])
            if not keys:
                return
        raise NoAnswer(f"{len(keys)} keys of {name} were not read in {MAX_BATCH_ROUNDS} rounds")

    def back_off(self, turn: int) -> None:
        """Wait before the `turn`-th time that something is asked again: the engine had too much to do."""
        time.sleep(_FIRST_PAUSE_SECONDS * 2 ** (turn - 1))

    def pause(self, turn: int) -> None:
        """Let others go first, the longer the more often one was in their way."""
        time.sleep(_SHORT_PAUSE_SECONDS * 2**turn)

    def transact(self, actions: Sequence[Any], token: str) -> None:
        """Do all `actions` or none; raises `Cancelled`. Sent again within ten minutes, a `token` does nothing."""
        ask(self._client.transact_write_items, TransactItems=actions, ClientRequestToken=token)
