"""Cancel requests: what is asked of a run that is running.

What has started is stopped only by cancelling it, and only its worker can do that. So the request stands in the run's
row, where the attempt's next beat finds it, and every write of its end: it cannot be overlooked, and it cannot undo a
success that was written before.
"""

from dataclasses import dataclass
from typing import Final

from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.reason import Code, Detail, Reason

GRACE_SECONDS: Final = 10
"""How long an attempt that has learnt of the request may go on, to clean up; then it is stopped."""
GRACE: Final = GRACE_SECONDS * SECOND


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """Who asked for the run's cancellation, when, and why. `by` is a caller, or what the scheduler did it for."""

    at: Instant
    by: str
    reason: str = ""

    @property
    def as_reason(self) -> Reason:
        """Why a run ended that was cancelled by it."""
        said = f": {self.reason}" if self.reason else ""
        detail: Detail = {"by": self.by, "why": self.reason, "asked_at": self.at}
        return Reason(Code.CANCELLED, f"cancelled by {self.by}{said}", detail)
