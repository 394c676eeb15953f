"""The noticeboard as a process knows it: read again, by one request, when that is more than `HELD` old."""

from typing import Final

from cronfleet.domain.freeze import HELD, FreezeDirectory
from cronfleet.domain.hold import Hold, Switch
from cronfleet.domain.instant import EARLIEST, Instant
from cronfleet.domain.noticeboard import Notice, Notices, Sheet, Topic
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask

_NEVER: Final = EARLIEST - HELD


class Noticeboard:
    """One for each service of a process. Whoever starts runs reads strongly; others take the cheaper copy."""

    def __init__(self, store: JobStore, clock: Clock, telemetry: Telemetry | None = None, *, consistent: bool) -> None:
        self._store = store
        self._clock = clock
        self._telemetry = telemetry
        self._consistent = consistent
        self._notices = Notices()
        self._directory = FreezeDirectory()
        self._switch = Switch()
        self._read_at: Instant = _NEVER

    def directory(self) -> FreezeDirectory:
        """The installation's directory of freezes, at most `HELD` old. Raises `NoAnswer`."""
        self._look()
        return self._directory

    def sheets(self) -> tuple[Sheet, ...]:
        """Every sheet, at most `HELD` old. Raises `NoAnswer`."""
        self._look()
        return self._notices.sheets

    def switch(self) -> Switch:
        """How this installation is held and lately was, at most `HELD` old. Raises `NoAnswer`."""
        self._look()
        return self._switch

    def hold(self) -> Hold | None:
        """What holds this installation, if anything does. Raises `NoAnswer`."""
        return self.switch().in_force(self._store.here)

    def is_standby(self) -> bool:
        """Whether nothing may start here, and nothing be written. Raises `NoAnswer`."""
        hold = self.hold()
        return hold is not None and hold.is_standby

    def breaker(self, breaker_id: str) -> Notice | None:
        """What is known of a breaker that is not closed; `None` for one that is. Raises `NoAnswer`."""
        return self._about(Topic.BREAKERS, breaker_id)

    def tells_events(self, tenant: str) -> bool:
        """Whether `tenant` wants to be told of its runs. Raises `NoAnswer`."""
        return self._about(Topic.EVENTS, tenant) is not None

    def look_again(self) -> None:
        """Forget what was read: this process has changed it."""
        self._read_at = _NEVER

    def _about(self, topic: Topic, name: str) -> Notice | None:
        self._look()
        return self._notices.about(topic, name, self._clock.now())

    def _look(self) -> None:
        now = self._clock.now()
        # A clock that was set back tells nothing.
        if 0 <= now - self._read_at < HELD:
            return
        self._notices = ask(lambda: self._store.get_notices(consistent=self._consistent))
        # One bad item must not stop the installation: what was known before goes on, and a person is called.
        self._directory = self._notices.directory or self._directory
        self._switch = self._notices.switch or self._switch
        self._read_at = now
        for text in self._notices.unreadable:
            self._alarm(text)

    def _alarm(self, error: str) -> None:
        if self._telemetry is not None:
            self._telemetry.alarm("notices_damaged", error=error)
