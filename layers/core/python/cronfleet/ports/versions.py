"""The versions of schedules, as the services need them."""

from collections.abc import Sequence
from typing import Protocol

from cronfleet.domain.schedule import Definition


class VersionStore(Protocol):
    """Every definition that a schedule has had; none is ever changed."""

    def list_definitions(
        self, tenant: str, schedule_id: str, *, before: int | None, limit: int
    ) -> Sequence[Definition]:
        """The newest `limit` versions older than `before` (`None`: of all), newest first, read strongly.

        Those of an earlier life of the id as well. Fewer than `limit`: there are no more. Raises `Damaged`.
        """
        ...
