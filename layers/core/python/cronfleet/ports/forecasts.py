"""Forecasts, as the sweeper keeps them up and callers read them."""

from collections.abc import Sequence
from typing import Protocol

from cronfleet.domain.forecast_reading import Reading, Walk


class ForecastStore(Protocol):
    """The latest readings, and the walk that makes the next; hints, from which nothing but an answer is made."""

    def get_forecast_walk(self) -> Walk | None:
        """The latest walk, read strongly; `None` before the first. Raises `Damaged`."""
        ...

    def put_forecast_walk(self, walk: Walk) -> bool:
        """Replace the walk if its `rev` is still `walk.rev - 1` (0: there is none); False when another was faster."""
        ...

    def put_forecast(self, reading: Reading) -> None:
        """Replace the reading of this shard, or of all."""
        ...

    def get_forecast(self) -> Reading | None:
        """The reading of all shards, read eventually; `None` before the first walk has ended. Raises `Damaged`."""
        ...

    def list_forecasts(self, *, consistent: bool = False) -> Sequence[Reading]:
        """The readings of single shards, by shard; read strongly where they are to be added up. Raises `Damaged`."""
        ...
