"""Protection: what keeps a busy worker from being chosen when there are to be fewer."""

from typing import Protocol


class Protection(Protocol):
    """Of the machine, or task, that a worker runs on. Nothing here raises: a worker without it works all the same."""

    def begin(self) -> None:
        """A job begins: whoever takes workers away is to take another."""
        ...

    def look(self) -> None:
        """To be called every second or so while the job goes on: renews what runs out by itself."""
        ...

    def end(self) -> None:
        """The job is over."""
        ...


class Unprotected:
    """Where nobody takes workers away, as on one's own machine."""

    def begin(self) -> None:
        """Nothing is to be done."""

    def look(self) -> None:
        """Nothing is to be done."""

    def end(self) -> None:
        """Nothing is to be done."""
