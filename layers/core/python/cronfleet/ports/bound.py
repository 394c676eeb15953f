"""Bound: triggers with the content of their calendars, as every store hands them out, and bare, as it keeps them."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from cronfleet.domain.calendar import CALENDARS_KEPT, Calendar, Missing
from cronfleet.domain.calendar_change import bound_to, rule_of
from cronfleet.domain.claim import DueItem
from cronfleet.domain.schedule import Definition, Spec, Timer
from cronfleet.domain.trigger import Trigger

Find: TypeAlias = Callable[[str, str, int], Calendar | Missing]
"""The content of (tenant, name, version)."""

NOT_THERE: Final = Missing("is not there")


def bound_trigger(trigger: Trigger, tenant: str, find: Find) -> Trigger:
    """`trigger` with its calendar's content."""
    rule = rule_of(trigger)
    return trigger if rule is None else bound_to(trigger, find(tenant, rule.name, rule.version))


def bound_timer(timer: Timer, find: Find) -> Timer:
    """`timer` with its calendar's content."""
    if rule_of(timer.trigger) is None:
        return timer
    return replace(timer, trigger=bound_trigger(timer.trigger, timer.tenant, find))


def bound_definition(definition: Definition, find: Find) -> Definition:
    """`definition` with its calendar's content."""
    if rule_of(definition.spec.trigger) is None:
        return definition
    return replace(definition, spec=bound_spec(definition.spec, definition.tenant, find))


def bound_spec(spec: Spec, tenant: str, find: Find) -> Spec:
    """`spec` with its calendar's content."""
    return replace(spec, trigger=bound_trigger(spec.trigger, tenant, find))


def bound_item(item: DueItem, find: Find) -> DueItem:
    """What waits in the due index, with its calendar's content."""
    return bound_timer(item, find) if isinstance(item, Timer) else item


class Kept:
    """The contents that this process has read; the one that was not asked for longest makes room."""

    def __init__(self, read: Callable[[str, str, int], Calendar | None]) -> None:
        self._read = read
        self._calendars: OrderedDict[tuple[str, str, int], Calendar] = OrderedDict()

    def get(self, tenant: str, name: str, version: int) -> Calendar | None:
        """The content, which never changes; what is not there is asked for again."""
        key = (tenant, name, version)
        known = self._calendars.get(key)
        if known is not None:
            self._calendars.move_to_end(key)
            return known
        found = self._read(*key)
        if found is not None:
            self._calendars[key] = found
            if len(self._calendars) > CALENDARS_KEPT:
                self._calendars.popitem(last=False)
        return found

    def find(self, tenant: str, name: str, version: int) -> Calendar | Missing:
        """The content, or why there is none."""
        return self.get(tenant, name, version) or NOT_THERE
