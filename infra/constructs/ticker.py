"""Ticker: once a minute, puts one tick per shard and slot on the tick queue."""

from typing import Final

from constructs import Construct

from cronfleet import settings
from cronfleet.adapters.dynamodb import schema
from infra.config.installation import Config
from infra.constructs.code import Code
from infra.constructs.every_minute import EveryMinute
from infra.constructs.function import Function, Part, Size
from infra.constructs.job_store import LOOK_UP, QUERY, UPDATE, JobStore
from infra.constructs.queue import Queue
from infra.constructs.rollout import Shift

SIZE: Final = Size(memory_mb=512, timeout_seconds=30)


class Ticker(Function):
    """The function, its schedule, and the rights to send ticks and to hear the job store's time."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        config: Config,
        code: Code,
        *,
        job_store: JobStore,
        tick_queue: Queue,
    ) -> None:
        part = Part("ticker", SIZE, environment={settings.TICK_QUEUE_URL: tick_queue.url}, shift=Shift.TURNS)
        super().__init__(scope, construct_id, config, code, part)
        tick_queue.grant_send(self.role)
        job_store.grant(self.role, schema.SHARDS, LOOK_UP)
        # It notes how many shards it serves.
        job_store.grant_partition(self.role, schema.SHARDS, UPDATE, schema.FIRST_SHARD)
        # The noticeboard says whether the installation stands by: then nobody waits for ticks.
        job_store.grant(self.role, schema.TENANTS, QUERY)
        EveryMinute(self, "EveryMinute", name=self.name, function=self.live)
