"""Spreading: draws the offset of a schedule that is to be spread, where the forecast says that less is due."""

from dataclasses import replace

from cronfleet.domain.instant import Instant
from cronfleet.domain.schedule import Spec
from cronfleet.domain.spread import draw, kept
from cronfleet.domain.trigger import UNCOMPUTABLE
from cronfleet.ports.job_store import JobStore


class Spreading:
    """Part of creating and editing; a schedule that is not spread costs it nothing."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def drawn(self, spec: Spec, before: Spec | None, tenant: str, schedule_id: str, now: Instant) -> Spec:
        """`spec` with the offset that it keeps from `before`, or brings along, or is drawn now."""
        spread = spec.policies.spread
        if spread is None:
            return spec
        if before is not None:
            spread = kept(spread, spec.trigger, before.policies.spread, before.trigger)
        if spread.offset_seconds is None:
            try:
                spread = draw(spread, f"{tenant}~{schedule_id}", spec.trigger, now, None)
            except UNCOMPUTABLE:
                spread = replace(spread, offset_seconds=0)  # Whoever makes the timer says what is wrong.
        return replace(spec, policies=replace(spec.policies, spread=spread))
