"""Hold answers: how an installation is held."""

from typing import Literal

from pydantic import Field

from .answers import Answered, Time


class ReleaseAnswer(Answered):
    """Who released an installation."""

    by: str = Field(description="Who.")
    at: Time = Field(description="When.")
    reason: str = Field(description="Why.")


class InstallationHoldAnswer(Answered):
    """Why nothing is claimed, or was not."""

    id: str = Field(description="Of the hold; in the ledger as `hold_id`.")
    mode: Literal["drain", "standby"] = Field(description="What it leaves.")
    by: str = Field(description="Who holds it; `deployment`: it was deployed as a standby.")
    at: Time | None = Field(description="Since when; null: since it was deployed.")
    reason: str = Field(description="As it was given.")
    released: ReleaseAnswer | None = Field(description="Null: it is in force.")


class GoingOnAnswer(Answered):
    """What is left to finish."""

    settled: bool = Field(description="Nothing can be claimed any more, whatever dispatcher wakes up.")
    drained: bool = Field(description="Settled, and what was claimed is over, but for what is abandoned.")
    open_batches: int = Field(description="Of claims that were announced and not yet all decided.")
    unstarted: int = Field(description="Fires that were claimed and not started.")
    running: int = Field(description="Runs under a live lease.")
    abandoned: int = Field(description="Runs whose worker is gone: they go on after the release.")
    counted_all: bool = Field(description="False: there are more than were looked at.")


class RegionAnswer(Answered):
    """How the installation of a region is held."""

    region: str = Field(description="The AWS region.", examples=["eu-west-1"])
    status: Literal["running", "drain", "standby"] = Field(description="How it is held; `running`: it is not.")
    hold: InstallationHoldAnswer | None = Field(description="What holds it.")
    ended: list[InstallationHoldAnswer] = Field(description="Holds that were released, the last ones.")


class InstallationAnswer(RegionAnswer):
    """The same, with what is going on in it."""

    going_on: GoingOnAnswer | None = Field(description="While it is held, of this region's own.")
    elsewhere: list[RegionAnswer] = Field(description="Other regions that share these tables, as they are seen here.")
