"""`RateStore` in memory."""

from cronfleet.adapters.memory.state import State
from cronfleet.ports.rates import Drawn


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
