"""`AttemptLogStore` on DynamoDB."""

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import ALWAYS, Database
from cronfleet.adapters.dynamodb.items.attempt_logs import attempt_log_item, attempt_log_of
from cronfleet.domain.attempt_log import AttemptLog
from cronfleet.domain.run import RunKey


class DynamoAttemptLogs:
    """One log per attempt that said something."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put_log(self, log: AttemptLog) -> None:
        self._database.put(schema.ATTEMPTS, attempt_log_item(log, self._database.clock.now()))

    def get_log(self, key: RunKey, attempt: int) -> AttemptLog | None:
        partition, sort = keys.schedule(key.tenant, key.schedule_id), keys.attempt(key, attempt)
        item = self._database.get(schema.ATTEMPTS, partition, sort, consistent=False)
        return None if item is None else attempt_log_of(item, key, attempt)

    def forget_log(self, key: RunKey, attempt: int) -> None:
        partition, sort = keys.schedule(key.tenant, key.schedule_id), keys.attempt(key, attempt)
        self._database.delete(schema.ATTEMPTS, partition, sort, ALWAYS, {})
