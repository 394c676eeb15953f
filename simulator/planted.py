"""Deliberate faults, each planted in a copy of one module of the product: checkers that cannot fail are worthless.

A fault is a replacement in a module's source, made while the module is imported and never in the file. So whatever
the product is today, the fault is planted in today's code; a text that is not there any more is an error.
"""

from typing import Final

from simulator.planted_audit import AUDIT_FAULTS
from simulator.planted_cancels import CANCEL_FAULTS
from simulator.planted_dependencies import DEPENDENCY_FAULTS
from simulator.planted_edits import Edit, Planted
from simulator.planted_freezes import FREEZE_FAULTS
from simulator.planted_gates import GATE_FAULTS
from simulator.planted_letters import LETTER_FAULTS
from simulator.planted_operations import OPERATION_FAULTS
from simulator.planted_pipeline import PIPELINE_FAULTS
from simulator.planted_quotas import QUOTA_FAULTS
from simulator.planted_rates import RATE_FAULTS
from simulator.planted_slots import SLOT_FAULTS
from simulator.planted_traces import TRACE_FAULTS

_SHARDS: Final = "cronfleet.adapters.memory.shards"
_RUNS: Final = "cronfleet.adapters.memory.runs"
_LOOK_AHEAD: Final = "cronfleet.services.look_ahead"
_STARTING: Final = "cronfleet.services.starting"
_FINISHING: Final = "cronfleet.services.finishing"
_SWEEPER: Final = "cronfleet.services.sweeper"
_PLAN: Final = "cronfleet.domain.dispatch_plan"
_CHANGE: Final = "cronfleet.domain.change"
_LEFT_BEHIND: Final = "cronfleet.domain.left_behind"
_HELD_BACK: Final = "cronfleet.domain.held_back"
_ATTEMPT: Final = "cronfleet.domain.attempt"
_HOLDING: Final = "cronfleet.domain.holding"
_CHANGING: Final = "cronfleet.services.changing"
_CATCH_UP: Final = "cronfleet.domain.catch_up"
_CLAIM: Final = "cronfleet.domain.claim"
_CALENDARED: Final = "cronfleet.domain.calendared"
_SCHEDULES: Final = "cronfleet.services.schedules"
_CALENDARS: Final = "cronfleet.services.calendars"


FAULTS: Final = (
    *AUDIT_FAULTS,
    *PIPELINE_FAULTS,
    *QUOTA_FAULTS,
    *SLOT_FAULTS,
    *FREEZE_FAULTS,
    *OPERATION_FAULTS,
    *RATE_FAULTS,
    *LETTER_FAULTS,
    *CANCEL_FAULTS,
    *DEPENDENCY_FAULTS,
    *GATE_FAULTS,
    *TRACE_FAULTS,
    Planted(
        "claim-without-condition",
        "a claim does not ask whether the timer is still as it was read",
        (
            Edit(
                _SHARDS,
                "        if stored != (claim.rev, claim.nominal_at, claim.due_at, claim.backlog_at):",
                "        if False:",
            ),
        ),
    ),
    Planted(
        "own-claim-not-recognised",
        "a claim whose reply was lost counts as lost when it is asked again",
        (
            Edit(
                _SHARDS,
                "            return ClaimOutcome.WON if timer.claim_batch == batch else ClaimOutcome.LOST\n"
                "        put_timer(self.state, _advanced(timer, claim, batch))",
                "            return ClaimOutcome.LOST\n        put_timer(self.state, _advanced(timer, claim, batch))",
            ),
        ),
    ),
    Planted(
        "lease-without-owner",
        "a dispatcher that has lost its shard may still announce and release",
        (
            Edit(
                _SHARDS,
                "        if held is None or (held.owner, held.fence) != (lease.owner, lease.fence):",
                "        if held is None:",
            ),
        ),
    ),
    Planted(
        "advance-from-the-late-time",
        "the next nominal is computed from when it was due, not from the nominal",
        (
            Edit(
                _PLAN,
                "    fires, following = _due_fires(timer, first, now + look_ahead, most)\n",
                "    fires, following = _due_fires(timer, first, now + look_ahead, most)\n"
                "    if fires:\n"
                "        following = _fire(timer, timer.trigger.next_after(max(now, fires[-1].due_at)))\n",
            ),
        ),
    ),
    Planted(
        "page-after-page-forgotten",
        "what is due behind the first page is not claimed, and the page is cut short",
        (
            Edit(
                _LOOK_AHEAD,
                "partial(self._store.due, self._shard, self._until, self._cursor, PAGE_ITEMS)",
                "partial(self._store.due, self._shard, self._until - 600_000, self._cursor, 1)",
            ),
        ),
    ),
    Planted(
        "fence-ignored",
        "a row is replaced whatever its rev is by now",
        (
            Edit(
                _RUNS,
                "        if stored.rev != run.rev - 1:",
                "        if False:",
            ),
        ),
    ),
    Planted(
        "lease-ignored",
        "a running row is taken over although its lease is live",
        (
            Edit(
                _ATTEMPT,
                "    if row.lease_until is not None and row.lease_until > now:",
                "    if False:",
            ),
        ),
    ),
    Planted(
        "finished-run-started-again",
        "a duplicate starts a run that is over",
        (
            Edit(
                _ATTEMPT,
                '        return Drop(Reason(Code.FINISHED, f"the run is {row.status}"))',
                "        return Start(_started(replace(row, status=RunStatus.QUEUED), message, owner, now))",
            ),
        ),
    ),
    Planted(
        "retry-lost",
        "a failed attempt's next one has no timer",
        (
            Edit(
                _FINISHING,
                "self._store.commit([ReplaceRun(run), InsertRunTimer(wake)])",
                "self._store.commit([ReplaceRun(run)])",
            ),
        ),
    ),
    Planted(
        "pause-ignored",
        "admission does not look at the schedule's status",
        (
            Edit(
                _ATTEMPT,
                "        if timer.status is Status.PAUSED:",
                "        if False:",
            ),
        ),
    ),
    Planted(
        "cancellation-ignored",
        "admission lets runs of a cancelled schedule start",
        (
            Edit(
                _ATTEMPT,
                "    if timer is None or timer.status is Status.CANCELLED or run.key.epoch < timer.born_epoch:",
                "    if timer is None:",
            ),
        ),
    ),
    Planted(
        "started-early",
        "a message that comes before its time is started at once",
        (
            Edit(
                _STARTING,
                "            if now >= message.due_at:",
                "            if now >= message.due_at - 60_000:",
            ),
        ),
    ),
    Planted(
        "dead-leases-left",
        "the sweeper does not revive runs whose worker died",
        (
            Edit(
                _SWEEPER,
                'report.revived += self._send(messages, "lease_revived")',
                "pass",
            ),
        ),
    ),
    Planted(
        "lost-messages-left",
        "the sweeper does not send lost messages again",
        (
            Edit(
                _SWEEPER,
                '        report.resent += self._send(copies, "message_resent")\n',
                "",
            ),
        ),
    ),
    Planted(
        "what-was-due-forgotten",
        "a changed trigger forgets what the old one had due and nobody had claimed",
        (
            Edit(
                _CHANGE,
                "    rows, run_timers = left_behind(timer, after, now)",
                "    rows, run_timers = (), ()",
            ),
        ),
    ),
    Planted(
        "pause-leaves-no-row",
        "a resume leaves no row for what the pause held back",
        (
            Edit(
                _CHANGE,
                "    rows = tuple(held_row(timer, one, now) for one in dropped)",
                "    rows = ()",
            ),
        ),
    ),
    Planted(
        "overtaken-fires-run",
        "a fire that is claimed ahead runs although its trigger was replaced before it was due",
        (
            Edit(_ATTEMPT, "        if ended_at is not None and run.own_due_at > ended_at:", "        if False:"),
            Edit(_LEFT_BEHIND, "        if is_under_way(fire, now):\n", "        if False:\n"),
        ),
    ),
    Planted(
        "shadow-fires-are-sent",
        "what a held schedule would fire is sent, and the workers let it start",
        (
            Edit(
                _HOLDING,
                "        following=following,\n",
                "        following=following,\n        fires=(Fire(timer.nominal_at, timer.due_at),),\n",
            ),
            Edit(
                _ATTEMPT,
                "        if timer.status in (Status.HELD, Status.PARKED):",
                "        if timer.status is Status.PARKED:",
            ),
        ),
    ),
    Planted(
        "shadow-goes-unnoted",
        "a change of a schedule in shadow forgets what was not noted yet",
        (
            Edit(
                _HELD_BACK,
                "    return tuple(held_row(timer, held, now) for held in held_back(timer, now))",
                "    return ()",
            ),
        ),
    ),
    Planted(
        "shadow-turns-itself-on",
        "a new trigger turns a held schedule on",
        (
            Edit(
                "cronfleet.domain.schedule",
                "    (_S.HELD, _C.RETIME): _S.HELD,",
                "    (_S.HELD, _C.RETIME): _S.ACTIVE,",
            ),
        ),
    ),
    Planted(
        "audit-left-out",
        "changes are written without their audit entry",
        (
            Edit(
                _CHANGING,
                "        writes = [_kept(write, caller) for write in draft.writes]",
                "        writes = [write for write in draft.writes if type(write).__name__ != 'InsertAudit']",
            ),
        ),
    ),
    Planted(
        "clock-trusted",
        "a process whose clock is off works on",
        (
            Edit(
                "cronfleet.domain.lease",
                "    return abs(skew_ms) > MAX_SKEW",
                "    return False",
            ),
        ),
    ),
    Planted(
        "clock-never-asked",
        "a process that has not heard the store's time, or whose clock was set since, works on by its own",
        (
            Edit(
                "cronfleet.services.true_clock",
                "        ask(hear)\n    raise",
                "        return now\n    raise",
            ),
            # Whose clock jumps reads the noticeboard again, and hears the time by that.
            Edit(
                "cronfleet.services.noticeboard",
                "        if 0 <= now - self._read_at < HELD:",
                "        if self._read_at != _NEVER:",
            ),
        ),
        always=("clocks_set_at_work",),
    ),
    Planted(
        "calendar-forgets-the-day-before",
        "a fire that rolls forward is forgotten where it rolls to",
        (
            Edit(
                _CALENDARED,
                "        named = self.plain_day(self._calendar.last_business(business_day - 1) + 1)",
                "        named = self.plain_day(business_day)",
            ),
        ),
    ),
    Planted(
        "calendar-version-comes-to-nobody",
        "a new version of a calendar is stored, and no job is started that brings it to the schedules",
        (
            Edit(
                _CALENDARS,
                "            writes.append(InsertRetiming(for_calendar(after.tenant, after.name, after.version, now)))",
                "            pass",
            ),
        ),
    ),
    Planted(
        "more-than-max-caught-up",
        "of what was missed one more is caught up than was wanted",
        (
            Edit(
                _CATCH_UP,
                "    kept_from = _oldest_of_newest(trigger, oldest, last_at, limit)",
                "    kept_from = _oldest_of_newest(trigger, oldest, last_at, limit + 1)",
            ),
        ),
    ),
    Planted(
        "caught-up-and-dropped-as-well",
        "what is dropped and what is kept of a stretch overlap",
        (
            Edit(
                _CATCH_UP,
                "    return Wanted(kept_from, before(trigger, first_at, kept_from))",
                "    return Wanted(kept_from, kept_from)",
            ),
        ),
    ),
    Planted(
        "caught-up-all-at-once",
        "missed fires take no turns",
        (Edit(_CATCH_UP, "            turn_at += left.turn\n", ""),),
    ),
    Planted(
        "turns-saved-up",
        "turns that an outage left unused are all taken afterwards",
        (
            Edit(
                _CATCH_UP,
                "    turn_at = max(backlog.turn_at, floor_second(now) - REACH)",
                "    turn_at = backlog.turn_at - 3_600_000",
            ),
            Edit(_CATCH_UP, "        turn_at = max(turn_at, floor_second(left.late.noticed_at))\n", ""),
        ),
    ),
    Planted(
        "window-ignored",
        "a missed fire is caught up however old it is",
        (
            Edit(
                _CATCH_UP,
                "    oldest = first_at if policy.window_seconds is None else "
                "max(first_at, now - policy.window_seconds * SECOND)",
                "    oldest = first_at",
            ),
            Edit(_CATCH_UP, "    if stretch.window_seconds is None:\n", "    if True:\n"),
        ),
    ),
    Planted(
        "caught-up-fire-lost-with-its-claim",
        "a claim takes fires out of the backlog and sends no message for them",
        (
            Edit(
                _CLAIM,
                "        fires = (*self.fires, *self.caught_up)",
                "        fires = self.fires",
            ),
        ),
    ),
    Planted(
        "backlog-forgotten-by-changes",
        "a pause, a cancellation or a changed trigger in the middle of a catch-up leaves no row of what was still to come",
        (
            Edit(
                _HELD_BACK,
                "    held = [HeldBack(stretch.first_at, stretch.last_at, stretch.late) "
                "for stretch in stretches_of(timer.backlog)]",
                "    held = list[HeldBack]()",
            ),
        ),
        always=("many_changes",),
    ),
    Planted(
        "another-version-comes-back",
        "a rollback brings the version back before the one that was asked for",
        (
            Edit(
                _SCHEDULES,
                "            old = answer_of(partial(self._store.get_definition, caller.tenant.tenant_id, schedule_id, "
                "version))",
                "            old = answer_of(partial(self._store.get_definition, caller.tenant.tenant_id, schedule_id, "
                "max(1, version - 1)))",
            ),
        ),
    ),
    Planted(
        "versions-overwritten",
        "an edit writes over the version that is there, and the store lets it",
        (
            Edit(
                _CHANGE,
                "    definition = Definition(timer.tenant, timer.schedule_id, timer.version + 1, spec, author, now, reason)",
                "    definition = Definition(timer.tenant, timer.schedule_id, timer.version, spec, author, now, reason)",
            ),
            Edit(
                "cronfleet.adapters.memory.transactions",
                "    return stored is None\n",
                "    return stored is None or isinstance(write, InsertDefinition)\n",
            ),
        ),
    ),
)
BY_NAME: Final = {fault.name: fault for fault in FAULTS}
