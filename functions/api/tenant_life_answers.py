"""Tenant life answers: how a tenant stands, and how far its deletion is."""

from typing import Literal

from pydantic import Field

from cronfleet.domain.deletion import Stage
from cronfleet.domain.tenant import TenantStatus

from .answers import Answered, Time


class TenantStatusAnswer(Answered):
    """How a tenant stands."""

    id: str = Field(description="The tenant.", examples=["acme"])
    status: TenantStatus = Field(description="docs/tenants.md says what each means.")
    reason: str = Field(description="Why it is suspended.")
    updated_at: Time = Field(description="Since when.")


class CertificateAnswer(Answered):
    """What was removed of a tenant, and for whom; filed in the audit log of the tenant that asked as well."""

    tenant: str = Field(description="The tenant that was.")
    requested_by: str = Field(description="Who asked for it.")
    credential: str = Field(description="With which credential.")
    home_tenant: str = Field(description="The credential's own tenant, in whose audit log this is filed.")
    request_id: str = Field(description="The request.")
    reason: str = Field(description="As it was given.")
    requested_at: Time = Field(description="When it was asked for.")
    finished_at: Time = Field(description="When the last of it was gone.")
    removed: dict[str, int] = Field(
        description="How many things of each kind.", examples=[{"schedules": 3, "runs": 90}]
    )
    places_digest: str = Field(description="A digest that runs over the place of everything that was removed.")
    expiring: str = Field(description="What no deletion reaches, and when that goes by itself.")
    digest: str = Field(description="SHA-256 of all the rest as compact JSON, names sorted.")


class DeletionAnswer(Answered):
    """How far a deletion is."""

    tenant: str = Field(description="The tenant.")
    status: Literal["deleting", "deleted"] = Field(description="Whether anything is left.")
    stage: Stage | None = Field(description="What is being removed; null once it is over.")
    requested_by: str = Field(description="Who asked for it.")
    requested_at: Time = Field(description="When.")
    reason: str = Field(description="As it was given.")
    removed: dict[str, int] = Field(description="How many things of each kind, so far.")
    finished_at: Time | None = Field(description="Null while it goes on.")
    certificate: CertificateAnswer | None = Field(description="Once it is over.")
