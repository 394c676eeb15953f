"""`Tracing` in memory."""

from collections.abc import Sequence

from cronfleet.domain.span import Span


class MemoryTracing:
    """Keeps what was delivered in `spans`."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._waiting: list[Span] = []

    def keep(self, spans: Sequence[Span]) -> None:
        """See `Tracing.keep`."""
        self._waiting += spans

    def flush(self) -> None:
        """See `Tracing.flush`."""
        self.spans += self._waiting
        self._waiting = []
