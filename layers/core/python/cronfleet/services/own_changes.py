"""Own changes: what the scheduler changes by itself when it finds something due that is not to be claimed as it stands.

Each reads the base item, decides, and writes on the condition that nobody was faster, with its audit entry.
"""

from collections.abc import Sequence

from cronfleet.domain.audit import SCHEDULER_ACTOR, AuditEntry, schedule_subject
from cronfleet.domain.change import parked, resumed
from cronfleet.domain.claim import ScheduleClaim, Unreadable
from cronfleet.domain.dispatch_plan import uncomputable
from cronfleet.domain.errors import Contended
from cronfleet.domain.instant import Instant
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE
from cronfleet.ports.clock import Ids
from cronfleet.ports.job_store import Damaged, InsertAudit, InsertRun, JobStore, Refused, UpdateTimer, Write
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.retimed import write
from cronfleet.services.reviving import revivals
from cronfleet.services.telling import Telling
from cronfleet.services.tenant_rules import TenantRules
from cronfleet.services.zone_step import ZoneStep


class OwnChanges:
    """Resumes, retimes and parks; False where somebody else's change came first."""

    def __init__(
        self, store: JobStore, ids: Ids, telemetry: Telemetry, rules: TenantRules, telling: Telling | None = None
    ) -> None:
        self._store = store
        self._ids = ids
        self._telemetry = telemetry
        self._rules = rules
        self._telling = telling
        self._zone_step = ZoneStep(store)

    def retime(self, seen: Timer, now: Instant) -> bool:
        """Let a schedule wait for what newer zone data says, before what older data said is claimed.

        What is left undone (somebody was faster, or a fire is about to run) the next tick finds again.
        """
        timer = self._read(seen, now)
        if timer is None or timer.rev != seen.rev or timer.nominal_at != seen.nominal_at:
            return False
        try:
            made = self._zone_step.retimed(timer, now, self._ids.unique())
        except Contended:
            return False
        except UNCOMPUTABLE as error:
            return self.park(timer, uncomputable(error), now)
        return made is not None and write(self._store, timer, made, self._ids.unique()) is None

    def resume(self, seen: Timer, now: Instant) -> bool:
        """End a pause whose time has come, as of that time, unless the base item says otherwise by now.

        What it held back is caught up as the schedule's own policy for pauses says. What is named between the pause's
        end and this tick is on again: late by the tick, or the misfire policy's.
        """
        timer = self._read(seen, now)
        if timer is None or timer.status is not Status.PAUSED or timer.rev != seen.rev:
            return False
        ended_at = now if timer.due_at is None else min(timer.due_at, now)
        try:
            after, rows = resumed(timer, now=ended_at, change_id=self._ids.unique(), catch_up=None)
        except UNCOMPUTABLE as error:
            # Zones leave the package while a schedule is paused. It would stop every tick of its shard from now on.
            text = f"its pause reached its end, and its next fire cannot be computed: {error}"
            self.park(timer, Reason(Code.UNREADABLE, text), now)
            return False
        reason = "the pause reached its end"
        again = ask(lambda: list(revivals(self._store, timer, after, timer.after_pause)))
        kept = [InsertRun(self._rules.kept(row, now)) for row in rows]
        return self._change(timer, after, "resume", reason, [*kept, *again])

    def park(self, item: Timer | Unreadable, reason: Reason, now: Instant) -> bool:
        """Take one bad item out of everybody's way, with a reason and an alarm."""
        if isinstance(item, Unreadable):
            self._telemetry.alarm("item_parked", partition=item.partition, sort=item.sort, reason=reason.text)
            return ask(lambda: self._store.drop_unreadable(item, reason))
        self._telemetry.alarm("schedule_parked", tenant=item.tenant, schedule_id=item.schedule_id, reason=reason.text)
        timer = self._read(item, now)
        if timer is None or timer.status not in (Status.ACTIVE, Status.HELD, Status.PAUSED) or timer.rev != item.rev:
            return False
        after = parked(timer, reason, now=now, change_id=self._ids.unique())
        return self._change(timer, after, "park", reason.text, [])

    def park_refused(self, claim: ScheduleClaim, reason: Reason, now: Instant) -> bool:
        """Park the schedule whose claim the store refuses for good, unless it has changed since."""
        timer = self._read(claim, now)
        return timer is not None and timer.rev == claim.rev and self.park(timer, reason, now)

    def _read(self, seen: Timer | ScheduleClaim, now: Instant) -> Timer | None:
        """The base item of what the index showed; one that cannot be read is parked, and harms nobody else."""
        try:
            return ask(lambda: self._store.get_timer(seen.tenant, seen.schedule_id))
        except Damaged as error:
            unreadable = Unreadable(error.partition, error.sort, seen.due_at or 0, str(error))
            self.park(unreadable, Reason(Code.UNREADABLE, str(error)), now)
            return None

    def _change(self, before: Timer, after: Timer, action: str, reason: str, more: Sequence[Write]) -> bool:
        """Commit a change that the scheduler makes itself, with its audit entry; False when somebody was faster."""
        entry = AuditEntry(
            before.tenant,
            self._ids.unique(),
            after.updated_at,
            SCHEDULER_ACTOR,
            action,
            schedule_subject(before.schedule_id),
            request_id=after.change_id,
            before={"status": before.status.value},
            after={"status": after.status.value},
            reason=reason,
        )
        writes = [UpdateTimer(after, before), InsertAudit(entry), *more]
        try:
            ask(lambda: self._store.commit(writes))
        except Refused:
            return False
        if self._telling is not None:
            self._telling.committed(writes)
        return True
