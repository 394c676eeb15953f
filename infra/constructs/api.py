"""Api: the function behind the HTTP API."""

from typing import Final

from constructs import Construct

from cronfleet import settings
from cronfleet.adapters.dynamodb import schema
from infra.config.installation import Config
from infra.constructs.code import Code
from infra.constructs.event_bus import EventBus
from infra.constructs.function import Function, Part, Size
from infra.constructs.job_store import APPEND, CHANGE, CHECK, LOOK_UP, LOOK_UP_MANY, QUERY, READ, UPDATE, JobStore
from infra.constructs.rollout import Shift
from infra.constructs.target_roles import caller_arns

SIZE: Final = Size(memory_mb=1024, timeout_seconds=29)
"""The gateway gives up after thirty seconds."""


class Api(Function):
    """The function, and the right to change schedules. It may send to no queue: the dispatcher does that."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        config: Config,
        code: Code,
        *,
        job_store: JobStore,
        event_bus: EventBus,
    ) -> None:
        # The API refuses what the worker would not call; the worker, which resolves the name, decides.
        environment = {
            settings.WEBHOOK_ALLOWED_NETWORKS: config.webhook_allowed_networks,
            # What it shows tenants, who paste it into their roles. It may assume none itself.
            settings.INSTALLATION: config.installation,
            settings.TARGET_CALLERS: caller_arns(scope, config),
            settings.LONG_WORKERS: str(config.long_workers.enabled).lower(),
            **event_bus.settings,
        }
        part = Part("api", SIZE, environment=environment, shift=Shift.CANARY)
        super().__init__(scope, construct_id, config, code, part)
        event_bus.grant_tell(self.role)
        job_store.grant(self.role, schema.SCHEDULES, READ + CHANGE, indexes=(schema.BY_TENANT, schema.BY_CALENDAR))
        job_store.grant(self.role, schema.RUNS, READ + APPEND, indexes=(schema.DEAD_LETTERS,))
        job_store.grant(self.role, schema.ATTEMPTS, LOOK_UP)
        job_store.grant(self.role, schema.CALENDARS, LOOK_UP + QUERY + APPEND + CHECK)
        job_store.grant(self.role, schema.AUDIT, APPEND + LOOK_UP_MANY + QUERY, indexes=(schema.BY_SUBJECT,))
        # An entry follows on the end of its chain, which is put anew with it; seals are only read here.
        job_store.grant(self.role, schema.CHAINS, READ + APPEND)
        # Who claimed a fire that has no row yet, and when it was sent again, stands in the dispatch log.
        job_store.grant(self.role, schema.SHARDS, LOOK_UP + QUERY)
        # A hold shuts the leases of shards.
        job_store.grant_partition(self.role, schema.SHARDS, UPDATE, schema.SHARD_PARTITIONS)
        # Of that table it writes messages that nobody can read, and nothing else.
        job_store.grant_partition(self.role, schema.SHARDS, APPEND, schema.UNREADABLE)
        job_store.grant(self.role, schema.TENANTS, READ + CHANGE, indexes=(schema.DIRECTORY,))
        # How many of its slots a tenant uses; it takes none.
        job_store.grant(self.role, schema.BREAKERS, LOOK_UP + QUERY + APPEND)
        job_store.grant(self.role, schema.SLOTS, QUERY + LOOK_UP + APPEND)
        # What a calendar's new version starts, and how far the jobs are.
        job_store.grant(self.role, schema.RETIMINGS, LOOK_UP + QUERY + APPEND)
        # A heartbeat URL is put anew with each ping, in one transaction with it; nothing of it is ever deleted here.
        job_store.grant(self.role, schema.HEARTBEATS, LOOK_UP + QUERY + APPEND)
        job_store.grant(self.role, schema.ALERTS, READ + APPEND)
        job_store.grant(self.role, schema.OPERATIONS, LOOK_UP + LOOK_UP_MANY + APPEND, indexes=(schema.BY_CREATION,))
