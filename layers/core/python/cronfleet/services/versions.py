"""Versions: what a schedule has said over time, and what changed from one to another."""

from functools import partial
from itertools import pairwise

from cronfleet.domain.effect_form import diff_form, version_form, whole_version_form
from cronfleet.domain.errors import NotFound
from cronfleet.domain.form import Form
from cronfleet.domain.lint import lint_form
from cronfleet.domain.schedule import Definition, Status, Timer
from cronfleet.domain.schedule_answer import lint_of_trigger
from cronfleet.domain.version_diff import changed_fields, compare
from cronfleet.ports import cursors
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore, Page
from cronfleet.services.access import Caller
from cronfleet.services.changing import answer_of


class Versions:
    """The service behind /v1/schedules/{id}/versions; rolling back is a change, and `Schedules` makes it."""

    def __init__(self, *, store: JobStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def list(self, caller: Caller, schedule_id: str, *, cursor: str | None, limit: int) -> Page[Form]:
        """A page of versions, newest first, each with the fields that it changed; those of an earlier life too."""
        timer = self._require(caller, schedule_id)
        before = None if cursor is None else _number(cursor)
        ask = partial(self._store.list_definitions, timer.tenant, schedule_id, before=before, limit=limit + 1)
        found = answer_of(ask)
        forms = [_listed(newer, older, timer) for newer, older in pairwise(found)]
        if len(found) > limit:
            return Page(forms, cursors.encode([str(found[limit - 1].version)]))
        return Page([*forms, *(_listed(one, None, timer) for one in found[-1:])])

    def get(self, caller: Caller, schedule_id: str, version: int) -> Form:
        """One version, all of it; `NotFound` when there is none of this number."""
        timer = self._require(caller, schedule_id)
        definition = self._definition(timer, version)
        spec = definition.spec
        lint = lint_of_trigger(spec.trigger, spec.policies.widest_delay_seconds, self._clock.now())
        return {**whole_version_form(definition, timer), **lint_form(lint)}

    def diff(self, caller: Caller, schedule_id: str, version: int, to: int | None) -> Form:
        """What has changed from `version` to `to` (the current one), which may also be the older of the two."""
        timer = self._require(caller, schedule_id)
        before = self._definition(timer, version)
        after = self._definition(timer, timer.version if to is None else to)
        said = {"schedule_id": schedule_id, "from": before.version, "to": after.version}
        return {**said, **diff_form(compare(before.spec, after.spec))}

    def _require(self, caller: Caller, schedule_id: str) -> Timer:
        timer = answer_of(partial(self._store.get_timer, caller.tenant.tenant_id, schedule_id))
        if timer is None or timer.status is Status.CANCELLED:
            raise NotFound("schedule", schedule_id)
        return timer

    def _definition(self, timer: Timer, version: int) -> Definition:
        found = answer_of(partial(self._store.get_definition, timer.tenant, timer.schedule_id, version))
        if found is None:
            raise NotFound("version", str(version))
        return found


def _number(cursor: str) -> int:
    (number,) = cursors.decode(cursor, 1)
    if not (number.isascii() and number.isdigit() and len(number) <= 9):
        raise cursors.foreign()
    return int(number)


def _listed(one: Definition, older: Definition | None, timer: Timer) -> Form:
    changed = [] if older is None else changed_fields(older.spec, one.spec)
    return {**version_form(one, timer), "changed": changed}
