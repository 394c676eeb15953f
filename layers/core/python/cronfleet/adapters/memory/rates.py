"""`RateStore` in memory."""

from collections.abc import Collection, Sequence

from cronfleet.adapters.memory.state import State
from cronfleet.ports.rates import Draw, Drawn


class MemoryRates:
    """Lines by their names."""

    def __init__(self, state: State) -> None:
        self.state = state

    def draw(self, line: str, span: int, *, floor: int, ceiling: int | None = None) -> Drawn:
        start = max(floor, self.state.lines.get(line, floor))
        if ceiling is not None and start + span > ceiling:
            return Drawn(start, is_granted=False)
        self.state.lines[line] = start + span
        return Drawn(start, is_granted=True)

    def draw_all(self, draws: Sequence[Draw]) -> Collection[str]:
        return [
            one.line for one in draws if self.draw(one.line, one.span, floor=one.floor, ceiling=one.ceiling).is_granted
        ]
