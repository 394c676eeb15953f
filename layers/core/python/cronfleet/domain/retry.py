"""Retry: when a failed run is tried again, and when it is given up."""

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from cronfleet.domain.instant import SECOND, Instant, ceil_second

MAX_ATTEMPTS: Final = 20
MAX_BACKOFF_SECONDS: Final = 7 * 24 * 3600


class BackoffKind(StrEnum):
    """`exponential` doubles and is drawn with full jitter; `fixed` is exactly what was asked for."""

    EXPONENTIAL = "exponential"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class Backoff:
    """The wait between attempts, in whole seconds."""

    kind: BackoffKind = BackoffKind.EXPONENTIAL
    base_seconds: int = 10
    max_seconds: int = 3600

    def ceiling_seconds(self, failed_attempt: int) -> int:
        """The longest wait after `failed_attempt` (1, 2, …)."""
        if self.kind is BackoffKind.FIXED:
            return min(self.base_seconds, self.max_seconds)
        # Past 2^32 every cap is reached; without the bound a late attempt would compute a huge number.
        return min(self.base_seconds << min(failed_attempt - 1, 32), self.max_seconds)


@dataclass(frozen=True, slots=True)
class Retry:
    """`max_attempts` counts the first try: 1 means that nothing is retried."""

    max_attempts: int = 3
    backoff: Backoff = field(default_factory=Backoff)


def next_attempt_at(retry: Retry, run_id: str, failed_attempt: int, now: Instant) -> Instant | None:
    """When `run_id` is tried again after `failed_attempt`; `None` when its attempts are used up.

    Full jitter (a wait drawn evenly from one second to the ceiling) keeps runs that failed together from
    coming back together. The draw is a hash, so that a decision taken twice is the same decision.
    Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
    """
    if failed_attempt >= retry.max_attempts:
        return None
    ceiling = retry.backoff.ceiling_seconds(failed_attempt)
    if retry.backoff.kind is BackoffKind.FIXED:
        return ceil_second(now) + ceiling * SECOND
    digest = hashlib.blake2b(f"{run_id}#{failed_attempt}".encode(), digest_size=8).digest()
    return ceil_second(now) + (1 + int.from_bytes(digest, "big") % ceiling) * SECOND
