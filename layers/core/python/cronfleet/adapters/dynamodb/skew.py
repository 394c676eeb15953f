"""How far this process's clock is from the store's, by the Date header of the store's answers."""

from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from cronfleet.domain.instant import SECOND, Instant, from_datetime
from cronfleet.ports.clock import SteadyClock

if TYPE_CHECKING:
    from botocore.client import BaseClient

_SENT_AT = "cronfleet_sent_at"

SET: Final = 200
"""Milliseconds by which wall clock and steady clock part when somebody sets the wall clock. Slewing takes minutes to
part them so far; then one answer more is asked for, and nothing else happens.
"""

SLOWEST: Final = 5 * SECOND
"""An answer that took longer tells nothing of the time."""


@dataclass(frozen=True, slots=True)
class _Heard:
    """What an answer told, and what this process's clocks showed then."""

    skew_ms: int
    now: Instant
    steady: int


class Skew:
    """Hears every answer of a client, and judges the latest.

    A header of whole seconds `d`, received after a request was sent at `s` and before now `r`, says that the
    store's clock showed something in [d, d + 1 s) at some moment of [s, r]. The clocks agree while some skew of 0
    explains that; else the skew is the least that does. `s` is counted back from `r` by the steady clock: where the
    wall clock was set while the request was under way, it is the new time that is judged.

    An answer holds until this process's clock is set: a process may lie idle for minutes between two answers. One that
    took very long explains any skew, so it tells nothing.
    """

    def __init__(self, clock: SteadyClock, client: "BaseClient") -> None:
        self._clock = clock
        self._heard: _Heard | None = None
        client.meta.events.register("request-created.dynamodb", self._note_sent)
        client.meta.events.register("response-received.dynamodb", self._note_answer)

    @property
    def skew_ms(self) -> int | None:
        """This clock minus the store's; `None` before the first answer, and after this clock was set."""
        heard = self._heard
        if heard is None:
            return None
        set_by = (self._clock.now() - heard.now) - (self._clock.steady() - heard.steady)
        return None if abs(set_by) > SET else heard.skew_ms

    def _note_sent(self, request: Any, **_: Any) -> None:
        request.context[_SENT_AT] = self._clock.steady()

    def _note_answer(self, response_dict: Any, context: Any, **_: Any) -> None:
        date = response_dict["headers"].get("date") if response_dict else None
        sent_steady = context.get(_SENT_AT)
        if date is None or sent_steady is None:
            return
        now, steady, second = self._clock.now(), self._clock.steady(), _second(date)
        took = steady - sent_steady
        if took <= SLOWEST and second is not None:
            self._heard = _Heard(judged(now - took, now, second), now, steady)


@lru_cache(maxsize=8)
def _second(date: str) -> Instant | None:
    # Many answers come in one second, and to read a date takes longer than to judge it.
    try:
        return from_datetime(parsedate_to_datetime(date))
    except (TypeError, ValueError):
        return None  # Not the store's: something on the way answered, and what it says of the request counts alone.


def judged(sent_at: Instant, received_at: Instant, header_at: Instant) -> int:
    """The least skew (this clock minus the store's) that explains a Date header of `header_at`."""
    if sent_at > header_at + SECOND:
        return sent_at - header_at - SECOND
    return min(0, received_at - header_at)
