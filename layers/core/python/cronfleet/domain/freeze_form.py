"""The form in which callers see freezes; the audit log keeps it too, without what tells of now."""

from cronfleet.domain.form import Form
from cronfleet.domain.freeze import Freeze, LabelScope, Scope, TierScope
from cronfleet.domain.instant import Instant, to_text


def scope_form(scope: Scope) -> Form:
    """What is frozen, as its caller wrote it."""
    match scope:
        case TierScope(tier):
            return {"tier": tier}
        case LabelScope(_, labels):
            return {"label": dict(labels)}
    return {"tenant": True}


def freeze_form(freeze: Freeze) -> Form:
    """A freeze: what is frozen, by whom, since when and until when, and who thawed it."""
    thawed = freeze.thawed
    return {
        "id": freeze.freeze_id,
        "scope": scope_form(freeze.scope),
        "reason": freeze.reason,
        "by": freeze.by,
        "at": to_text(freeze.at),
        "until": None if freeze.until is None else to_text(freeze.until),
        "suspends_tenant": freeze.suspends,
        "thawed": None if thawed is None else {"by": thawed.by, "at": to_text(thawed.at), "reason": thawed.reason},
    }


def answered_freeze(freeze: Freeze, now: Instant) -> Form:
    """The form, and whether it is in force at `now`."""
    return {**freeze_form(freeze), "status": "ended" if freeze.has_ended(now) else "in_force"}


def frozen_form(freeze: Freeze | None, now: Instant) -> Form | None:
    """What a schedule's answer says of the freeze that holds it."""
    return None if freeze is None else answered_freeze(freeze, now)
