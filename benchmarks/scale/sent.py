"""What was sent to the run queues: one row a message, in arrays of numbers."""

from array import array
from dataclasses import dataclass, field


def _numbers(kind: str) -> "array[int]":
    return array(kind)


@dataclass(slots=True)
class Sent:
    """Instants are milliseconds after the population's beginning, nominals and dues seconds."""

    number: "array[int]" = field(default_factory=lambda: _numbers("I"))
    nominal: "array[int]" = field(default_factory=lambda: _numbers("i"))
    due: "array[int]" = field(default_factory=lambda: _numbers("i"))
    sent_ms: "array[int]" = field(default_factory=lambda: _numbers("i"))
    arrives_ms: "array[int]" = field(default_factory=lambda: _numbers("i"))
    tier: "array[int]" = field(default_factory=lambda: _numbers("B"))

    def __len__(self) -> int:
        return len(self.number)
