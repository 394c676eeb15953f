"""The job store on DynamoDB."""

from typing import TYPE_CHECKING, Final

from botocore.config import Config

from cronfleet.adapters.dynamodb.alerts import DynamoAlerts
from cronfleet.adapters.dynamodb.api_keys import DynamoApiKeys
from cronfleet.adapters.dynamodb.attempt_logs import DynamoAttemptLogs
from cronfleet.adapters.dynamodb.audit import DynamoAudit
from cronfleet.adapters.dynamodb.breakers import DynamoBreakers
from cronfleet.adapters.dynamodb.calendars import DynamoCalendars
from cronfleet.adapters.dynamodb.database import Database
from cronfleet.adapters.dynamodb.dead_letters import DynamoDeadLetters
from cronfleet.adapters.dynamodb.deletions import DynamoDeletions
from cronfleet.adapters.dynamodb.dependencies import DynamoDependencies
from cronfleet.adapters.dynamodb.errands import DynamoErrands
from cronfleet.adapters.dynamodb.forecasts import DynamoForecasts
from cronfleet.adapters.dynamodb.freezes import DynamoFreezes
from cronfleet.adapters.dynamodb.gates import DynamoGates
from cronfleet.adapters.dynamodb.heartbeats import DynamoHeartbeats
from cronfleet.adapters.dynamodb.noticeboard import DynamoNoticeboard
from cronfleet.adapters.dynamodb.operations import DynamoOperations
from cronfleet.adapters.dynamodb.peeking import DynamoPeeking
from cronfleet.adapters.dynamodb.rates import DynamoRates
from cronfleet.adapters.dynamodb.retimings import DynamoRetimings
from cronfleet.adapters.dynamodb.runs import DynamoRuns
from cronfleet.adapters.dynamodb.schedule_counts import DynamoScheduleCounts
from cronfleet.adapters.dynamodb.schedules import DynamoSchedules
from cronfleet.adapters.dynamodb.shards import DynamoShards
from cronfleet.adapters.dynamodb.slots import DynamoSlots
from cronfleet.adapters.dynamodb.tenants import DynamoTenants
from cronfleet.adapters.dynamodb.versions import DynamoVersions
from cronfleet.domain.claiming import Claiming
from cronfleet.domain.hold import ANYWHERE, Here
from cronfleet.ports.clock import SteadyClock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from cronfleet.ports.telemetry import Telemetry

CONFIG: Final = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 3})
"""A request is given up early and asked again: a dispatcher's whole tick lasts a few seconds."""


class DynamoJobStore(
    DynamoCalendars,
    DynamoSchedules,
    DynamoVersions,
    DynamoRuns,
    DynamoAttemptLogs,
    DynamoDeadLetters,
    DynamoShards,
    DynamoRetimings,
    DynamoHeartbeats,
    DynamoTenants,
    DynamoScheduleCounts,
    DynamoRates,
    DynamoPeeking,
    DynamoForecasts,
    DynamoFreezes,
    DynamoGates,
    DynamoBreakers,
    DynamoNoticeboard,
    DynamoSlots,
    DynamoApiKeys,
    DynamoAudit,
    DynamoDeletions,
    DynamoDependencies,
    DynamoAlerts,
    DynamoOperations,
    DynamoErrands,
):
    """All of `JobStore`, on the tables of `schema.py` under `table_prefix`, as they are `here`."""

    def __init__(
        self,
        table_prefix: str,
        client: "DynamoDBClient",
        clock: SteadyClock,
        here: Here = ANYWHERE,
        *,
        claiming: Claiming = Claiming.SINGLE,
        telemetry: "Telemetry | None" = None,
    ) -> None:
        """`claiming` says how claims are written; every engine can do it one by one. See `Database` for `telemetry`."""
        super().__init__(Database(table_prefix, client, clock, telemetry))
        self.here = here
        self._claiming = claiming
