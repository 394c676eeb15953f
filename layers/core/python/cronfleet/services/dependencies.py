"""Dependencies: who runs after whom, as it is changed with the schedules that say so.

Every change of an edge raises the tenant's mark, so that two that are decided side by side cannot both be written: no
two of them together make a cycle.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from cronfleet.domain.dependency import MAX_DEPENDANTS, AfterTrigger, Dependants, DependencyMark
from cronfleet.domain.errors import Invalid
from cronfleet.domain.schedule import Spec, Status, Timer
from cronfleet.ports.job_store import JobStore, PutDependants, PutDependencyMark, UpdateTimer, Write
from cronfleet.services.changing import answer_of

MAX_WALK: Final = 1_000
"""Schedules that are looked at, upwards from one, to see that a new edge makes no cycle."""

LONGEST_PATH: Final = 10
"""Schedules of a cycle that its refusal names."""


class Dependencies:
    """The writes that keep the lists of dependants what the schedules' triggers say."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def writes(self, tenant: str, schedule_id: str, before: Spec | None, after: Spec | None) -> Sequence[Write]:
        """What belongs to the change of a schedule's definition; nothing, without a read, where no edge changes.

        `None` stands for no schedule. `Invalid` for a parent that is none, one too many, or a cycle, which it names.
        """
        was, wanted = parents_of(before), parents_of(after)
        gained = [name for name in wanted if name not in was]
        lost = [name for name in was if name not in wanted]
        if not gained and not lost:
            return ()
        mark = answer_of(lambda: self._store.get_dependency_mark(tenant))
        writes = [write for name in gained for write in self._gain(tenant, name, schedule_id)]
        self._refuse_cycle(tenant, schedule_id, gained)
        writes += [write for name in lost for write in self._lose(tenant, name, schedule_id)]
        return (*writes, PutDependencyMark(DependencyMark(tenant, mark.rev + 1)))

    def _gain(self, tenant: str, parent: str, schedule_id: str) -> Iterator[Write]:
        if parent == schedule_id:
            raise Invalid("trigger.after", f"{schedule_id} cannot run after itself")
        timer = self._timer(tenant, parent)
        if timer is None or timer.status is Status.CANCELLED:
            raise Invalid("trigger.after", f"there is no schedule {parent}; create it first")
        known = self._dependants(tenant, parent)
        if len(known.names) >= MAX_DEPENDANTS:
            raise Invalid("trigger.after", f"{parent} has {len(known.names)} dependants; {MAX_DEPENDANTS} are allowed")
        names = tuple(sorted({*known.names, schedule_id}))
        yield PutDependants(replace(known, names=names, rev=known.rev + 1))
        if not timer.feeds:
            yield UpdateTimer(replace(timer, feeds=True, rev=timer.rev + 1), timer)

    def _lose(self, tenant: str, parent: str, schedule_id: str) -> Iterator[Write]:
        known = self._dependants(tenant, parent)
        names = tuple(name for name in known.names if name != schedule_id)
        yield PutDependants(replace(known, names=names, rev=known.rev + 1))
        timer = None if names else self._timer(tenant, parent)
        if timer is not None and timer.feeds:
            yield UpdateTimer(replace(timer, feeds=False, rev=timer.rev + 1), timer)

    def _dependants(self, tenant: str, schedule_id: str) -> Dependants:
        return answer_of(lambda: self._store.get_dependants(tenant, schedule_id))

    def _timer(self, tenant: str, schedule_id: str) -> Timer | None:
        return answer_of(partial(self._store.get_timer, tenant, schedule_id))

    def _refuse_cycle(self, tenant: str, schedule_id: str, gained: Sequence[str]) -> None:
        """Walk upwards from the new parents. Whom nobody runs after is in no cycle, and needs no walk."""
        if not gained or not self._dependants(tenant, schedule_id).names:
            return
        below: dict[str, str] = dict.fromkeys(gained, schedule_id)
        waiting = [*gained]
        while waiting:
            name = waiting.pop()
            if len(below) > MAX_WALK:
                raise Invalid("trigger.after", f"more than {MAX_WALK} schedules stand above {schedule_id}")
            timer = self._timer(tenant, name)
            for parent in () if timer is None else parents_in(timer):
                if parent == schedule_id:
                    raise Invalid("trigger.after", f"would make a cycle: {_path(below, name, schedule_id)}")
                if parent not in below:
                    below[parent] = name
                    waiting.append(parent)


def _path(below: Mapping[str, str], last: str, schedule_id: str) -> str:
    """`a → b → c → a`: each runs after the one before it."""
    names = [schedule_id, last]
    while names[-1] != schedule_id:
        names.append(below[names[-1]])
    if len(names) > LONGEST_PATH:
        names = [*names[: LONGEST_PATH // 2], "…", *names[-LONGEST_PATH // 2 :]]
    return " → ".join(names)


def parents_of(spec: Spec | None) -> tuple[str, ...]:
    """Whom a schedule of this definition runs after."""
    return spec.trigger.parents if spec is not None and isinstance(spec.trigger, AfterTrigger) else ()


def parents_in(timer: Timer) -> tuple[str, ...]:
    """Whom a schedule runs after; one that is deleted after nobody."""
    if timer.status is Status.CANCELLED or not isinstance(timer.trigger, AfterTrigger):
        return ()
    return timer.trigger.parents
