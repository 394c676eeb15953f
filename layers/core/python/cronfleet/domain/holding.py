"""Holding: a schedule that is registered and not yet on, and what it notes in shadow meanwhile.

In shadow its timer waits in the due index as an active one's does, and its claim makes a row instead of messages:
nothing can be sent, because the claim holds no fire. Since nobody waits for that row, one claim may stand for a
stretch: a schedule that names every second makes a row each five minutes.
"""

from typing import Final

from cronfleet.domain.claim import Fire, ScheduleClaim, SkippedRange, claim_of
from cronfleet.domain.instant import MINUTE, Instant, floor_second, to_text
from cronfleet.domain.reason import FREEZING, Code, Reason
from cronfleet.domain.run import Run, RunKey, RunStatus, range_row
from cronfleet.domain.schedule import Timer
from cronfleet.domain.trigger import latest_fires
from cronfleet.domain.zone_stamp import stamp

SHADOW_STRETCH: Final = 5 * MINUTE
"""After a claim in shadow the next one comes no sooner than this."""


def held_reason(timer: Timer) -> Reason:
    """Why nothing starts, nor is noted, while `timer` is held."""
    if timer.hold is None:
        return Reason(Code.NOT_ON, "the schedule is held")
    since, by = timer.hold.at, timer.hold.by
    text = f"the schedule has been held since {to_text(since)} by {by}: it was registered and not yet turned on"
    return Reason(Code.NOT_ON, text, {"by": by, "held_at": since})


def shadow_reason(timer: Timer, said: str = "would have fired") -> Reason:
    """Why what `timer` names in shadow is noted and not sent; `said` is what became of it, or will."""
    shadow = timer.hold.shadow if timer.hold else None
    if shadow is None:
        return Reason(Code.SHADOW, f"{said}; the schedule is held in shadow")
    text = f"{said}; the schedule is held in shadow since {to_text(shadow.at)}, by {shadow.by}"
    return Reason(Code.SHADOW, text, {"by": shadow.by, "shadow_at": shadow.at})


def shadow_claim(timer: Timer, now: Instant) -> ScheduleClaim:
    """The claim of everything that `timer` has named in shadow up to `now`, never ahead: it may be turned on before.

    Jitter plays no part. Nothing left to name leaves the schedule held.
    """
    if timer.nominal_at is None or timer.due_at is None:
        raise ValueError(f"the timer of {timer.key} waits for nothing")
    newest = latest_fires(timer.trigger, timer.nominal_at - 1, timer.capped(now), 1)
    last_at = newest[0] if newest else timer.nominal_at
    following = _following(timer, last_at, now)
    return claim_of(
        timer,
        following=following,
        zone_data=stamp(timer.trigger, following.nominal_at) if following else None,
        skipped=[SkippedRange(timer.nominal_at, last_at, shadow_reason(timer))],
    )


def _following(timer: Timer, last_at: Instant, now: Instant) -> Fire | None:
    nominal = timer.trigger.next_after(last_at)
    if nominal is None or timer.capped(nominal) != nominal:
        return None
    return Fire(nominal, max(nominal, floor_second(now) + SHADOW_STRETCH))


def skipped_row(claim: ScheduleClaim, skipped: SkippedRange, claimed_at: Instant) -> Run:
    """The ledger's entry of what `claim` does not send."""
    key = claim.run_key(skipped.first_at)
    if claim.is_shadow:
        return shadow_row(key, skipped.last_at, claim.tier, claimed_at, skipped.reason)
    return range_row(key, skipped.last_at, claim.tier, skipped_status(skipped), claimed_at, skipped.reason)


def skipped_status(skipped: SkippedRange) -> RunStatus:
    """What the nominals of an active schedule become that its claim does not send."""
    return RunStatus.FROZEN if skipped.reason.code in FREEZING else RunStatus.MISSED


def shadow_row(key: RunKey, last_at: Instant, tier: str, now: Instant, reason: Reason) -> Run:
    """The entry of what would have fired from the key's nominal to `last_at`."""
    if last_at == key.nominal_at:
        return Run(key, RunStatus.SHADOW, due_at=key.nominal_at, tier=tier, finished_at=now, reason=reason)
    return range_row(key, last_at, tier, RunStatus.SHADOW, now, reason)


def why_held(timer: Timer) -> tuple[RunStatus, Reason]:
    """What the nominals that a held `timer` has named and not yet noted become."""
    if timer.is_shadow:
        return RunStatus.SHADOW, shadow_reason(timer)
    return RunStatus.HELD, held_reason(timer)
