"""Shifts: a worker's time on duty, from which a long worker may be called off in the middle of an attempt."""

from typing import Protocol

from cronfleet.domain.instant import Instant


class Shift(Protocol):
    """What a worker tells of its work where it runs, and what it is told from there."""

    @property
    def ends_at(self) -> Instant | None:
        """When a running attempt is to be handed on at the latest; `None` while nobody has asked the worker to stop."""
        ...

    def began(self) -> None:
        """An attempt has its lease: the ledger knows of the run now, and its message is needed no more."""
        ...

    def look(self) -> None:
        """Called every second or so while an attempt goes on."""
        ...


class OneMessage:
    """The shift of a worker function: it lasts as long as its message does, and ends with it."""

    @property
    def ends_at(self) -> Instant | None:
        """Never in mid-work: its time limit is longer than any attempt's."""
        return None

    def began(self) -> None:
        """Its message is deleted when the function has answered."""

    def look(self) -> None:
        """Nothing is to be done."""
