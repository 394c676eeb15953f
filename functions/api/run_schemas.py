"""Schemas: what callers send to make a run by hand, or to cancel one."""

from typing import Any

from pydantic import Field

from .schemas import Reason, Strict, left_out, shown


class RunBody(Strict):
    """One run now."""

    model_config = shown({"payload": {"accounts": ["mumbai"]}, "reason": "the invoice was wrong"})

    payload: Any = Field(
        None,
        description="Instead of the schedule's, be it null; up to the quota. Left out: the schedule's.",
        json_schema_extra=left_out,
    )
    reason: Reason = ""


class CancelBody(Strict):
    """Why a run is cancelled."""

    model_config = shown({"reason": "no longer needed"})

    reason: Reason = ""
