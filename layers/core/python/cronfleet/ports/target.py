"""Targets: where a run is executed. A new kind is one adapter behind this port."""

from dataclasses import dataclass
from typing import Any, Protocol

from cronfleet.domain.attempt import Result
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import RunKey
from cronfleet.domain.target import Target


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt as a target sees it.

    `deadline_at` is when the attempt must have ended (it is stopped then); `fence` guards its receipts.
    """

    key: RunKey
    attempt: int
    fence: int
    due_at: Instant
    deadline_at: Instant
    target: Target
    payload: Any


class Targets(Protocol):
    """Every target kind behind one call."""

    def call(self, call: Call) -> Result:
        """Run the attempt to its end or its deadline. A job that fails is a `Result`, never an exception."""
        ...


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of an effect: `first` is True for the one call that wrote it, `value` what that call recorded."""

    first: bool
    value: Any


class FenceLost(Exception):
    """The attempt's lease is over and another has the run: it may record nothing any more."""


class Receipts(Protocol):
    """Effects that happen once per run and name, guarded by the run's fence."""

    def record(self, key: RunKey, fence: int, name: str, value: Any, now: Instant) -> Receipt:
        """Record `value` under (run, name) unless it is there; raises `FenceLost` when `fence` is not the run's."""
        ...
