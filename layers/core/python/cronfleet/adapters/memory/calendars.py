"""`CalendarStore` in memory."""

from dataclasses import replace

from cronfleet.adapters.memory.state import State
from cronfleet.domain.calendar import NAME_PATTERN, Calendar, CalendarHead, Missing
from cronfleet.domain.calendar_change import bound_to, rule_of
from cronfleet.domain.schedule import Definition, Status, Timer
from cronfleet.domain.tenant import ID_PATTERN
from cronfleet.ports import cursors
from cronfleet.ports.bound import NOT_THERE
from cronfleet.ports.job_store import Listed, Page


class MemoryCalendars:
    """Calendars, and who uses them."""

    def __init__(self, state: State) -> None:
        self.state = state

    def get_calendar_head(self, tenant: str, name: str) -> CalendarHead | None:
        return self.state.calendar_heads.get((tenant, name))

    def get_calendar(self, tenant: str, name: str, version: int) -> Calendar | None:
        return self.state.calendars.get((tenant, name, version))

    def list_calendars(self, tenant: str, *, cursor: str | None, limit: int) -> Page[CalendarHead]:
        after = "" if cursor is None else cursors.decode(cursor, 1)[0]
        if cursor is not None and not NAME_PATTERN.fullmatch(after):
            raise cursors.foreign()
        heads = [
            head
            for (owner, name), head in sorted(self.state.calendar_heads.items())
            if owner == tenant and name > after and not head.is_deleted
        ]
        more = len(heads) > limit
        return Page(heads[:limit], cursors.encode([heads[limit - 1].name]) if more else None)

    def list_following(self, tenant: str, name: str, *, cursor: str | None, limit: int) -> Page[Listed]:
        after = "" if cursor is None else cursors.decode(cursor, 1)[0]
        if cursor is not None and not ID_PATTERN.fullmatch(after):
            raise cursors.foreign()
        using = sorted(
            (timer for timer in self.state.timers.values() if timer.tenant == tenant and _uses(timer, name)),
            key=lambda timer: timer.schedule_id,
        )
        rest = [timer for timer in using if timer.schedule_id > after]
        items = [Listed(timer.schedule_id, timer.status, timer.version) for timer in rest[:limit]]
        return Page(items, cursors.encode([items[-1].schedule_id]) if len(rest) > limit else None)


def _uses(timer: Timer, name: str) -> bool:
    rule = rule_of(timer.trigger)
    return rule is not None and rule.name == name and timer.status is not Status.CANCELLED


def find(state: State, tenant: str, name: str, version: int) -> Calendar | Missing:
    """The content that a trigger is handed out with."""
    return state.calendars.get((tenant, name, version), NOT_THERE)


def bare(timer: Timer) -> Timer:
    """`timer` as a table would hold it: without its calendar's content."""
    return timer if rule_of(timer.trigger) is None else replace(timer, trigger=bound_to(timer.trigger, None))


def bare_definition(definition: Definition) -> Definition:
    """`definition` as a table would hold it."""
    spec = definition.spec
    if rule_of(spec.trigger) is None:
        return definition
    return replace(definition, spec=replace(spec, trigger=bound_to(spec.trigger, None)))
