"""Health: which code and zone data answer, and whether the job store does."""

from dataclasses import dataclass

from cronfleet.domain.hold import Hold
from cronfleet.domain.incident import PLATFORM
from cronfleet.domain.instant import Instant
from cronfleet.domain.self_watch import SWEEPS
from cronfleet.domain.zones import tzdata_version
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import Damaged, JobStore, NoAnswer
from cronfleet.services.access import Caller
from cronfleet.version import VERSION


@dataclass(frozen=True, slots=True)
class Report:
    """What the API can say about itself."""

    version: str
    tzdata: str
    time_at: Instant
    store_answers: bool
    last_sweep_at: Instant | None = None
    """When the sweeper began what it last did whole; `None`: never yet, or it cannot be read."""
    hold: Hold | None = None
    """What holds the installation, so that nothing is claimed in it."""


class Health:
    """The service behind /v1/health."""

    def __init__(self, *, store: JobStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def check(self, caller: Caller) -> Report:
        """One strongly consistent read tells whether the store answers."""
        try:
            self._store.find_idempotency(caller.tenant.tenant_id, "health")
        except NoAnswer:
            return Report(VERSION, tzdata_version(), self._clock.now(), store_answers=False)
        return Report(
            VERSION,
            tzdata_version(),
            self._clock.now(),
            store_answers=True,
            last_sweep_at=self._last_sweep(),
            hold=self._hold(),
        )

    def _hold(self) -> Hold | None:
        try:
            switch = self._store.get_notices(consistent=False).switch
        except NoAnswer:
            return None
        return None if switch is None else switch.in_force(self._store.here)

    def _last_sweep(self) -> Instant | None:
        try:
            watch = self._store.get_watch(PLATFORM, SWEEPS)
        except (NoAnswer, Damaged):
            return None
        return None if watch is None else watch.judged_until
