"""Long runs: what outlives a worker function, and so has workers, a queue and leases of another kind.

An ordinary attempt is given a lease for all of its time limit, in the one write that starts it. One that may take hours
is given a short lease, which its worker renews as long as it lives: a worker that dies is found within minutes, and a
run still never has two live leases, since who cannot renew in time stops the job before its lease ends.
"""

from typing import Final

from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.lease import MAX_SKEW
from cronfleet.domain.run import Run, RunStatus
from cronfleet.domain.time_limit import is_long

LEASE_MARGIN_SECONDS: Final = 10
"""How much longer than its time limit an ordinary attempt's lease lasts: admission before, stopping and writing after.
"""

SHORT_LEASE_SECONDS: Final = 120
"""A lease that is renewed: how long a worker may say nothing before another may have the run."""

RENEW_SECONDS: Final = 40
"""How often it is renewed."""

STOP_SECONDS: Final = 30
"""How long before its end an attempt is stopped whose lease could not be renewed: longer than one request to the store
may take, so that nothing of it is left when another attempt begins. Before each request the clock is looked at.
"""


def lease_until(seconds: int, now: Instant) -> Instant:
    """The end of a lease that is taken, or renewed, at `now` for an attempt that keeps a worker busy for `seconds`."""
    lasts = SHORT_LEASE_SECONDS if is_long(seconds) else seconds + LEASE_MARGIN_SECONDS
    return now + lasts * SECOND


def renewed(run: Run, now: Instant) -> Run:
    """The row of a running attempt, its short lease renewed at `now`; it never ends sooner than before."""
    return run.moved(RunStatus.RUNNING, lease_until=max(run.lease_until or 0, now + SHORT_LEASE_SECONDS * SECOND))


def stops_at(run: Run) -> Instant:
    """When an attempt must have stopped that could not renew its short lease: another may have the run soon."""
    return (run.lease_until or 0) - STOP_SECONDS * SECOND


def is_clock_behind(run: Run, now: Instant) -> bool:
    """Whether a short lease has more time left than any is given: whoever says `now` has had its clock set back, and
    would take the lease for live when it has ended.
    """
    return (run.lease_until or 0) - now > SHORT_LEASE_SECONDS * SECOND + MAX_SKEW


def is_to_be_renewed(run: Run, now: Instant) -> bool:
    """Whether the short lease of a running attempt is old enough to be renewed at `now`."""
    until = run.lease_until or 0
    return until - now <= (SHORT_LEASE_SECONDS - RENEW_SECONDS) * SECOND
