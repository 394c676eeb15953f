"""Calls of targets, as the worker makes them, for tests that run real processes against the real clock."""

from dataclasses import dataclass, field
from typing import Any

from cronfleet.adapters.system.clock import SystemClock
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import RunKey
from cronfleet.domain.target import Target
from cronfleet.ports.target import Call, FenceLost, Receipt
from tests.support.builders import at

KEY = RunKey("acme", "month.end", 3, at("2026-12-01 02:00"))


def call(target: Target, payload: Any = None, *, seconds: float = 5, attempt: int = 1) -> Call:
    now = SystemClock().now()
    return Call(KEY, attempt, attempt, KEY.nominal_at, now + int(seconds * 1000), target, payload)


@dataclass
class Notebook:
    """Receipts in this process: what a child records is seen here. `lost` makes it refuse everything."""

    records: dict[str, Any] = field(default_factory=dict)
    lost: bool = False
    silent: Exception | None = None

    def record(self, _key: RunKey, fence: int, name: str, value: Any, _now: Instant) -> Receipt:
        if self.silent is not None:
            raise self.silent
        if self.lost:
            raise FenceLost(f"fence {fence}")
        if name in self.records:
            return Receipt(first=False, value=self.records[name])
        self.records[name] = value
        return Receipt(first=True, value=value)
