"""The freeze watch: what is frozen, as a process knows it, read again when that is more than `HELD` old.

Whoever starts runs reads strongly, so that a freeze that returned is obeyed whatever else is late. A dispatcher takes
the cheaper copy: what it claims all the same, the worker does not start.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from cronfleet.domain.claim import Claimable
from cronfleet.domain.freeze import HELD, Freeze, FreezeDirectory, Freezes, label_hashes
from cronfleet.domain.instant import Instant
from cronfleet.domain.schedule import Timer
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import Damaged, JobStore
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.noticeboard import Noticeboard

MAX_LISTS: Final = 1_000
"""Tenants whose freezes a process remembers; then it forgets them all, and reads again."""


class FreezeWatch:
    """One for each service of a process."""

    def __init__(
        self,
        store: JobStore,
        clock: Clock,
        telemetry: Telemetry | None = None,
        *,
        consistent: bool,
        board: Noticeboard | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._telemetry = telemetry
        self._consistent = consistent
        self.board = board or Noticeboard(store, clock, telemetry, consistent=consistent)
        self._lists: dict[str, tuple[Instant, tuple[Freeze, ...]]] = {}

    def directory(self) -> FreezeDirectory:
        """The installation's directory, at most `HELD` old. Raises `NoAnswer`."""
        return self.board.directory()

    def freezes(self, tenants: Collection[str]) -> Freezes:
        """What is frozen of `tenants`, and lately was, at most `HELD` old. Raises `NoAnswer`."""
        directory = self.directory()
        now = self._clock.now()
        held = [tenant for tenant in tenants if directory.may_hold(tenant, now)]
        self._read_lists([tenant for tenant in held if not self._knows(tenant, now)], now)
        return Freezes(directory.tiers, {tenant: self._lists[tenant][1] for tenant in held if tenant in self._lists})

    def _alarm(self, error: Damaged) -> None:
        if self._telemetry is not None:
            self._telemetry.alarm("freezes_damaged", error=str(error))

    def _knows(self, tenant: str, now: Instant) -> bool:
        known = self._lists.get(tenant)
        return known is not None and _is_fresh(known[0], now)

    def _read_lists(self, tenants: Collection[str], now: Instant) -> None:
        if not tenants:
            return
        if len(self._lists) + len(tenants) > MAX_LISTS:
            self._lists.clear()
        try:
            if self._consistent:
                lists = {tenant: ask(partial(self._store.get_freeze_list, tenant)) for tenant in tenants}
            else:
                lists = dict(ask(lambda: self._store.get_freeze_lists(tenants)))
        except Damaged as error:
            self._alarm(error)
            return
        for tenant in tenants:
            self._lists[tenant] = now, lists[tenant].freezes if tenant in lists else ()

    def of(self, timer: Timer, tier: str) -> tuple[Freeze, ...]:
        """Every freeze of a schedule, those that have lately ended too. Raises `NoAnswer`."""
        freezes = self.freezes([timer.tenant])
        return freezes.of(timer.tenant, tier, self.labels_of(timer, freezes))

    def over(self, items: Sequence[Claimable]) -> tuple[Sequence[Claimable], Freezes]:
        """Due items with their labels, where freezes ask for them, and what is frozen of them. Raises `NoAnswer`."""
        freezes = self.freezes({item.tenant for item in items if isinstance(item, Timer)})
        return [self._labelled(item, freezes) for item in items], freezes

    def _labelled(self, item: Claimable, freezes: Freezes) -> Claimable:
        if not isinstance(item, Timer) or item.labels is not None or not freezes.asks_for_labels(item.tenant):
            return item
        return replace(item, labels=self.labels_of(item, freezes))

    def labels_of(self, timer: Timer, freezes: Freezes) -> tuple[str, ...] | None:
        """The hashes of the schedule's labels, if any freeze asks for them. Raises `NoAnswer`.

        Timers that are older than the hashes do not hold them: their definition tells.
        """
        if timer.labels is not None or not freezes.asks_for_labels(timer.tenant):
            return timer.labels
        definition = ask(lambda: self._store.get_definition(timer.tenant, timer.schedule_id, timer.version))
        return None if definition is None else label_hashes(definition.spec.labels)


def _is_fresh(read_at: Instant, now: Instant) -> bool:
    # A clock that was set back tells nothing.
    return 0 <= now - read_at < HELD
