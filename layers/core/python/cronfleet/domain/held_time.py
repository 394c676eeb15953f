"""Held time: what the dispatcher finds missed, or late, when a hold has been released says so in the ledger.

A hold is to schedules what an outage is: the same policies decide what still runs. Only the cause is another, and who
reads the ledger wants to know it.
"""

from collections.abc import Sequence
from dataclasses import replace

from cronfleet.domain.backlog import Backlog
from cronfleet.domain.claim import Claim, Fire, ScheduleClaim, SkippedRange
from cronfleet.domain.hold import Hold, hold_detail, hold_words
from cronfleet.domain.instant import Instant
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.reason import Code, Reason


def attributed(claim: Claim, ended: Sequence[Hold], now: Instant) -> Claim:
    """`claim` with what came due in one of the `ended` holds put down to it; made at `now`."""
    if not isinstance(claim, ScheduleClaim) or all(claim.due_at >= (hold.until or 0) for hold in ended):
        return claim
    return replace(
        claim,
        fires=tuple(_fire(fire, ended, now) for fire in claim.fires),
        caught_up=tuple(_caught_up(fire, ended) for fire in claim.caught_up),
        skipped=tuple(_skipped(one, ended) for one in claim.skipped),
        backlog=None if claim.backlog is None else _backlog(claim.backlog, ended),
    )


def _over(ended: Sequence[Hold], first_at: Instant, last_at: Instant) -> Hold | None:
    """The last of the holds in which any time from `first_at` to `last_at` lies."""
    return next((hold for hold in reversed(ended) if hold.covers(first_at, last_at)), None)


def _fire(fire: Fire, ended: Sequence[Hold], now: Instant) -> Fire:
    """A fire that is only late: too little for its policy to call it missed."""
    if fire.late is not None or _over(ended, fire.due_at, fire.due_at) is None:
        return fire
    return replace(fire, late=Late(Cause.HOLD, fire.nominal_at, fire.nominal_at, now))


def _caught_up(fire: Fire, ended: Sequence[Hold]) -> Fire:
    return fire if fire.late is None else replace(fire, late=_late(fire.late, ended))


def _late(late: Late, ended: Sequence[Hold]) -> Late:
    is_ours = late.cause is Cause.OUTAGE and _over(ended, late.from_at, late.until_at) is not None
    return replace(late, cause=Cause.HOLD) if is_ours else late


def _backlog(backlog: Backlog, ended: Sequence[Hold]) -> Backlog:
    stretches = tuple(replace(one, late=_late(one.late, ended)) for one in backlog.stretches)
    return replace(backlog, stretches=stretches)


def _skipped(skipped: SkippedRange, ended: Sequence[Hold]) -> SkippedRange:
    reason = skipped.reason
    if reason.code is not Code.MISSED or reason.detail.get("cause") != Cause.OUTAGE.value:
        return skipped
    hold = _over(ended, int(reason.detail["missed_from_at"]), int(reason.detail["missed_until_at"]))
    if hold is None:
        return skipped
    detail = {**reason.detail, "cause": Cause.HOLD.value, **hold_detail(hold)}
    return replace(skipped, reason=Reason(Code.MISSED, f"{reason.text}; {hold_words(hold)}", detail))
