"""Sealing: ties the chains of each tenant's audit log together, once a minute, by a seal over every end that has moved.

A sealer that dies leaves nothing half done: a seal is one item, and an end that is not marked yet is sealed again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Final

from cronfleet.domain.audit_chain import MAX_LINES, SEAL_SLICES, sealed
from cronfleet.domain.instant import Instant
from cronfleet.ports.audit import AuditStore
from cronfleet.ports.clock import Clock
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask

MAX_PAGES: Final = 10
"""Pages of each slice that one sweep seals; what is left is sealed by the next."""


@dataclass(slots=True)
class SealReport:
    """What one sweep sealed, in counts."""

    seals: int = 0
    chains: int = 0


class Sealer:
    """Writes seals. Two at once harm nothing: of two seals of one number one is written."""

    def __init__(self, *, store: AuditStore, clock: Clock, telemetry: Telemetry) -> None:
        self._store = store
        self._clock = clock
        self._telemetry = telemetry

    def seal(self, deadline_at: Instant) -> SealReport:
        """Seal what waits, stopping before `deadline_at`. Raises `NoAnswer` and `Damaged`."""
        report = SealReport()
        for tenant, subjects in self._waiting():
            if self._clock.now() >= deadline_at:
                self._telemetry.event("sealing_cut_short", seals=report.seals)
                break
            self._seal(tenant, subjects, report)
        return report

    def _waiting(self) -> Iterator[tuple[str, list[str]]]:
        """Subjects of one tenant at a time, as many as a seal takes; a slice that begins elsewhere each minute."""
        first = self._clock.now() // 60_000 % SEAL_SLICES
        for number in (*range(first, SEAL_SLICES), *range(first)):
            cursor: str | None = None
            for _ in range(MAX_PAGES):
                page = ask(partial(self._store.unsealed, number, cursor, MAX_LINES))
                for tenant, chains in groupby(page.items, key=lambda chain: chain[0]):
                    yield tenant, [subject for _, subject in chains]
                cursor = page.cursor
                if cursor is None:
                    break

    def _seal(self, tenant: str, subjects: list[str], report: SealReport) -> None:
        stored = ask(lambda: self._store.get_heads(tenant, subjects))
        # The index is a hint: what has been sealed meanwhile stands in it a moment longer.
        heads = [head for _, head in sorted(stored.items()) if head.seal is None]
        if not heads:
            return
        seal = sealed(ask(lambda: self._store.last_seal(tenant)), heads, self._clock.now())
        if not ask(lambda: self._store.put_seal(seal)):
            return  # Another sweep was faster; what it left, the next one seals.
        # Outside of the tables, where whoever can write them cannot reach it: the seals up to this one are known by it.
        self._telemetry.event("audit_sealed", tenant=tenant, number=seal.number, hash=seal.digest)
        for head in heads:
            ask(partial(self._store.mark_sealed, head, seal.number))
        report.seals += 1
        report.chains += len(heads)
