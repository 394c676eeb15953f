"""The true clock: what a part does while its own clock is not the store's, which is nothing (promise 9)."""

from collections.abc import Callable, Mapping
from typing import Final

from cronfleet.domain.errors import ClockSkewed
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.lease import too_skewed
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import NoAnswer, TimedStore
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask

MAX_HEARINGS: Final = 3
"""How often the store is asked for its time because this clock was set again meanwhile."""


def true_now(
    store: TimedStore, clock: Clock, telemetry: Telemetry, hear: Callable[[], object], **about: object
) -> Instant:
    """Now, by a clock that is the store's: what is decided for this instant was not decided by a wrong one.

    `hear` is a read of the store, made only where its time is not known: in a cold process, and after this clock was
    set. Raises `ClockSkewed`, with an alarm that says `about` what, and `NoAnswer` when the store stays silent.
    """
    for _ in range(MAX_HEARINGS):
        # Read first, then asked about: a clock that is set in between is found out, one set later does not matter.
        now, skew = clock.now(), store.skew_ms()
        if skew is not None:
            _require(skew, telemetry, about)
            return now
        ask(hear)
    raise NoAnswer(f"this process's clock was set {MAX_HEARINGS} times while the store was asked for its time")


def known_now(store: TimedStore, clock: Clock, hear: Callable[[], object]) -> Instant | None:
    """Now, by a clock that is the store's; `None` where it is off, or where nobody says the time.

    `hear` as in `true_now`: for what is left undone by a wrong clock, and harms nobody by that.
    """
    for _ in range(MAX_HEARINGS):
        now, skew = clock.now(), store.skew_ms()
        if skew is not None:
            return None if too_skewed(skew) else now
        try:
            ask(hear)
        except NoAnswer:
            return None
    return None


def require_true_clock(store: TimedStore, telemetry: Telemetry, **about: object) -> None:
    """Raise `ClockSkewed`, with an alarm that says `about` what, when this process's clock is known to be off."""
    _require(store.skew_ms() or 0, telemetry, about)


def refuse_wrong_clock(store: TimedStore) -> None:
    """Raise `ClockSkewed` when this process's clock is known to be off; whoever called alarms."""
    skew = store.skew_ms()
    if skew is not None and too_skewed(skew):
        raise ClockSkewed(skew)


def _require(skew: int, telemetry: Telemetry, about: Mapping[str, object]) -> None:
    if too_skewed(skew):
        telemetry.alarm("clock_skewed", skew_seconds=skew / SECOND, **about)
        raise ClockSkewed(skew)
