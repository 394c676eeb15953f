"""The true clock: what a part does while its own clock is not the store's, which is nothing (promise 9)."""

from cronfleet.domain.errors import ClockSkewed
from cronfleet.domain.instant import SECOND
from cronfleet.domain.lease import too_skewed
from cronfleet.ports.job_store import TimedStore
from cronfleet.ports.telemetry import Telemetry


def require_true_clock(store: TimedStore, telemetry: Telemetry, **about: object) -> None:
    """Raise `ClockSkewed`, with an alarm that says `about` what, when this process's clock is off.

    Silent while the store's time has not been heard: whoever must know reads something first.
    """
    skew = store.skew_ms()
    if skew is not None and too_skewed(skew):
        telemetry.alarm("clock_skewed", skew_seconds=skew / SECOND, **about)
        raise ClockSkewed(skew)
