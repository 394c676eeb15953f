"""How far this process's clock is from the store's, by the Date header of the store's answers."""

from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from cronfleet.domain.instant import SECOND, Instant, from_datetime
from cronfleet.ports.clock import Clock

if TYPE_CHECKING:
    from botocore.client import BaseClient

_SENT_AT = "cronfleet_sent_at"


class Skew:
    """Hears every answer of a client, and judges the latest.

    A header of whole seconds `d`, received after a request was sent at `s` and before now `r`, says that the
    store's clock showed something in [d, d + 1 s) at some moment of [s, r]. The clocks agree while some skew of 0
    explains that; else the skew is the least that does.
    """

    def __init__(self, clock: Clock, client: "BaseClient") -> None:
        self._clock = clock
        self._skew_ms: int | None = None
        client.meta.events.register("request-created.dynamodb", self._note_sent)
        client.meta.events.register("response-received.dynamodb", self._note_answer)

    @property
    def skew_ms(self) -> int | None:
        """This clock minus the store's; `None` before the first answer."""
        return self._skew_ms

    def _note_sent(self, request: Any, **_: Any) -> None:
        request.context[_SENT_AT] = self._clock.now()

    def _note_answer(self, response_dict: Any, context: Any, **_: Any) -> None:
        date = response_dict["headers"].get("date") if response_dict else None
        sent_at = context.get(_SENT_AT)
        if date is not None and sent_at is not None:
            self._skew_ms = judged(sent_at, self._clock.now(), from_datetime(parsedate_to_datetime(date)))


def judged(sent_at: Instant, received_at: Instant, header_at: Instant) -> int:
    """The least skew (this clock minus the store's) that explains a Date header of `header_at`."""
    if sent_at > header_at + SECOND:
        return sent_at - header_at - SECOND
    return min(0, received_at - header_at)
