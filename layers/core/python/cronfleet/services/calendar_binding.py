"""Calendar binding: gives a trigger that a caller wrote the calendar that it names, as it is at that moment."""

from dataclasses import replace
from typing import Final

from cronfleet.domain.calendar import CalendarRule
from cronfleet.domain.calendar_change import bound_to, rule_of
from cronfleet.domain.errors import Invalid
from cronfleet.domain.schedule import Spec
from cronfleet.domain.trigger import Trigger
from cronfleet.ports.job_store import CalendarStore, CheckCalendar
from cronfleet.services.changing import answer_of

_FIELD: Final = "trigger.calendar"


def bound(store: CalendarStore, tenant: str, spec: Spec, before: Spec | None) -> tuple[Spec, tuple[CheckCalendar, ...]]:
    """`spec` with its calendar's version and content, and what must still hold when it is written.

    What `before` says stays as it is, also while a newer version is on its way to it. `Invalid` where there is no such
    calendar or version.
    """
    rule = rule_of(spec.trigger)
    if rule is None:
        return spec, ()
    if before is not None and rule.version and rule == rule_of(before.trigger):
        return replace(spec, trigger=_with_content(store, tenant, spec.trigger, rule)), ()
    trigger, newest = bound_trigger(store, tenant, spec.trigger, rule)
    settled = rule_of(trigger)
    follows = settled is not None and settled.version == newest and not settled.pinned
    checks = (CheckCalendar(tenant, rule.name, newest),) if follows else ()
    return replace(spec, trigger=trigger), checks


def following_anew(spec: Spec) -> Spec:
    """`spec` without the version of a calendar that it is not pinned to: bound, it has the newest."""
    rule = rule_of(spec.trigger)
    if rule is None or rule.pinned:
        return spec
    newest = replace(rule, version=0, days=None)
    return replace(spec, trigger=replace(spec.trigger, calendar=newest))  # type: ignore[arg-type]  # as in bound_trigger


def bound_trigger(store: CalendarStore, tenant: str, trigger: Trigger, rule: CalendarRule) -> tuple[Trigger, int]:
    """`trigger`, whose calendar rule is `rule`, with a version and its content; and which version is the newest."""
    head = answer_of(lambda: store.get_calendar_head(tenant, rule.name))
    if head is None or head.is_deleted:
        raise Invalid(f"{_FIELD}.name", f"there is no calendar {rule.name!r}; PUT /v1/calendars/{rule.name} makes it")
    if rule.version > head.version:
        raise Invalid(f"{_FIELD}.version", f"the newest version of {rule.name!r} is {head.version}, not {rule.version}")
    settled = replace(rule, version=rule.version or head.version)
    trigger = replace(trigger, calendar=settled)  # type: ignore[arg-type]  # only a cron has a rule
    return _with_content(store, tenant, trigger, settled), head.version


def _with_content(store: CalendarStore, tenant: str, trigger: Trigger, rule: CalendarRule) -> Trigger:
    content = answer_of(lambda: store.get_calendar(tenant, rule.name, rule.version))
    if content is None:
        raise Invalid(f"{_FIELD}.version", f"version {rule.version} of calendar {rule.name!r} cannot be read")
    return bound_to(trigger, content)
