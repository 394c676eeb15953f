"""The observatory: takes in what the running stack tells, judges its alarms, and serves the page and the metrics."""

import time
from typing import Any

from infra.alarms import alarms
from infra.config.installation import from_context
from infra.dashboard import dashboard
from local.aws import Aws
from local.dashboard.judge import Bench
from local.dashboard.recorder import Recorder
from local.dashboard.server import Sight
from local.dashboard.view import View
from local.traces.store import Store


class Observatory:
    """All of it, for the one installation that the local stack is."""

    def __init__(self, aws: Aws, traces: Store) -> None:
        config = from_context({"local": "true"})
        born_at = time.time()
        self.recorder = Recorder()
        self.bench = Bench(alarms(config), config.prefix, self.recorder.series, aws, born_at)
        self._sight = Sight(self.recorder, View(dashboard(config), self.recorder, self.bench, born_at), traces)
        self.port = self._sight.port

    def open(self) -> None:
        """Begin to serve, with every alarm in its place."""
        self.bench.open()
        self._sight.open()

    def take(self, record: dict[str, Any]) -> None:
        """Take in a record of the emulator's log."""
        self.recorder.take(record)

    def judge(self) -> None:
        """Look at every alarm."""
        self.bench.judge(time.time())
