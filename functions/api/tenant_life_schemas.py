"""Tenant life schemas: what is said when a tenant is suspended or resumed."""

from pydantic import Field

from .schemas import TEXT, Reason, Strict, shown


class SuspendBody(Strict):
    """Why a tenant is suspended."""

    model_config = shown({"reason": "unpaid since October"})

    reason: str = Field(
        min_length=1, max_length=300, pattern=TEXT, description="Shown to whoever is refused; kept in the audit log."
    )


class ResumeTenantBody(Strict):
    """Why a tenant is resumed."""

    model_config = shown({"reason": "paid"})

    reason: Reason = ""
