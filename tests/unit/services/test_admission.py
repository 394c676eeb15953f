"""Admission: a request is counted by a clock that is the store's, and by no other."""

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.instant import HOUR, Instant
from cronfleet.domain.rate import line_of_key
from cronfleet.domain.tenant import Tenant
from cronfleet.services.access import Caller
from cronfleet.services.admission import Admission
from tests.support.settable_clock import NOON, SettableClock

ADA = Caller(Tenant("acme"), "ada", "request-1")


class Apart(MemoryJobStore):
    """A store whose clock is not its caller's; it tells its time with each answer."""

    def __init__(self, clock: SettableClock, callers: SettableClock) -> None:
        super().__init__(clock)
        self._true, self.callers = clock, callers
        self.is_heard = False

    def skew_ms(self) -> int | None:
        return self.callers.now() - self._true.now() if self.is_heard else None

    def get_tenant(self, tenant_id: str, *, consistent: bool = True) -> Tenant | None:
        self.is_heard = True
        return super().get_tenant(tenant_id, consistent=consistent)


def admission(ahead: int) -> tuple[Admission, Apart]:
    callers = SettableClock(NOON + ahead)
    store = Apart(SettableClock(NOON), callers)
    return Admission(store=store, clock=callers), store


def line(store: Apart) -> Instant | None:
    return store.state.lines.get(line_of_key(ADA.credential))


def test_a_clock_that_is_an_hour_ahead_moves_no_line_and_keeps_nobody_out() -> None:
    wrong, store = admission(ahead=HOUR)
    for _ in range(2_000):
        wrong.at_home(ADA, reads=True)
    assert line(store) is None


def test_a_clock_that_is_right_counts_from_its_first_request_on() -> None:
    right, store = admission(ahead=0)
    right.at_home(ADA, reads=True)
    assert line(store) is not None


def test_a_clock_that_was_set_is_judged_anew_before_anything_is_counted_by_it() -> None:
    admitted, store = admission(ahead=0)
    admitted.at_home(ADA, reads=True)
    counted = line(store)
    store.callers.be_set(HOUR)
    store.is_heard = False
    for _ in range(100):
        admitted.at_home(ADA, reads=True)
    assert line(store) == counted
