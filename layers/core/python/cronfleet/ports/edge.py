"""What the edge in front of the API shows with each request."""

from typing import Protocol


class EdgeSecret(Protocol):
    """The secret between the edge and the API."""

    def accepted(self) -> tuple[str, ...]:
        """The value in force and, while it is being changed, the one before it. Raises `NoAnswer`."""
        ...
