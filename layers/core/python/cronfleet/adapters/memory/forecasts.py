"""`ForecastStore` in memory."""

from collections.abc import Sequence
from copy import deepcopy

from cronfleet.adapters.memory.state import State
from cronfleet.domain.forecast_reading import Reading, Walk


class MemoryForecasts:
    """The latest readings, and the walk that makes the next."""

    def __init__(self, state: State) -> None:
        self.state = state

    def get_forecast_walk(self) -> Walk | None:
        return deepcopy(self.state.forecast_walk)

    def put_forecast_walk(self, walk: Walk) -> bool:
        stored = self.state.forecast_walk
        if (0 if stored is None else stored.rev) != walk.rev - 1:
            return stored == walk
        self.state.forecast_walk = deepcopy(walk)
        return True

    def put_forecast(self, reading: Reading) -> None:
        self.state.forecasts[reading.shard] = deepcopy(reading)

    def get_forecast(self) -> Reading | None:
        return deepcopy(self.state.forecasts.get(None))

    def list_forecasts(self, *, consistent: bool = False) -> Sequence[Reading]:
        del consistent  # it always is
        shards = sorted(shard for shard in self.state.forecasts if shard is not None)
        return [deepcopy(self.state.forecasts[shard]) for shard in shards]
