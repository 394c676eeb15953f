"""Shadow schemas: what callers send about a held schedule's shadow and about heartbeat URLs."""

from typing import Literal

from pydantic import Field

from cronfleet.domain.heartbeat import MAX_MESSAGE

from .schemas import TEXT, Reason, Strict, shown


class ShadowBody(Strict):
    """Whether a held schedule notes what it would fire."""

    model_config = shown({"on": True, "reason": "compare with the old crontab for a week"})

    on: bool = Field(description="From now on, or no longer.")
    reason: Reason = ""


class HeartbeatBody(Strict):
    """Why a URL is made, or made anew."""

    model_config = shown({"reason": "the old one stood in a ticket"})

    reason: Reason = ""


class PingBody(Strict):
    """What a job says of itself; all of it may be left out."""

    model_config = shown({"state": "fail", "exit_code": 2, "message": "no space left on device"})

    state: Literal["start", "success", "fail"] | None = Field(
        None, description="Left out: as `exit_code` says, and `success` without one."
    )
    exit_code: int | None = Field(None, ge=-255, le=255, description="0 is a success, all else a failure.")
    message: str = Field("", max_length=MAX_MESSAGE, pattern=TEXT, description="Shown beside the ping.")
