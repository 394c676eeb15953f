"""What callers may send about API keys."""

from typing import Final, Literal

from pydantic import Field

from cronfleet.domain.instant import DAY, SECOND
from cronfleet.domain.role import Role
from cronfleet.services.api_keys import MAX_OVERLAP

from .schemas import TEXT, Moment, Reason, Strict, shown

DEFAULT_OVERLAP_SECONDS: Final = DAY // SECOND


class KeyBody(Strict):
    """A new API key."""

    model_config = shown({"role": "operator", "name": "night shift", "expires_at": "2030-12-01T08:00:00Z"})

    role: Literal[tuple(role.value for role in Role)] = Field(description="What it may do; no more than you may.")  # type: ignore[valid-type]  # the roles are the domain's
    name: str = Field("", max_length=100, pattern=TEXT, description="Who or what has it; the audit log's actor.")
    expires_at: Moment | None = Field(None, description="RFC 3339; when it ends. Left out: not by itself.")
    reason: Reason = ""


class RotateBody(Strict):
    """How a key makes room for a new one."""

    model_config = shown({"overlap_seconds": 3600})

    overlap_seconds: int = Field(
        DEFAULT_OVERLAP_SECONDS,
        ge=0,
        le=MAX_OVERLAP // SECOND,
        description="How long the old key still works. 0: no longer, but for the minute that the gateway may take.",
    )
    reason: Reason = ""
