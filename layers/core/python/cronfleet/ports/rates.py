"""Lines, by which rates are kept: see `domain/rate.py`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Draw:
    """What is asked of a line, as `RateStore.draw` is: `span`, `floor` and `ceiling` in microseconds."""

    line: str
    span: int
    floor: int
    ceiling: int | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """Where the line stood before, at least `floor`; and whether it was moved on."""

    start: int
    is_granted: bool


class RateStore(Protocol):
    """Lines by their names. One that nobody has drawn from, or not for long, is at rest."""

    def draw(self, line: str, span: int, *, floor: int, ceiling: int | None = None) -> Drawn:
        """Move `line` on by `span` µs from where it stands, or from `floor` if it stands before that.

        Not at all when it would come to stand past `ceiling`. One conditional write, a second one where the guess was
        wrong about the floor; writers never make each other start over. A write whose reply was lost may be done twice:
        places are wasted then, and none is given twice. Raises `NoAnswer`.
        """
        ...

    def draw_all(self, draws: Sequence[Draw]) -> Collection[str]:
        """The lines that were moved on as `draws`, which name none twice, ask for it.

        The others were not, or nobody knows: whoever wants to know asks each alone. A store may leave all to that.
        """
        ...
