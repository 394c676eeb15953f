"""Takes in the lines of the emulator's log: metrics for charts, alarms and Prometheus, and who made which attempts."""

import time
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any, Final

from infra.dashboard import LINE, MOST_IN_TOP, Top
from local.dashboard.prometheus import Totals
from local.dashboard.series import KEPT_SECONDS, Series
from local.metrics import MARK, data_in

MOST_ATTEMPTS: Final = 50_000
"""Of those that are kept for the tables of tenants; on this machine that is hours."""

Attempt = tuple[float, Mapping[str, Any]]


class Recorder:
    """What has been told since the stack was started, but for what is older than is kept."""

    def __init__(self) -> None:
        self.series = Series()
        self.totals = Totals()
        self._attempts: deque[Attempt] = deque(maxlen=MOST_ATTEMPTS)

    def take(self, record: dict[str, Any]) -> None:
        """Keep what `record` tells, if it tells anything."""
        if record.get("message") == LINE:
            self._attempts.append((time.time(), record))
        if MARK not in record:
            return
        for namespace, datum in data_in(record):
            dimensions = {one["Name"]: one["Value"] for one in datum["Dimensions"]}
            self.series.add(namespace, datum["MetricName"], dimensions, datum["Values"], datum["Timestamp"])
        self.totals.take(record)

    def top(self, widget: Top, now: float, seconds: float = KEPT_SECONDS) -> list[tuple[str, float]]:
        """Who has most of it, as the widget's query would find it in the logs of the last `seconds`."""
        found: Counter[str] = Counter()
        for at, record in list(self._attempts):
            if at < now - seconds or (widget.only and record.get("outcome") not in widget.only):
                continue
            weight = float(record.get("weight") or 1)
            amount = float(record.get("lag_seconds") or 0) if widget.value == "lag" else 1.0
            found[str(record.get(widget.field))] += weight * amount  # type: ignore[assignment]  # counts in parts
        return [(name, float(amount)) for name, amount in found.most_common(MOST_IN_TOP) if amount]
