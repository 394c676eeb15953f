"""Spreading: draws the offset of a schedule that is to be spread, where the forecast says that less is due."""

from dataclasses import replace
from typing import Final

from cronfleet.domain.forecast_reading import Reading
from cronfleet.domain.instant import MINUTE, Instant
from cronfleet.domain.schedule import Spec
from cronfleet.domain.spread import Load, draw, kept
from cronfleet.domain.trigger import UNCOMPUTABLE
from cronfleet.ports.job_store import Damaged, JobStore, NoAnswer

KEPT_FOR: Final = 5 * MINUTE
"""How long a process goes by the forecast that it has read: it is counted once an hour."""


class Spreading:
    """Part of creating and editing; a schedule that is not spread costs it nothing."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._read: tuple[Instant, Reading | None] | None = None

    def drawn(self, spec: Spec, before: Spec | None, tenant: str, schedule_id: str, now: Instant) -> Spec:
        """`spec` with the offset that it keeps from `before`, or brings along, or is drawn now."""
        spread = spec.policies.spread
        if spread is None:
            return spec
        if before is not None:
            spread = kept(spread, spec.trigger, before.policies.spread, before.trigger)
        if spread.offset_seconds is None:
            try:
                spread = draw(spread, f"{tenant}~{schedule_id}", spec.trigger, now, self._load(now))
            except UNCOMPUTABLE:
                spread = replace(spread, offset_seconds=0)  # Whoever makes the timer says what is wrong.
        return replace(spec, policies=replace(spec.policies, spread=spread))

    def _load(self, now: Instant) -> Load | None:
        """What is due when, of all tenants; `None` where nobody has counted it."""
        if self._read is None or not 0 <= now - self._read[0] < KEPT_FOR:
            self._read = (now, self._latest())
        read = self._read[1]
        return None if read is None else read.counts.at

    def _latest(self) -> Reading | None:
        try:
            return self._store.get_forecast()
        except (NoAnswer, Damaged):
            return None  # A schedule is made all the same; its offset is then the first that was drawn.
