"""The promises about missed time: no more than was wanted, none too old, no faster than it may, and said why.

What was wanted is read from the audit log's forms and from what callers asked of their resumes; what was caught up
from the rows. Nothing of the product is asked.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simulator.checkers.violation import Violation
from simulator.faults import MINUTE, SECOND
from simulator.world import World

Key = tuple[str, str]


@dataclass(frozen=True)
class Wish:
    """What was wanted of missed time from `at` on: how many, how old at most (seconds), how many a minute."""

    at: int
    wanted: int
    window: int | None
    per_minute: int


CLOCKS: Final = 5 * SECOND
"""By how much the times that two processes write may be out of order."""

ALL: Final = {"skip": 0, "fire_once": 1}


def check_missed(world: World, end_at: int) -> Iterator[Violation]:
    """Of every stretch of missed time of every schedule."""
    late: dict[Key, list[Any]] = defaultdict(list)
    for row in world.rows.values():
        if row.late is not None and _was_missed(row):
            late[row.key.tenant, row.key.schedule_id].append(row)
    for key, rows in late.items():
        yield from _check_words(rows)
        stretches: dict[tuple[str, int], list[Any]] = defaultdict(list)
        for row in rows:
            stretches[row.late.cause.value, row.late.noticed_at].append(row)
        for (cause, noticed_at), caught_up in stretches.items():
            yield from _check_stretch(world, key, cause, noticed_at, caught_up)
            yield from _check_pace(world, key, cause, noticed_at, caught_up)
    yield from _check_left(world, end_at)


def _was_missed(row: Any) -> bool:
    """Whether its time was missed: it was not deferred, nor put off, a claimed fire or manual run, until a thaw."""
    cause = row.late.cause.value
    put_off = cause == "freeze" and (row.key.cause != "schedule" or row.late.noticed_at > row.due_at + SECOND)
    # Within its grace a fire that a hold made late is only late.
    only_late = cause == "hold" and row.late.from_at == row.late.until_at and row.late.noticed_at > row.due_at + SECOND
    return cause != "rate" and not put_off and not only_late


def _check_words(rows: Sequence[Any]) -> Iterator[Violation]:
    """A caught-up run names the stretch that it lies in, and is due after that was noticed."""
    for row in rows:
        late, nominal = row.late, row.key.nominal_at
        if not late.from_at <= nominal <= late.until_at:
            yield Violation(row.due_at, "a caught-up run does not lie in what it says was missed", str(row))
        if row.due_at < late.noticed_at - late.noticed_at % SECOND or row.due_at < nominal:
            yield Violation(row.due_at, "a caught-up run was due before its time was known to be missed", str(row))


def _check_stretch(world: World, key: Key, cause: str, noticed_at: int, rows: Sequence[Any]) -> Iterator[Violation]:
    """Of one stretch no more is caught up than one of the wishes that may have counted wants, and none too old."""
    wishes = _wishes(world, key, cause, noticed_at)
    most = max((wish.wanted for wish in wishes), default=0)
    if len(rows) > most:
        text = f"{key}: {len(rows)} of what was missed until {noticed_at}, {most} were wanted"
        yield Violation(min(row.due_at for row in rows), "more was caught up than was wanted", text)
    windows = [wish.window for wish in wishes]
    if windows and None not in windows:
        oldest = max(window for window in windows if window is not None) * SECOND
        for row in rows:
            if row.key.cause == "schedule" and row.due_at - row.key.nominal_at > oldest + SECOND:
                yield Violation(row.due_at, "a fire was caught up that is older than its window", str(row))


def _check_pace(world: World, key: Key, cause: str, noticed_at: int, rows: Sequence[Any]) -> Iterator[Violation]:
    """Of one stretch no minute has more turns than the fastest wish allows; a resume begins its turns anew."""
    # Without a wish in the audit log there is no pace to judge by; that it is not there is `check_audit`'s to say.
    fastest = max((wish.per_minute for wish in _wishes(world, key, cause, noticed_at)), default=len(rows))
    by_epoch: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        if row.key.cause == "schedule":
            by_epoch[row.key.epoch].append(row.due_at)
    for due in map(sorted, by_epoch.values()):
        for earlier, later in zip(due, due[fastest:], strict=False):
            if later - earlier < MINUTE:
                text = f"{key}: more than {fastest} within the minute from {earlier}"
                yield Violation(earlier, "missed time was caught up faster than it may", text)
                break


def _wishes(world: World, key: Key, cause: str, noticed_at: int) -> list[Wish]:
    """What may have counted for a stretch: the policy in force when it was noticed, all later ones, every resume's.

    Later ones too, because a pause in the middle decides anew on what is left.
    """
    policies: list[tuple[int, Any]] = []
    for entry in world.store.state.audit.values():
        form = entry.after or {}
        if (entry.tenant, entry.schedule_id) == key and "policies" in form:
            policies.append((entry.at, form["policies"]))
    policies.sort(key=lambda one: one[0])
    # Strictly: a changed trigger notices what its predecessor missed, and leaves it to that one's policy.
    # By how much two clocks may differ, what stands as earlier may have been later.
    before = [at for at, _ in policies if at < noticed_at - CLOCKS]
    since = before[-1] if before else 0
    counted = [one for one in policies if one[0] >= since]
    name = "after_pause" if cause in ("pause", "freeze") else "misfire"
    wishes = [_wish(at, policy[name]) for at, policy in counted]
    if cause == "outage" and _was_paused(world, key, noticed_at):
        wishes += [_wish(at, policy["after_pause"]) for at, policy in counted]
    asked = [one for one in world.history.requests if (one.tenant, one.schedule_id) == key and one.missed]
    # A resume that was asked for before this stretch was noticed, and answered before, had no say in it.
    wishes += [
        Wish(one.asked_at, *one.missed)
        for one in asked
        if one.missed and (one.answered_at is None or one.answered_at >= noticed_at - CLOCKS)
    ]
    return wishes


def _was_paused(world: World, key: Key, since: int) -> bool:
    return any(
        (entry.tenant, entry.schedule_id) == key and entry.action == "pause" and entry.at >= since
        for entry in world.store.state.audit.values()
    )


def _wish(at: int, form: Any) -> Wish:
    wanted = ALL.get(form["policy"], form["max"])
    return Wish(at, wanted, form["window_seconds"], form["per_minute"])


def _check_left(world: World, end_at: int) -> Iterator[Violation]:
    """Once calm, everything that is wanted has been caught up."""
    for timer in world.store.state.timers.values():
        if timer.backlog is not None and timer.status.value == "active":
            yield Violation(end_at, "missed time was never caught up", str(timer))
