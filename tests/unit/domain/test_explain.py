"""Explain: for every kind of fate a fire can have, the code, the sentence and the details that say so."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.audit import AuditEntry
from cronfleet.domain.backlog import Backlog, Stretch
from cronfleet.domain.books import FIRST_RESEND
from cronfleet.domain.clock_policy import Gap, Repeat
from cronfleet.domain.explain import explain, may_be_claimed
from cronfleet.domain.explanation import DETAILS, Claimed, Explanation, Facts, Replaced
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.lifeline import Span
from cronfleet.domain.overlap import in_the_way
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Attempt, Outcome, Run, RunKey, RunStatus, range_row
from cronfleet.domain.schedule import Pause, Status, Timer
from cronfleet.domain.trigger import CronTrigger, OneShotTrigger
from tests.support.builders import at, cron, definition, every, timer

TWO = at("2026-12-01 02:00")
NIGHTLY = cron("0 2 * * *")
LIVES = Span(1, 0, None, is_alive=True)


def facts(held: Timer, now: Instant, **changes: Any) -> Facts:
    return Facts(**{"timer": held, "now": now, "span": LIVES, "named_by": held, **changes})


def row(status: RunStatus, **changes: Any) -> Run:
    values: dict[str, Any] = {
        "key": RunKey("acme", "nightly", changes.pop("epoch", 1), changes.pop("nominal_at", TWO)),
        "due_at": TWO,
        "tier": "standard",
        "version": 3,
        "batch": "0.7.1",
        "claimed_at": TWO - 5 * SECOND,
        "attempts": (Attempt(1, 1, "worker", TWO + SECOND),),
        "started_at": TWO + SECOND,
        "lag_ms": 1_000,
    }
    return Run(status=status, **{**values, **changes})


def asked(held: Timer, now: Instant, when: Instant = TWO, **changes: Any) -> Explanation:
    found = explain(when, facts(held, now, **changes))
    assert found.text
    assert set(found.detail) <= set(DETAILS[found.code].split()), found
    return found


def waiting(nominal_at: Instant | None = TWO + DAY, **changes: Any) -> Timer:
    return timer(NIGHTLY, nominal_at, **changes)


# --- what the ledger says --------------------------------------------------------------------------------------


def test_a_run_that_succeeded_says_how_late_it_was_from_which_version_and_which_batch_claimed_it() -> None:
    found = asked(waiting(), TWO + HOUR, rows=[row(RunStatus.SUCCEEDED)])
    assert (found.code, found.is_decided, found.is_named) == (Code.RAN, True, True)
    assert found.run == row(RunStatus.SUCCEEDED)
    wanted = {"run_id": found.run.key.run_id, "version": 3, "batch": "0.7.1", "lag_seconds": 1.0}
    assert wanted.items() <= found.detail.items()
    assert "1.0 s after it was due" in found.text


def test_a_run_whose_message_was_sent_again_says_when() -> None:
    found = asked(waiting(), TWO + HOUR, rows=[row(RunStatus.SUCCEEDED, resent_at=TWO + 5 * MINUTE)])
    assert (found.code, found.detail["resent_at"]) == (Code.RAN, "2026-12-01T02:05:00Z")


def test_a_run_that_is_going_on_says_until_when_its_lease_lasts() -> None:
    found = asked(waiting(), TWO + MINUTE, rows=[row(RunStatus.RUNNING, lease_until=TWO + 2 * MINUTE)])
    assert (found.code, found.is_decided) == (Code.RUNNING, False)
    assert found.detail["lease_until_at"] == "2026-12-01T02:02:00Z"
    late = asked(waiting(), TWO + HOUR, rows=[row(RunStatus.RUNNING, lease_until=TWO + 2 * MINUTE)])
    assert "about to be taken over" in late.text


def test_a_run_that_waits_for_its_next_attempt_says_until_when_and_what_went_wrong() -> None:
    failed = (Attempt(1, 1, "w", TWO, TWO + SECOND, Outcome.FAILED, "no route"),)
    waits = row(RunStatus.WAITING, attempts=failed, retry_at=TWO + MINUTE)
    found = asked(waiting(), TWO + 2 * SECOND, rows=[waits])
    assert (found.code, found.detail["retry_at"]) == (Code.RETRYING, "2026-12-01T02:01:00Z")
    assert found.detail["errors"] == ["attempt 1 failed: no route"]


def test_a_retry_that_waits_out_a_pause_says_so() -> None:
    paused = Reason(Code.PAUSED, "paused by ada")
    found = asked(waiting(), TWO, rows=[row(RunStatus.WAITING, retry_at=TWO + MINUTE, reason=paused)])
    assert (found.code, found.detail["held_back"]) == (Code.RETRYING, "paused")


def test_a_run_that_is_out_of_attempts_says_what_each_of_them_said() -> None:
    attempts = (
        Attempt(1, 1, "w", TWO, TWO + SECOND, Outcome.FAILED, "no route"),
        Attempt(2, 2, "w", TWO + MINUTE, TWO + 2 * MINUTE, Outcome.TIMED_OUT, "too slow"),
    )
    reason = Reason(Code.ATTEMPTS, "all 2 attempts failed")
    found = asked(waiting(), TWO + HOUR, rows=[row(RunStatus.DEAD, attempts=attempts, reason=reason)])
    assert (found.code, found.is_decided) == (Code.ATTEMPTS, True)
    assert found.detail["errors"] == ["attempt 1 failed: no route", "attempt 2 timed_out: too slow"]
    assert "no route" in found.text


def test_a_fire_that_was_skipped_for_an_overlap_names_the_run_that_was_in_the_way() -> None:
    other = RunKey("acme", "nightly", 1, TWO - DAY).run_id
    found = asked(waiting(), TWO + HOUR, rows=[row(RunStatus.SKIPPED, reason=in_the_way(other))])
    assert (found.code, found.detail["in_the_way"]) == (Code.OVERLAP, other)
    assert found.detail["run_id"] != other


def test_a_fire_that_was_missed_in_an_outage_says_from_when_to_when() -> None:
    reason = Reason(Code.MISSED, "nothing fired", {"noticed_at": TWO + 3 * DAY})
    key = RunKey("acme", "nightly", 1, TWO - DAY)
    missed = range_row(key, TWO + DAY, "standard", RunStatus.MISSED, TWO + 3 * DAY, reason)
    found = asked(waiting(), TWO + 4 * DAY, rows=[missed])
    assert (found.code, found.is_decided, found.until_nominal_at) == (Code.MISSED, True, TWO + DAY)
    assert found.detail["from_nominal_at"] == "2026-11-30T02:00:00Z"
    assert found.detail["until_nominal_at"] == "2026-12-02T02:00:00Z"
    assert found.detail["noticed_at"] == "2026-12-04T02:00:00Z"


def test_a_fire_that_a_past_pause_held_back_says_who_paused_and_why() -> None:
    said: dict[str, str | int] = {"by": "ada", "why": "lunch", "paused_at": TWO - HOUR}
    paused = Reason(Code.PAUSED, "paused by ada: lunch", said)
    held = range_row(RunKey("acme", "nightly", 1, TWO), TWO + DAY, "standard", RunStatus.PAUSED, TWO + 2 * DAY, paused)
    found = asked(waiting(), TWO + 3 * DAY, rows=[held])
    assert (found.code, found.is_decided) == (Code.PAUSED, True)
    assert (found.detail["by"], found.detail["why"]) == ("ada", "lunch")
    assert found.detail["paused_at"] == "2026-12-01T01:00:00Z"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (RunStatus.SKIPPED, Code.SUPERSEDED),
        (RunStatus.CANCELLED, Code.CANCELLED),
        (RunStatus.REFUSED, Code.TOO_OLD),
        (RunStatus.REFUSED, Code.NO_DEFINITION),
        (RunStatus.DEAD, Code.PERMANENT),
    ],
)
def test_what_ended_a_row_is_its_explanation(status: RunStatus, code: Code) -> None:
    found = asked(waiting(), TWO + HOUR, rows=[row(status, reason=Reason(code, "because"))])
    assert (found.code, found.is_decided) == (code, True)


def test_a_row_of_a_resume_that_caught_up_counts_although_its_epoch_is_a_later_one() -> None:
    span = Span(1, 0, TWO + HOUR, is_alive=True)
    found = asked(waiting(epoch=2), TWO + 2 * HOUR, span=span, rows=[row(RunStatus.SUCCEEDED, epoch=2)])
    assert (found.code, found.detail["epoch"]) == (Code.RAN, 2)


def test_a_fire_claimed_ahead_of_a_change_that_names_it_anew_stands_beside_the_new_one() -> None:
    overtaken = row(RunStatus.SKIPPED, epoch=1, reason=Reason(Code.SUPERSEDED, "resumed"))
    span = Span(2, TWO - SECOND, None, is_alive=True)
    new = asked(waiting(epoch=2), TWO + HOUR, span=span, rows=[overtaken, row(RunStatus.SUCCEEDED, epoch=2)])
    assert (new.code, new.others) == (Code.RAN, (overtaken,))
    queued = asked(waiting(epoch=2), TWO + HOUR, span=span, rows=[overtaken])
    assert (queued.code, queued.others) == (Code.QUEUED, (overtaken,))


def test_a_fire_claimed_ahead_of_a_change_that_no_longer_names_it_is_the_explanation() -> None:
    overtaken = row(RunStatus.SKIPPED, epoch=1, reason=Reason(Code.SUPERSEDED, "the trigger changed"))
    span = Span(2, TWO - SECOND, None, is_alive=True)
    held = timer(cron("0 3 * * *"), TWO + HOUR, epoch=2)
    found = asked(held, TWO + MINUTE, span=span, rows=[overtaken])
    assert (found.code, found.run) == (Code.SUPERSEDED, overtaken)


# --- what the timer says ---------------------------------------------------------------------------------------


def test_a_fire_whose_time_has_not_come_says_when_it_is_due() -> None:
    found = asked(waiting(TWO, jitter_seconds=60, due_at=TWO + 30 * SECOND), TWO + SECOND)
    assert (found.code, found.is_decided) == (Code.NOT_DUE, False)
    assert found.detail == {"due_at": "2026-12-01T02:00:30Z"}


def test_a_fire_years_ahead_is_not_due_yet() -> None:
    assert asked(waiting(TWO), TWO - DAY, when=TWO + 1_000 * DAY).code is Code.NOT_DUE


def test_a_fire_that_is_due_and_not_claimed_says_how_late_it_is() -> None:
    found = asked(waiting(TWO), TWO + 90 * SECOND)
    assert (found.code, found.detail) == (Code.DUE, {"due_at": "2026-12-01T02:00:00Z", "late_seconds": 90.0})


def test_a_fire_behind_one_that_is_not_claimed_yet_is_due_as_well() -> None:
    assert asked(waiting(TWO - DAY), TWO + MINUTE).code is Code.DUE


def test_a_deferred_fire_says_by_which_limit_and_until_when() -> None:
    until = TWO + 20 * SECOND
    deferred = Reason(Code.TENANT_RATE, "tenant acme has had its share", {"until": until})
    found = asked(waiting(TWO, due_at=until, deferred=deferred), TWO + SECOND)
    assert (found.code, found.detail["until_at"]) == (Code.TENANT_RATE, "2026-12-01T02:00:20Z")


def test_a_fire_that_is_claimed_and_has_no_row_is_queued() -> None:
    found = asked(waiting(), TWO + SECOND)
    assert (found.code, found.is_decided) == (Code.QUEUED, False)
    assert may_be_claimed(TWO, facts(waiting(), TWO + SECOND))


def test_the_last_fire_of_a_completed_schedule_may_be_queued_too() -> None:
    assert asked(waiting(None, status=Status.COMPLETED), TWO + SECOND).code is Code.QUEUED


def test_a_queued_fire_says_which_batch_claimed_it() -> None:
    found = asked(waiting(), TWO + SECOND, claimed=Claimed("0.7.1", TWO - 5 * SECOND))
    assert (found.code, found.detail["batch"]) == (Code.QUEUED, "0.7.1")


def test_a_fire_that_the_queue_lost_says_how_often_it_was_sent_again_and_when_the_next_time_is() -> None:
    claimed = Claimed("0.7.1", TWO, resends=2, resend_at=TWO + 4 * FIRST_RESEND)
    found = asked(waiting(), TWO + 3 * FIRST_RESEND, claimed=claimed)
    assert (found.code, found.detail["resends"]) == (Code.RESENT, 2)
    assert found.detail["resend_at"] == "2026-12-01T02:20:00Z"


def test_a_row_that_waits_for_a_worker_is_queued_or_sent_again() -> None:
    queued = row(RunStatus.QUEUED, attempts=(), batch="", claimed_at=None, started_at=None)
    assert asked(waiting(), TWO + SECOND, rows=[queued]).code is Code.QUEUED
    claimed = Claimed("0.7.1", TWO, resends=1, resend_at=TWO + HOUR)
    assert asked(waiting(), TWO + SECOND, rows=[queued], claimed=claimed).code is Code.RESENT


def test_a_fire_that_its_claim_dropped_is_missed_before_its_row_is_written() -> None:
    claimed = Claimed("0.7.1", TWO + HOUR, Reason(Code.MISSED, "nothing fired", {"noticed_at": TWO + HOUR}))
    assert asked(waiting(), TWO + HOUR, claimed=claimed).code is Code.MISSED


def test_a_pause_that_still_lasts_holds_back_what_it_names_past_and_future() -> None:
    held = waiting(TWO, status=Status.PAUSED, pause=Pause("ada", TWO - HOUR, "lunch"), due_at=None)
    for when in (TWO, TWO + 30 * DAY):
        found = asked(held, TWO + HOUR, when=when)
        assert (found.code, found.is_decided) == (Code.PAUSED, False)
        assert found.detail == {"by": "ada", "why": "lunch", "paused_at": "2026-12-01T01:00:00Z"}


def test_a_pause_with_an_end_says_it_and_does_not_hold_back_what_comes_later() -> None:
    pause = Pause("ada", TWO - HOUR, "lunch", until=TWO + HOUR)
    held = waiting(TWO, status=Status.PAUSED, pause=pause, due_at=TWO + HOUR)
    assert asked(held, TWO).detail["resume_at"] == "2026-12-01T03:00:00Z"
    assert asked(held, TWO, when=TWO + DAY).code is Code.NOT_DUE


def test_what_was_claimed_before_the_pause_is_not_the_pauses() -> None:
    held = waiting(TWO + DAY, status=Status.PAUSED, pause=Pause("ada", TWO + SECOND), due_at=None)
    assert asked(held, TWO + 2 * SECOND).code is Code.QUEUED


def test_a_parked_schedule_says_for_what() -> None:
    parked = Reason(Code.UNREADABLE, "its next fire cannot be computed")
    held = waiting(TWO, status=Status.PARKED, parked=parked, due_at=None, updated_at=TWO - MINUTE)
    found = asked(held, TWO + DAY)
    assert (found.code, found.detail["status"]) == (Code.NOT_ON, "parked")
    assert found.detail["why"] == "its next fire cannot be computed"


def test_a_parked_schedule_whose_trigger_no_longer_computes_is_explained_all_the_same() -> None:
    held = timer(cron("0 2 * * *", "Mars/Olympus"), TWO, status=Status.PARKED, due_at=None)
    assert asked(held, TWO + DAY).code is Code.NOT_ON


def test_a_schedule_that_is_held_is_not_on() -> None:
    assert asked(waiting(TWO, status=Status.HELD, due_at=None), TWO).detail["status"] == "held"


def test_a_missed_fire_that_waits_for_its_turn_says_what_was_missed_and_when_its_turn_comes() -> None:
    late = Late(Cause.PAUSE, TWO - DAY, TWO, TWO + HOUR)
    backlog = Backlog((Stretch(TWO - DAY, TWO, late, per_minute=6),), turn_at=TWO + HOUR)
    held = waiting(TWO + DAY, epoch=2, backlog=backlog, due_at=TWO + HOUR)
    span = Span(1, 0, TWO + HOUR, is_alive=True)
    found = asked(held, TWO + HOUR + SECOND, span=span)
    assert (found.code, found.is_named, found.is_decided) == (Code.CATCHING_UP, True, False)
    assert found.detail["missed_from_at"] == "2026-11-30T02:00:00Z"
    assert (found.detail["cause"], found.detail["per_minute"]) == ("pause", 6)
    assert found.detail["next_turn_at"] == "2026-12-01T03:00:00Z"


def test_a_run_that_was_caught_up_says_so_and_why_it_is_late() -> None:
    late = Late(Cause.OUTAGE, TWO - DAY, TWO, TWO + HOUR)
    found = asked(waiting(), TWO + DAY, rows=[row(RunStatus.SUCCEEDED, due_at=TWO + HOUR, late=late)])
    assert found.code is Code.RAN
    assert found.text.startswith("caught up: missed from 2026-11-30T02:00:00Z to 2026-12-01T02:00:00Z; the scheduler")
    assert found.detail["noticed_at"] == "2026-12-01T03:00:00Z"


def test_a_fire_whose_row_has_expired_is_forgotten() -> None:
    assert asked(waiting(TWO + 40 * DAY), TWO + 39 * DAY).code is Code.FORGOTTEN


# --- what nothing named ----------------------------------------------------------------------------------------


def test_a_time_that_the_trigger_never_names_says_the_nearest_two_that_it_does() -> None:
    found = asked(waiting(), TWO + HOUR, when=TWO + HOUR)
    assert (found.code, found.is_named, found.is_decided) == (Code.NOT_NAMED, False, True)
    assert found.detail["earlier_at"] == "2026-12-01T02:00:00Z"
    assert found.detail["later_at"] == "2026-12-02T02:00:00Z"


def test_a_fraction_of_a_second_is_never_named() -> None:
    assert asked(waiting(), TWO + HOUR, when=TWO + 1).code is Code.NOT_NAMED


def test_a_time_outside_start_and_end_is_named_and_left_out() -> None:
    held = waiting(start_at=TWO + HOUR, end_at=TWO + 3 * DAY)
    before = asked(held, TWO + 9 * DAY)
    assert (before.code, before.detail["start_at"]) == (Code.BEFORE_START, "2026-12-01T03:00:00Z")
    assert (before.detail["earlier_at"], before.detail["later_at"]) == (None, "2026-12-02T02:00:00Z")
    after = asked(held, TWO + 9 * DAY, when=TWO + 4 * DAY)
    assert (after.code, after.detail["end_at"]) == (Code.AFTER_END, "2026-12-04T02:00:00Z")
    assert (after.detail["earlier_at"], after.detail["later_at"]) == ("2026-12-04T02:00:00Z", None)


def test_a_time_before_the_schedule_was_there_says_when_it_was_created() -> None:
    found = asked(waiting(), TWO, span=Span(0, -(2**63), TWO, is_alive=False), named_by=None)
    assert (found.code, found.is_named, found.detail["created_at"]) == (Code.NOT_CREATED, False, "2026-12-01T02:00:00Z")


def test_a_time_after_the_deletion_says_who_deleted_it_and_why() -> None:
    entry = AuditEntry("acme", "id", TWO - HOUR, "ada", "cancel", "schedule:nightly", "request", reason="no more")
    held = waiting(None, status=Status.CANCELLED, epoch=2)
    gone = Span(2, TWO - HOUR, None, is_alive=False)
    found = asked(held, TWO + HOUR, span=gone, named_by=None, deletion=entry)
    assert found.code is Code.DELETED
    assert found.detail == {"deleted_at": "2026-12-01T01:00:00Z", "by": "ada", "why": "no more"}
    anew = asked(held, TWO + HOUR, span=replace(gone, until=TWO + MINUTE), named_by=None)
    assert anew.detail["created_at"] == "2026-12-01T02:01:00Z"


def test_a_time_that_an_earlier_version_named_says_which_and_who_replaced_it() -> None:
    by = replace(definition(cron("0 3 * * *")), version=2, author="ada", reason="too early")
    held = timer(cron("0 3 * * *"), TWO + HOUR, epoch=2, version=2)
    found = asked(held, TWO + MINUTE, replaced=Replaced(1, by, TWO - HOUR))
    assert (found.code, found.is_named) == (Code.SUPERSEDED, False)
    wanted = {"named_by_version": 1, "replaced_by_version": 2, "by": "ada", "why": "too early"}
    assert wanted.items() <= found.detail.items()


def test_a_one_shot_that_is_done_says_when_it_fired() -> None:
    once = timer(OneShotTrigger(TWO, "2026-12-01T02:00:00Z", None), None, status=Status.COMPLETED)
    found = asked(once, TWO + DAY, when=TWO + HOUR)
    assert (found.code, found.detail["fired_at"]) == (Code.COMPLETED, "2026-12-01T02:00:00Z")
    assert found.detail["earlier_at"] == "2026-12-01T02:00:00Z"


def test_further_back_than_is_remembered_is_forgotten() -> None:
    found = asked(waiting(), TWO + DAY, span=None, named_by=None)
    assert (found.code, found.is_named) == (Code.FORGOTTEN, False)


# --- changes of the clock --------------------------------------------------------------------------------------

GAP_END = at("2026-03-29 01:00")
"""02:00 in Berlin, where 02:00 to 03:00 is skipped."""
OVERLAP = at("2026-10-25 01:00")
"""03:00 in Berlin, and 02:00 again."""


def test_a_local_time_that_the_clock_skipped_says_where_it_fired_instead() -> None:
    held = timer(cron("30 2 * * *", "Europe/Berlin"), GAP_END + 30 * DAY)
    found = asked(held, GAP_END + DAY, when=GAP_END + 30 * MINUTE)
    assert (found.code, found.is_named) == (Code.DST_GAP, False)
    assert (found.detail["local"], found.detail["timezone"]) == ("2026-03-29T02:30:00", "Europe/Berlin")
    assert found.detail["fired_at"] == "2026-03-29T01:00:00Z"
    assert asked(held, GAP_END + DAY, when=GAP_END).is_named


def test_a_wildcards_local_times_are_left_out_with_the_gap() -> None:
    held = timer(cron("*/15 2 * * *", "Europe/Berlin"), GAP_END + 30 * DAY)
    for minutes in (0, 15, 30, 45):
        found = asked(held, GAP_END + DAY, when=GAP_END + minutes * MINUTE)
        assert (found.code, found.detail["fired_at"]) == (Code.DST_GAP, None)
    assert asked(held, GAP_END + DAY, when=GAP_END + 20 * MINUTE).code is Code.NOT_NAMED
    assert asked(held, GAP_END + DAY, when=GAP_END + HOUR).code is Code.NOT_NAMED


def test_a_one_shot_in_a_gap_says_where_it_fired_instead() -> None:
    once = OneShotTrigger(GAP_END, "2026-03-29T02:30:00", "Europe/Berlin")
    found = asked(timer(once, GAP_END), GAP_END - DAY, when=GAP_END + 30 * MINUTE)
    assert (found.code, found.detail["fired_at"]) == (Code.DST_GAP, "2026-03-29T01:00:00Z")


def test_the_second_pass_of_a_local_time_is_not_used() -> None:
    held = timer(cron("30 2 * * *", "Europe/Berlin"), OVERLAP + 30 * DAY)
    found = asked(held, OVERLAP + DAY, when=OVERLAP + 30 * MINUTE)
    assert (found.code, found.detail["local"]) == (Code.DST_OVERLAP, "2026-10-25T02:30:00")
    assert found.detail["fired_at"] == "2026-10-25T00:30:00Z"
    assert asked(held, OVERLAP + DAY, when=OVERLAP - 30 * MINUTE).is_named


def test_an_interval_knows_no_clock() -> None:
    assert asked(timer(every(3600), GAP_END + DAY), GAP_END, when=GAP_END + 30 * MINUTE).code is Code.NOT_NAMED


def chosen(**policies: Gap | Repeat) -> Timer:
    return timer(CronTrigger("30 2 * * *", "Europe/Berlin", **policies), GAP_END + 300 * DAY)


def test_a_schedule_that_skips_gaps_says_that_nothing_fires_in_its_place() -> None:
    for minutes in (0, 30):
        found = asked(chosen(gap=Gap.SKIP), GAP_END + DAY, when=GAP_END + minutes * MINUTE)
        assert not found.is_named
    assert (found.code, found.detail["fired_at"], found.detail["policy"]) == (Code.DST_GAP, None, "skip")
    assert "nothing fires in its place, as its gap policy, skip, has it" in found.text


def test_a_schedule_that_takes_the_second_pass_says_so_of_the_first() -> None:
    held = chosen(overlap=Repeat.SECOND)
    found = asked(held, OVERLAP + DAY, when=OVERLAP - 30 * MINUTE)
    assert (found.code, found.detail["fired_at"]) == (Code.DST_OVERLAP, "2026-10-25T01:30:00Z")
    assert "only the second pass is used" in found.text
    assert asked(held, OVERLAP + DAY, when=OVERLAP + 30 * MINUTE).is_named


def test_a_schedule_that_takes_both_passes_names_both() -> None:
    for minutes in (-30, 30):
        assert asked(chosen(overlap=Repeat.BOTH), OVERLAP + DAY, when=OVERLAP + minutes * MINUTE).is_named
