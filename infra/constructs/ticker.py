"""Ticker: once a minute, puts one tick per shard and slot on the tick queue."""

from typing import Final

from constructs import Construct

from cronfleet import settings
from infra.config import Config
from infra.constructs.code import Code
from infra.constructs.every_minute import EveryMinute
from infra.constructs.function import Function, Part, Size
from infra.constructs.queue import Queue

SIZE: Final = Size(memory_mb=512, timeout_seconds=30)


class Ticker(Function):
    """The function, its schedule, and the right to send ticks."""

    def __init__(self, scope: Construct, construct_id: str, config: Config, code: Code, tick_queue: Queue) -> None:
        part = Part("ticker", SIZE, environment={settings.TICK_QUEUE_URL: tick_queue.url})
        super().__init__(scope, construct_id, config, code, part)
        tick_queue.grant_send(self.role)
        EveryMinute(self, "EveryMinute", name=self.name, function=self.function)
