"""Target role answers: what a tenant's role must say."""

from typing import Any

from pydantic import Field

from .answers import Answered


class TargetRoleAnswer(Answered):
    """What a role of the tenant must say, so that targets are called as it, and on the tenant's behalf alone."""

    external_id: str = Field(
        description="What the role must ask for; made of the installation's name and the tenant's, and never chosen.",
        examples=["cronfleet:cronfleet-prod:acme"],
    )
    callers: list[str] = Field(description="The roles of this installation that assume the tenant's.")
    role_name: str = Field(description="How its name must begin.", examples=["cronfleet-target-*"])
    trust_policy: dict[str, Any] = Field(description="Its trust policy, to be pasted as it is.")
    permissions: dict[str, Any] | None = Field(
        description="The policy to attach, for the target of the schedule that was named; null without one."
    )
