"""What callers are told about API keys."""

from pydantic import Field

from .answers import Answered, Time


class KeyAnswer(Answered):
    """An API key, without what was shown once."""

    id: str = Field(description="Its id, which is a part of it.")
    prefix: str = Field(description="How it begins: enough to tell it from others.")
    name: str = Field(description="Who or what has it.")
    role: str = Field(description="What it may do.")
    status: str = Field(description="live, expired or revoked.")
    created_at: Time | None = Field(description="When it was made; null for keys older than this note.")
    created_by: str = Field(description="Who made it.")
    expires_at: Time | None = Field(description="When it ends; null: not by itself.")
    revoked_at: Time | None = Field(description="When it was revoked.")
    last_used_at: Time | None = Field(description="When it was last used, give or take five minutes; null: not yet.")
    replaced_by: str | None = Field(description="The key that a rotation made in its place.")


class NewKeyAnswer(KeyAnswer):
    """A new API key: `key` is shown here, and nowhere again."""

    key: str = Field(description="A secret. Authorization: Bearer and this.")


class KeysAnswer(Answered):
    """A tenant's keys."""

    keys: list[KeyAnswer] = Field(description="By id.")
    cursor: str | None = Field(description="Where the next page begins; null: this is the last.")
