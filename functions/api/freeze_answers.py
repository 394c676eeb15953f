"""Freeze answers: what is frozen."""

from pydantic import Field

from .answers import Answered, FreezeAnswer


class FreezesAnswer(Answered):
    """Freezes of your tenant and its tier, oldest first."""

    freezes: list[FreezeAnswer] = Field(description="Those in force, and those that ended less than a day ago.")
