"""Hold schemas: what callers may send of a hold, field by field."""

from typing import Literal

from pydantic import Field

from .schemas import TEXT, Strict, shown


class HoldBody(Strict):
    """How the installation is to be held, from now on."""

    model_config = shown({"mode": "drain", "reason": "update to 2.1"})

    mode: Literal["drain", "standby"] = Field(
        description="`drain`: nothing is claimed, what was claimed runs. `standby`: nothing starts, or is changed."
    )
    reason: str = Field(
        min_length=1, max_length=300, pattern=TEXT, description="Shown to whoever asks why a fire did not start."
    )


class MendBody(Strict):
    """Why what came from another region is looked at again."""

    model_config = shown({"reason": "eu-west-1 is back"})

    reason: str = Field(min_length=1, max_length=300, pattern=TEXT, description="Kept in the audit log.")
