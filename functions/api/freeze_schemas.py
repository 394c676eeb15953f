"""Freeze schemas: what callers may send of a freeze, field by field."""

from typing import Literal

from pydantic import Field

from cronfleet.domain.selection import MAX_LABELS

from .schemas import TEXT, Moment, Strict, shown
from .tenant_schemas import Tier


class FreezeScopeBody(Strict):
    """What is frozen: exactly one of the three."""

    model_config = shown({"label": {"system": "billing"}}, {"tenant": True}, {"tier": "standard"})

    label: dict[str, str] | None = Field(
        None, min_length=1, max_length=MAX_LABELS, description="Schedules of your tenant that have all of these."
    )
    tenant: Literal[True] | None = Field(None, description="Every schedule of your tenant.")
    tier: Tier | None = Field(None, description="Every schedule of every tenant of the tier; takes a platform admin.")


class FreezeBody(Strict):
    """A freeze to begin now."""

    model_config = shown({"scope": {"label": {"system": "billing"}}, "reason": "the ledger moves", "until": None})

    scope: FreezeScopeBody = Field(description="What is frozen.")
    reason: str = Field(
        min_length=1, max_length=300, pattern=TEXT, description="Shown to whoever asks why a fire did not start."
    )
    until: Moment | None = Field(None, description="RFC 3339; when it ends by itself. Left out: never.")


class FreezePatchBody(Strict):
    """What is to change of a freeze: what is left out stays as it is."""

    model_config = shown({"until": "2030-12-01T08:00:00+05:30"}, {"until": None})

    until: Moment | None = Field(None, description="RFC 3339; when it ends by itself. `null`: never.")
    reason: str | None = Field(None, min_length=1, max_length=300, pattern=TEXT, description="Why, from now on.")
