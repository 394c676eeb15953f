"""The metrics in Prometheus' text form, added up since the stack was started.

A metric that CloudWatch keeps twice (lag by tier, and by shard) is one here, with all its labels.
"""

import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from infra.metrics import STANDING
from local.metrics import MARK

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

BOUNDS: Final = (0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 120, 300, 900)
"""Seconds: what is promised of lag (1 and 3) and what its alarms look at (3 and 30) are among them."""

OURS: Final = "cronfleet"
SECONDS: Final = "Seconds"

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Observed:
    """A histogram: how many values lay within each bound, how many there were, and their sum."""

    within: list[int] = field(default_factory=lambda: [0] * len(BOUNDS))
    count: int = 0
    total: float = 0.0

    def add(self, value: float) -> None:
        """One more value."""
        self.count += 1
        self.total += value
        for place, bound in enumerate(BOUNDS):
            self.within[place] += value <= bound


class Totals(Collector):
    """Counters, gauges and histograms by name and labels."""

    def __init__(self) -> None:
        self._counters: dict[str, dict[Labels, float]] = {}
        self._gauges: dict[str, dict[Labels, float]] = {}
        self._histograms: dict[str, dict[Labels, Observed]] = {}
        self._lock = threading.Lock()

    def take(self, record: Mapping[str, Any]) -> None:
        """Add what a line in the embedded metric format tells."""
        for directive in record[MARK].get("CloudWatchMetrics", ()):
            names = sorted({name for chosen in directive.get("Dimensions", ()) for name in chosen})
            labels = tuple((_snake(name), str(record[name])) for name in names if name in record)
            for metric in directive.get("Metrics", ()):
                value = record.get(metric["Name"])
                values = value if isinstance(value, list) else [value]
                with self._lock:
                    self._add(directive["Namespace"], metric, labels, [one for one in values if one is not None])

    def _add(self, namespace: str, metric: Mapping[str, Any], labels: Labels, values: list[float]) -> None:
        name = f"{_family(namespace)}_{_snake(metric['Name'])}"
        if metric["Name"] in STANDING:
            self._gauges.setdefault(name, {})[labels] = values[-1]
        elif metric.get("Unit") == SECONDS:
            observed = self._histograms.setdefault(f"{name}_seconds", {}).setdefault(labels, Observed())
            for value in values:
                observed.add(value)
        else:
            counted = self._counters.setdefault(name, {})
            counted[labels] = counted.get(labels, 0) + sum(values)

    def collect(self) -> Iterator[Metric]:
        """Every metric, as the client library writes them."""
        with self._lock:
            for name, counted in sorted(self._counters.items()):
                yield from _families(CounterMetricFamily, name, counted)
            for name, standing in sorted(self._gauges.items()):
                yield from _families(GaugeMetricFamily, name, standing)
            for name, observed in sorted(self._histograms.items()):
                yield _histogram(name, observed)

    def text(self) -> bytes:
        """The whole, as an exporter answers it."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)


def _families(
    kind: type[CounterMetricFamily] | type[GaugeMetricFamily], name: str, values: Mapping[Labels, float]
) -> Iterator[Metric]:
    family = kind(name, _help(name), labels=_label_names(values))
    for labels, value in sorted(values.items()):
        family.add_metric(_label_values(labels, values), value)
    yield family


def _histogram(name: str, observed: Mapping[Labels, Observed]) -> Metric:
    family = HistogramMetricFamily(name, _help(name), labels=_label_names(observed))
    for labels, one in sorted(observed.items()):
        buckets = [(str(float(bound)), number) for bound, number in zip(BOUNDS, one.within, strict=True)]
        family.add_metric(_label_values(labels, observed), [*buckets, ("+Inf", one.count)], one.total)
    return family


def _label_names(values: Mapping[Labels, Any]) -> list[str]:
    return sorted({name for labels in values for name, _ in labels})


def _label_values(labels: Labels, values: Mapping[Labels, Any]) -> list[str]:
    return [dict(labels).get(name, "") for name in _label_names(values)]


def _help(name: str) -> str:
    return f"{name.replace('_', ' ')}: see docs/observability.md"


def _family(namespace: str) -> str:
    return _snake(namespace) if namespace.startswith("AWS/") else OURS


def _snake(name: str) -> str:
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", parted.lower()).strip("_")
