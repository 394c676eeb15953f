"""The step of a job after a new version of a calendar: each schedule that follows gets it as a version of its own."""

from dataclasses import replace
from functools import partial

from cronfleet.domain.audit import SCHEDULER_ACTOR
from cronfleet.domain.calendar_change import follows, under
from cronfleet.domain.change import edited
from cronfleet.domain.errors import Invalid
from cronfleet.domain.form import schedule_form
from cronfleet.domain.instant import Instant
from cronfleet.domain.retiming import Retiming
from cronfleet.domain.schedule import Status, Timer
from cronfleet.ports.job_store import InsertDefinition, InsertRun, InsertRunTimer, JobStore, Write
from cronfleet.services.asking import ask
from cronfleet.services.retimed import Retimed


class CalendarStep:
    """What a job of the cause `calendar` does to a schedule.

    A schedule that has completed goes on if the new version leaves it a day to fire on, as after a freeze that was a
    mistake; else it keeps the version that it completed with. What the old version named up to now is
    accounted for as after any change of a trigger.
    """

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def concerns(self, job: Retiming, timer: Timer) -> bool:
        """Whether `timer` follows the calendar and has not come to the version yet."""
        return follows(timer.trigger, job.subject, job.version) is not None

    def decide(self, job: Retiming, timer: Timer, now: Instant) -> Retimed | None:
        """The schedule under the calendar's version. `Invalid` where that cannot be read."""
        trigger = follows(timer.trigger, job.subject, job.version)
        place = (timer.tenant, timer.schedule_id, timer.version)
        before = ask(partial(self._store.get_definition, *place))
        calendar = ask(lambda: self._store.get_calendar(job.tenant, job.subject, job.version))
        if trigger is None or before is None:
            return None
        if calendar is None:
            raise Invalid("calendar", f"version {job.version} of {job.subject!r} cannot be read")
        why = f"calendar {job.subject!r} came to version {job.version}"
        why += f": {calendar.reason}" if calendar.reason else ""
        after, definition, rows, run_timers = edited(
            timer,
            before,
            replace(before.spec, trigger=under(trigger, calendar)),
            now=now,
            change_id=job.job_id,
            author=SCHEDULER_ACTOR,
            reason=why,
            may_end=True,
        )
        if timer.status is after.status is Status.COMPLETED:
            return None
        more: list[Write] = [InsertDefinition(definition), *map(InsertRun, rows), *map(InsertRunTimer, run_timers)]
        return Retimed(after, schedule_form(timer, before), schedule_form(after, definition), why, more)
