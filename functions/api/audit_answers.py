"""Audit answers: entries of the audit log, and the verdict on it."""

from typing import Any

from pydantic import Field

from .answers import Answered, Time


class AuditEntryAnswer(Answered):
    """One change: who made it, when, from what to what, and why."""

    id: str = Field(description="Ids sort by time.", examples=["01kb7w0m8nf0c5s2x9q4v6t1ad"])
    at: Time = Field(description="When it was made.")
    tenant: str = Field(description="Whose thing it was.")
    actor: str = Field(description="Who: the key's name, the token's subject, or `cronfleet`, the scheduler itself.")
    credential: str | None = Field(description="The key's id, or the token's issuer; null: the scheduler's own.")
    acting_for: str | None = Field(description="The tenant, where a platform admin of another one acted for it.")
    home_tenant: str | None = Field(description="That platform admin's own tenant.")
    action: str = Field(description="What was done.", examples=["pause"])
    subject: str = Field(description="What to: `schedule:<id>`, `calendar:<name>`, `key:<id>`, `tenant`, …")
    schedule_id: str | None = Field(description="The schedule, if the subject is one.")
    request_id: str = Field(description="The request that asked for it.")
    before: dict[str, Any] | None = Field(description="What stood there before; null: nothing, or it is not said.")
    after: dict[str, Any] | None = Field(description="What stands there since; null: nothing, or it is not said.")
    reason: str = Field(description="As it was given.")
    seq: int | None = Field(description="Its place in the chain of its subject; null: older than there are chains.")
    previous: str | None = Field(description="The hash of the entry before it there; empty for the first.")
    hash: str | None = Field(description="SHA-256 over all of this; docs/audit.md says how.")


class AuditAnswer(Answered):
    """A page of the audit log, newest first."""

    entries: list[AuditEntryAnswer] = Field(description="May be fewer than asked for, or none, where more follow.")
    cursor: str | None = Field(description="For the next page; null: this is the last.")


class AuditVerdictAnswer(Answered):
    """Whether the audit log is as it was written."""

    ok: bool = Field(description="Nothing is altered, missing, reordered or added, as far as this call has looked.")
    checked: int = Field(description="Entries that this call has looked at.")
    first_bad: str | None = Field(
        description="The id of the first entry that is altered, missing, reordered or added; `seal:<n>` for a seal."
    )
    why: str | None = Field(description="What is wrong with it.")
    seals: int = Field(description="Seals that this call has looked at.")
    unsealed: int = Field(description="Chains that have grown in the last minute: no seal holds their end yet.")
    cursor: str | None = Field(description="Where the next call goes on, if time was short; null: that is all.")
