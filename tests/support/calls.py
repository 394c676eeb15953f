"""Calls of targets, as the worker makes them, for tests that run real processes against the real clock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cronfleet.adapters.system.clock import SystemClock
from cronfleet.domain.attempt_log import LogLine, LogPlace
from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import RunKey
from cronfleet.domain.target import Target
from cronfleet.ports.target import Call, CancelAsked, FenceLost, Receipt
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
    is_cancelled: bool = False

    def record(
        self, _key: RunKey, fence: int, name: str, value: Any, _now: Instant, *, knows_of_cancel: bool = False
    ) -> Receipt:
        if self.is_cancelled and not knows_of_cancel:
            raise CancelAsked
        if self.silent is not None:
            raise self.silent
        if self.lost:
            raise FenceLost(f"fence {fence}")
        if name in self.records:
            return Receipt(first=False, value=self.records[name])
        self.records[name] = value
        return Receipt(first=True, value=value)


@dataclass
class Felt:
    """A pulse that a test feels: what the attempt told and said. `cancel` is what it is told."""

    cancel: CancelRequest | None = None
    is_stopping: bool = False
    lost: bool = False
    beats: list[tuple[float | None, str | None]] = field(default_factory=list)
    lines: list[LogLine] = field(default_factory=list)
    is_whole: bool = True
    place: LogPlace | None = None
    looks: int = 0
    on_beat: Callable[["Felt"], None] = lambda _: None

    def beat(self, fraction: float | None = None, text: str | None = None) -> None:
        if self.lost:
            raise FenceLost
        self.beats.append((fraction, text))
        self.on_beat(self)

    def look(self) -> None:
        self.looks += 1
        if self.lost:
            raise FenceLost

    def log(self, lines: Sequence[LogLine], *, is_whole: bool, place: LogPlace | None = None) -> None:
        self.lines, self.is_whole, self.place = list(lines), is_whole, place

    @property
    def said(self) -> list[str]:
        return [line.text for line in self.lines]
