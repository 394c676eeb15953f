"""Freezes as values: what they hold, how the directory knows of them, and what is kept of those that ended."""

from dataclasses import replace

import pytest

from cronfleet.domain.backlog import Backlog, Stretch
from cronfleet.domain.claim import Fire
from cronfleet.domain.errors import Conflict
from cronfleet.domain.freeze import (
    BUCKETS,
    KEPT_ENDED,
    MAX_FREEZES,
    MAX_KEPT_ENDED,
    Freeze,
    FreezeDirectory,
    FreezeList,
    Freezes,
    LabelScope,
    TenantScope,
    Thaw,
    TierScope,
    bucket_of,
    label_hashes,
    lasting,
    with_freeze,
    with_tier_freeze,
)
from cronfleet.domain.frozen import LONGEST_LOOK, SETTLED, apart, freeze_of, look_again, thawed_claim
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND
from cronfleet.domain.late import Cause, Late
from tests.support.builders import cron, every, timer
from tests.support.settable_clock import NOON

OPEN = Freeze("f1", TenantScope("acme"), "ada", NOON)
ENDING = replace(OPEN, freeze_id="f2", until=NOON + HOUR)


def put(freeze: Freeze, kept: FreezeList, directory: FreezeDirectory, now: int = NOON) -> tuple:
    return with_freeze(kept, directory, freeze, now=now, change_id="c")


def neighbour_of(tenant: str) -> str:
    """Another tenant of the same bucket."""
    return next(name for n in range(100_000) if bucket_of(name := f"t{n}") == bucket_of(tenant))


def test_hashes_are_short_of_one_length_and_tell_names_from_values() -> None:
    hashes = label_hashes({"a": "bc", "ab": "c", "x": ""})
    assert len(set(hashes)) == 3
    assert {len(one) for one in hashes} == {6}
    assert hashes == tuple(sorted(hashes))


def test_a_label_freeze_holds_what_has_all_of_its_labels() -> None:
    freeze = replace(OPEN, scope=LabelScope("acme", (("env", "prod"), ("team", "a"))))
    assert freeze.holds(label_hashes({"env": "prod", "team": "a", "x": "y"}))
    assert not freeze.holds(label_hashes({"env": "prod"}))
    assert not freeze.holds(())
    assert not freeze.holds(None)
    assert OPEN.holds(None)


def test_of_several_freezes_the_one_that_lasts_longest_counts() -> None:
    later = replace(ENDING, freeze_id="f3", until=NOON + 2 * HOUR)
    assert lasting([ENDING, later]) == later
    assert lasting([later, OPEN, ENDING]) == OPEN
    assert lasting([]) is None
    known = Freezes((replace(OPEN, scope=TierScope("standard"), until=NOON + 1),), {"acme": (ENDING, later)})
    assert known.over("acme", "standard", (), NOON) == later
    assert known.over("acme", "standard", (), NOON + 2 * HOUR) is None
    assert known.over("other", "priority", (), NOON) is None


def test_the_directory_marks_a_tenant_while_its_freezes_matter_and_nobody_else_for_ever() -> None:
    kept, directory = put(ENDING, FreezeList("acme"), FreezeDirectory())
    assert directory.may_hold("acme", NOON)
    assert directory.may_hold("acme", NOON + HOUR + KEPT_ENDED - 1)
    assert not directory.may_hold("acme", NOON + HOUR + KEPT_ENDED)
    assert sum(directory.may_hold(f"t{n}", NOON) for n in range(1_000)) <= 1_000 * 5 // BUCKETS + 5
    assert kept.rev == directory.rev == 1


def test_a_bucket_counts_the_tenants_in_it_and_forgets_none() -> None:
    other = neighbour_of("acme")
    _, directory = put(OPEN, FreezeList("acme"), FreezeDirectory())
    theirs, directory = put(replace(OPEN, scope=TenantScope(other)), FreezeList(other), directory)
    assert directory.marks[bucket_of("acme")].open == 2
    thawed = theirs.freezes[0].thawed_at(NOON + MINUTE, Thaw("ada", NOON))
    _, directory = put(thawed, theirs, directory)
    mark = directory.marks[bucket_of("acme")]
    assert (mark.open, mark.last_until) == (1, NOON + MINUTE)
    assert directory.may_hold("acme", NOON + 100 * DAY)


def test_marks_that_no_longer_matter_are_dropped_by_the_next_write() -> None:
    _, directory = put(ENDING, FreezeList("acme"), FreezeDirectory())
    _, directory = put(replace(OPEN, scope=TenantScope("other")), FreezeList("other"), directory, NOON + 3 * DAY)
    assert set(directory.marks) == {bucket_of("other")}


def test_an_earlier_end_is_not_put_off_by_a_thaw() -> None:
    thawed = ENDING.thawed_at(NOON + 2 * HOUR, Thaw("ada", NOON))
    assert thawed.until == ENDING.until
    assert OPEN.thawed_at(NOON + 1, Thaw("ada", NOON)).until == NOON + 1


def test_only_so_many_are_in_force_and_an_ended_one_makes_room() -> None:
    kept, directory = FreezeList("acme"), FreezeDirectory()
    for number in range(MAX_FREEZES):
        kept, directory = put(replace(ENDING, freeze_id=f"n{number}"), kept, directory)
    with pytest.raises(Conflict):
        put(OPEN, kept, directory)
    suspended, _ = put(replace(OPEN, suspends=True), kept, directory)
    assert len(suspended.freezes) == MAX_FREEZES + 1, "a tenant can always be suspended"
    after, _ = put(replace(OPEN, at=NOON + HOUR), kept, directory, NOON + HOUR)
    assert len(after.freezes) == MAX_KEPT_ENDED + 1
    tiers = FreezeDirectory()
    for number in range(MAX_FREEZES):
        one = replace(ENDING, freeze_id=f"n{number}", scope=TierScope("standard"))
        tiers = with_tier_freeze(tiers, one, now=NOON, change_id="c")
    with pytest.raises(Conflict):
        with_tier_freeze(tiers, replace(OPEN, scope=TierScope("standard")), now=NOON, change_id="c")


def test_what_ended_long_ago_is_forgotten() -> None:
    kept, directory = put(ENDING, FreezeList("acme"), FreezeDirectory())
    after, _ = put(replace(OPEN, at=NOON + 3 * DAY), kept, directory, NOON + 3 * DAY)
    assert [one.freeze_id for one in after.freezes] == ["f1"]


# --- what a tick does about it -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lasted", "wait"), [(0, MINUTE), (4 * MINUTE, MINUTE), (20 * MINUTE, 5 * MINUTE), (9 * HOUR, LONGEST_LOOK)]
)
def test_what_waits_looks_again_after_a_quarter_of_the_time_that_the_freeze_has_lasted(lasted: int, wait: int) -> None:
    assert look_again(OPEN, NOON + lasted) == NOON + lasted + wait


def test_a_known_end_is_waited_for() -> None:
    assert look_again(replace(OPEN, until=NOON + 7 * SECOND), NOON) == NOON + 7 * SECOND


def test_a_fire_is_frozen_by_when_it_comes_due_and_not_by_its_name() -> None:
    freeze = replace(OPEN, until=NOON + MINUTE)
    late = Fire(NOON + 50 * SECOND, NOON + 70 * SECOND)
    assert freeze_of(late, [freeze], NOON) is None
    assert freeze_of(Fire(NOON, NOON), [freeze], NOON + 5 * SECOND) == freeze
    overdue = Fire(NOON - MINUTE, NOON - MINUTE)
    assert freeze_of(overdue, [freeze], NOON + SECOND) == freeze, "it has not started, and does not now"
    assert freeze_of(overdue, [freeze], NOON + HOUR) is None


def known(freeze: Freeze) -> Freezes:
    return Freezes((), {"acme": (freeze,)})


def test_a_frozen_schedule_is_left_alone_until_its_fire_is_surely_past() -> None:
    item = timer(cron("* * * * *"), NOON)
    early = apart([item], known(OPEN), NOON + SETTLED - 1, NOON + 10 * SECOND)
    assert (early.rest, early.claims) == ([], [])
    (claim,) = apart([item], known(OPEN), NOON + SETTLED, NOON + 10 * SECOND).claims
    assert claim.fires == ()
    assert [(one.first_at, one.last_at) for one in claim.skipped] == [(NOON, NOON)]
    assert claim.following.nominal_at == NOON + MINUTE


def test_a_jittered_fire_that_is_due_after_the_end_is_claimed_ahead_as_ever() -> None:
    ends = replace(OPEN, until=NOON + 5 * SECOND)
    item = timer(cron("* * * * *"), NOON, jitter_seconds=50)
    fire = apart([item], Freezes(), NOON, NOON + MINUTE).rest[0]
    assert fire == item
    found = apart([item], known(ends), NOON + SECOND, NOON + MINUTE)
    assert (found.rest == [item]) is (item.due_at >= ends.until)


def test_of_what_lies_further_ahead_only_what_a_freeze_has_put_off_is_looked_at() -> None:
    ended = replace(OPEN, until=NOON)
    put_off = replace(timer(every(10, NOON), NOON + 10 * SECOND), due_at=NOON + 50 * SECOND)
    ordinary = timer(every(10, NOON), NOON + 50 * SECOND, schedule_id="other")
    made = apart([put_off, ordinary], known(ended), NOON + SECOND, NOON + 11 * SECOND)
    assert made.rest == []
    (claim,) = made.claims
    assert (claim.due_at, claim.wakes_at, claim.skipped) == (NOON + 50 * SECOND, NOON + 10 * SECOND, ())


def test_a_fire_that_waits_for_its_place_in_the_tenants_line_keeps_it_after_a_thaw() -> None:
    ended = replace(OPEN, until=NOON)
    reserved = replace(timer(every(60, NOON), NOON), due_at=NOON + 50 * SECOND, reserved_at=NOON + 50 * SECOND)
    made = apart([reserved], known(ended), NOON + SECOND, NOON + 11 * SECOND)
    assert (made.rest, made.claims) == ([], [])


@pytest.mark.parametrize(("turn_in", "comes_in"), [(25 * SECOND, 25 * SECOND), (15 * MINUTE, 30 * SECOND), (-5, -5)])
def test_a_thaw_brings_a_turn_forward_and_never_makes_turns_follow_faster_than_their_pace(
    turn_in: int, comes_in: int
) -> None:
    """A thaw may be noticed when turns go on already: one that had just been taken was followed at once by another."""
    stretch = Stretch(
        NOON - HOUR, NOON - 30 * MINUTE, Late(Cause.OUTAGE, NOON - HOUR, NOON - 30 * MINUTE, NOON), per_minute=2
    )
    waiting = timer(every(60, NOON), NOON - 5 * MINUTE, due_at=NOON, backlog=Backlog((stretch,), NOON + turn_in))
    ended = Freeze("f", TenantScope("acme"), "ada", NOON - 6 * MINUTE, until=NOON - 4 * MINUTE)
    claim = thawed_claim(waiting, ended, NOON)
    assert claim.backlog is not None
    assert claim.backlog.turn_at == NOON + comes_in
