"""Faults at every port call: a crash or a lost reply, before or after the call reached the store or queue."""

from collections.abc import Callable, Sequence
from typing import Any

from cronfleet.domain.claim import BatchId, Claim, ClaimOutcome
from cronfleet.ports.job_store import NoAnswer

Hook = Callable[[str, str], None]
"""Called with (`before` | `after`, name of the call); raises `Crash` or `NoAnswer`, or lets it pass."""


class Crash(BaseException):
    """The process died here. Not an `Exception`, so that no service can catch it."""


class Faulty:
    """Wraps any port: every public method calls `hook("before", name)` and `hook("after", name)` around itself.

    `NoAnswer` raised before means that the request never arrived, raised after that its reply was lost.
    """

    def __init__(self, port: Any, hook: Hook) -> None:
        self._port = port
        self._hook = hook

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._port, name)
        if name.startswith("_") or not callable(attribute):
            return attribute

        def call(*args: Any, **kwargs: Any) -> Any:
            self._hook("before", name)
            answer = attribute(*args, **kwargs)
            self._hook("after", name)
            return answer

        return call


class FaultyStore(Faulty):
    """A job store whose claims can be interrupted one by one: the hook hears `claim` around each of them."""

    def claim(self, batch_id: BatchId, claims: Sequence[Claim]) -> Sequence[ClaimOutcome]:
        return [self._claim_one(batch_id, claim) for claim in claims]

    def _claim_one(self, batch_id: BatchId, claim: Claim) -> ClaimOutcome:
        try:
            self._hook("before", "claim")
            outcome: ClaimOutcome = self._port.claim_one(batch_id, claim)
            self._hook("after", "claim")
        except NoAnswer:
            return ClaimOutcome.UNANSWERED
        return outcome


class FaultyQueue(Faulty):
    """A queue that may refuse a send, or take it and lose the reply: both are answered as unsent."""

    def send(self, messages: Sequence[Any]) -> Sequence[Any]:
        try:
            self._hook("before", "send")
            unsent: Sequence[Any] = self._port.send(messages)
            self._hook("after", "send")
        except NoAnswer:
            return messages
        return unsent


class FaultAt:
    """A hook that raises `fault` at the `step`-th moment (from 0) and lets everything else pass.

    `step=None` only counts: run once, read `moments`, and then once for each of `range(len(moments))`.
    """

    def __init__(self, step: int | None, fault: Callable[[], BaseException] = Crash) -> None:
        self._step = step
        self._fault = fault
        self.moments: list[tuple[str, str]] = []

    def __call__(self, when: str, name: str) -> None:
        self.moments.append((when, name))
        if len(self.moments) - 1 == self._step:
            raise self._fault()
