"""A tenant's document: its schedules and calendars in a form that can be applied to another tenant, here or elsewhere.

It says what a tenant wants, not what has happened: no history, no keys, nobody's names but those that owners wrote.
Exported again from where it was applied, it says the same.
"""

from collections.abc import Mapping
from typing import Any, Final

from cronfleet.domain.calendar import Calendar, CalendarRule
from cronfleet.domain.calendar_change import rule_of
from cronfleet.domain.calendar_form import content_form
from cronfleet.domain.form import Form, spec_form
from cronfleet.domain.instant import to_text
from cronfleet.domain.schedule import Definition, Pause, Timer
from cronfleet.domain.target import secret_prefix

FORMAT: Final = "cronfleet-tenant/1"
"""What `format` says; another number stands for a form that this release does not read."""

_SECRETS: Final = ("secret", "secrets")


def schedule_entry(timer: Timer, definition: Definition) -> Form:
    """A schedule: what its owner wrote, and how it stands. Who paused or held it, and when, belongs to its history."""
    form = spec_form(definition.spec)
    return {
        "id": timer.schedule_id,
        **form,
        "trigger": _trigger(form["trigger"], rule_of(definition.spec.trigger)),
        "status": timer.status.value,
        "paused": None if timer.pause is None else _pause(timer.pause),
        "hold": None if timer.hold is None else {"shadow": timer.hold.shadow is not None},
    }


def _trigger(form: Form, rule: CalendarRule | None) -> Form:
    """The trigger; one that follows its calendar names no version of it: it takes the newest that there is."""
    if rule is None or rule.pinned:
        return form
    return {**form, "calendar": {name: value for name, value in form["calendar"].items() if name != "version"}}


def _pause(pause: Pause) -> Form:
    return {"reason": pause.reason, "until": None if pause.until is None else to_text(pause.until)}


def calendar_entry(name: str, versions: Mapping[int, Calendar]) -> Form:
    """A calendar: the versions in force, oldest first; the last is the newest there is."""
    entries = [{"version": number, **content_form(versions[number])} for number in sorted(versions)]
    return {"name": name, "versions": entries}


def moved_target(target: Mapping[str, Any], from_tenant: str, to_tenant: str) -> dict[str, Any]:
    """`target` for another tenant: the names of secrets begin with their tenant's own prefix."""
    prefix, own = secret_prefix(from_tenant), secret_prefix(to_tenant)

    def moved(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: moved(one) for name, one in value.items()}
        if isinstance(value, str) and value.startswith(prefix):
            return own + value.removeprefix(prefix)
        return value

    return {name: moved(value) if name in _SECRETS else value for name, value in target.items()}
