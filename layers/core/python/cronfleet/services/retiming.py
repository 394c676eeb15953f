"""Retimings: jobs that look at schedules again, page by page, after a change of the zone data or of a calendar.

The sweeper carries them on each minute, after its other duties and for a limited time. What a job has done is noted
after each page; a page that a crash cut short is done again, and finds what it had changed by the job's own id.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from cronfleet.domain.claim import Unreadable
from cronfleet.domain.errors import ClockSkewed, Contended, CronfleetError
from cronfleet.domain.instant import EARLIEST, SECOND, Instant
from cronfleet.domain.retiming import (
    MAX_POSTPONED,
    MAX_TRIES,
    Cause,
    Postponed,
    Retiming,
    Tally,
    for_zone_data,
)
from cronfleet.domain.run import Run
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.zone_release import ZoneRelease, first_seen
from cronfleet.domain.zones import tzdata_version
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import (
    InsertRetiming,
    JobStore,
    NoAnswer,
    Page,
    PutZoneRelease,
    Refused,
    ScheduleKey,
    Write,
)
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.retimed import Retimed, write
from cronfleet.services.true_clock import require_true_clock

SCHEDULES_PER_PAGE: Final = 100
MAX_PAGES_PER_SWEEP: Final = 500
MAX_OPEN_JOBS: Final = 100
"""Jobs that one sweep looks at; the others wait until one of them is done."""

MAX_DECISIONS: Final = 5
"""How often the change of a schedule is decided anew within a sweep because somebody else's write came first."""

MAX_DECISION: Final = 10 * SECOND
"""How old the time of a decision may be when it is written."""

MAX_SURPRISES: Final = 5
"""Schedules of a page that may fail with an error nobody foresaw; with more, it is not the schedules' fault."""


class Step(Protocol):
    """What a job of one cause does to a schedule."""

    def concerns(self, job: Retiming, timer: Timer) -> bool:
        """Whether `timer`, which may be a moment old, is worth being read again and decided upon. Cheap."""
        ...

    def decide(self, job: Retiming, timer: Timer, now: Instant) -> Retimed | None:
        """The change of `timer` as it is now, or `None` where none is due; its `change_id` is the job's id.

        Asked again whenever somebody else's write comes first. `Contended`: not now. Any other error says that this
        schedule cannot be retimed.
        """
        ...


@dataclass(slots=True)
class RetimingReport:
    """What one sweep did, in counts of schedules."""

    jobs: int = 0
    finished: int = 0
    tally: Tally = field(default_factory=Tally)


class Retimings:
    """Starts the jobs of the zone data and carries all on; a calendar's starts with the write of its version."""

    def __init__(
        self, *, store: JobStore, clock: Clock, ids: Ids, telemetry: Telemetry, steps: Mapping[Cause, Step]
    ) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._telemetry = telemetry
        self._steps = steps

    # --- starting ----------------------------------------------------------------------------------------------

    def start_zone_data(self) -> ZoneRelease:
        """Note which release of the zone data is at work, and look at all schedules once it has settled."""
        stored = ask(self._store.get_zone_release)
        require_true_clock(self._store, self._telemetry)
        mine, now = tzdata_version(), self._clock.now()
        noted = first_seen(mine, now) if stored is None else stored.seen(mine, now)
        if noted is None:
            return stored or first_seen(mine, now)
        writes: list[Write] = [PutZoneRelease(noted)]
        if noted.release != (stored.release if stored else ""):
            writes.append(InsertRetiming(for_zone_data(self._ids.unique(), noted.release, now)))
            self._telemetry.event("zone_data_in_force", release=noted.release, before=stored.release if stored else "")
        self._start(writes)
        return noted

    def _start(self, writes: Sequence[Write]) -> None:
        try:
            ask(lambda: self._store.commit(writes))
        except Refused:
            return  # Another process was faster: the job is there, and so is what came with it.

    # --- carrying on -------------------------------------------------------------------------------------------

    def advance(self, until: Instant) -> RetimingReport:
        """Carry every open job on by one page in turn, until they are done or it is `until`.

        Raises `NoAnswer` when the store stays silent, and `ClockSkewed`: the next sweep goes on where this one was.
        """
        report = RetimingReport()
        release = self.start_zone_data()
        jobs = [job for job in ask(lambda: self._store.open_retimings(MAX_OPEN_JOBS)) if job.cause in self._steps]
        report.jobs = len(jobs)
        jobs = [job for one in jobs if (job := self._first_turn(one, release, report)) is not None]
        for _ in range(MAX_PAGES_PER_SWEEP):
            if not jobs or self._clock.now() >= until:
                break
            job = self._page(jobs.pop(0), report)
            if job is not None and not job.walked:
                jobs.append(job)
        return report

    def _first_turn(self, job: Retiming, release: ZoneRelease, report: RetimingReport) -> Retiming | None:
        """What to do before the first page of a sweep; `None` when there is no page for this process to do."""
        if job.cause is Cause.ZONE_DATA:
            if job.subject != release.release:
                self._note(job.ended(self._clock.now()), report)
                return None
            if job.subject != tzdata_version():
                return None  # This process is of an older deployment, or a newer one that is not in force yet.
        if not job.postponed:
            return job
        tally, left = Tally(), list[Postponed]()
        for tenant, schedule_id, tries in job.postponed:
            self._look_at(job, (tenant, schedule_id), tries, tally, left)
        tally.seen = 0  # They were seen when they were put off.
        noted = self._note(job.noted(tally, tuple(left), self._clock.now()), report, tally)
        return noted if noted is not None and not noted.walked else None

    def _page(self, job: Retiming, report: RetimingReport) -> Retiming | None:
        """Do one page and note it; `None` when another sweep was faster."""
        page = ask(partial(self._keys, job))
        timers = ask(lambda: self._store.get_timers(page.items))
        tally, postponed = Tally(), list(job.postponed)
        surprises = 0
        for key, timer in timers.items():
            if isinstance(timer, Unreadable):
                tally.seen += 1
                self._failed(job, key, ValueError(timer.why), tally)
                continue
            if not self._may_concern(job, timer):
                tally.seen += 1
                tally.changed += timer.change_id == job.job_id
                continue
            surprises += self._look_at(job, key, 0, tally, postponed)
            if surprises > MAX_SURPRISES:
                raise RuntimeError(f"job {job.job_id}: more than {MAX_SURPRISES} schedules of a page failed")
        return self._note(job.on_to(page.cursor).noted(tally, tuple(postponed), self._clock.now()), report, tally)

    def _keys(self, job: Retiming) -> Page[ScheduleKey]:
        if not job.tenant:
            return self._store.list_everywhere(job.cursor, SCHEDULES_PER_PAGE)
        page = self._store.list_schedules(
            job.tenant, prefix="", status=None, cursor=job.cursor, limit=SCHEDULES_PER_PAGE
        )
        return Page([(job.tenant, one.schedule_id) for one in page.items], page.cursor)

    def _note(self, job: Retiming, report: RetimingReport, tally: Tally | None = None) -> Retiming | None:
        """Write down how far `job` has come; `None` when another sweep was faster, or it is finished."""
        if not ask(lambda: self._store.put_retiming(job)):
            self._telemetry.event("retiming_noted_by_another", job_id=job.job_id)
            return None
        self._publish(job, report, tally or Tally())
        return job if job.is_open else None

    def _publish(self, job: Retiming, report: RetimingReport, tally: Tally) -> None:
        for name in ("seen", "changed", "failed"):
            value = getattr(tally, name)
            setattr(report.tally, name, getattr(report.tally, name) + value)
            if value:
                self._telemetry.count(f"retiming_{name}", value, cause=job.cause.value)
        report.finished += not job.is_open
        said = {"job_id": job.job_id, "cause": job.cause.value, "subject": job.subject, "version": job.version}
        said |= {"seen": job.seen, "changed": job.changed, "failed": job.failed, "postponed": len(job.postponed)}
        self._telemetry.event("retiming_page" if job.is_open else "retiming_finished", **said)

    # --- one schedule ------------------------------------------------------------------------------------------

    def _may_concern(self, job: Retiming, timer: Timer) -> bool:
        """Whether to look at it; also where that cannot be told, such as one whose zone has left the package.

        Looking fails then as well, and it is counted and alarmed as one that failed: the page goes on.
        """
        try:
            return self._concerns(job, timer)
        except (CronfleetError, ValueError, ArithmeticError):
            return True

    def _concerns(self, job: Retiming, timer: Timer) -> bool:
        if timer.status is Status.CANCELLED or timer.change_id == job.job_id:
            return False
        return self._steps[job.cause].concerns(job, timer)

    def _look_at(self, job: Retiming, key: ScheduleKey, tries: int, tally: Tally, postponed: list[Postponed]) -> bool:
        """Change the schedule if it must be; True when it failed in a way that nobody foresaw."""
        tally.seen += 1
        try:
            tally.changed += self._retime(job, key)
        except (NoAnswer, ClockSkewed):
            raise
        except Contended as error:
            if tries + 1 < MAX_TRIES and len(postponed) < MAX_POSTPONED:
                postponed.append((*key, tries + 1))
            else:
                self._failed(job, key, error, tally)
        except (CronfleetError, ValueError, ArithmeticError) as error:
            self._failed(job, key, error, tally)
        except Exception as error:
            self._failed(job, key, error, tally)
            return True
        return False

    def _failed(self, job: Retiming, key: ScheduleKey, error: Exception, tally: Tally) -> None:
        tally.failed += 1
        tenant, schedule_id = key
        said = {"cause": job.cause.value, "subject": job.subject, "error": f"{type(error).__name__}: {error}"}
        self._telemetry.alarm("retiming_failed", job_id=job.job_id, tenant=tenant, schedule_id=schedule_id, **said)

    def _retime(self, job: Retiming, key: ScheduleKey) -> bool:
        """Whether this job has changed the schedule: now, or before a crash."""
        not_before: Instant = EARLIEST
        for _ in range(MAX_DECISIONS):
            timer = ask(partial(self._store.get_timer, *key))
            if timer is None or not self._concerns(job, timer):
                return timer is not None and timer.change_id == job.job_id
            now = self._clock.now()
            made = self._steps[job.cause].decide(job, timer, max(now, not_before))
            if made is None:
                return False
            require_true_clock(self._store, self._telemetry, job_id=job.job_id)
            if not 0 <= self._clock.now() - now <= MAX_DECISION:
                continue  # The clock jumped, or this process stood still: what it decided for is not now any more.
            refused = write(self._store, timer, made, self._ids.unique())
            if refused is None:
                return True
            if isinstance(refused.stored, Run):
                not_before = max(not_before, refused.stored.due_at)
        raise Contended("other changes of the schedule kept coming first")
