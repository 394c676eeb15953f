"""What callers may send about a schedule's versions."""

from pydantic import Field

from .schemas import Reason, Strict, shown


class RollbackBody(Strict):
    """Which version is wanted back, and why."""

    model_config = shown({"version": 3, "reason": "the new time collides with the backup"})

    version: int = Field(ge=1, le=999_999_999, description="Its number, as the list of versions shows it.")
    reason: Reason = ""
