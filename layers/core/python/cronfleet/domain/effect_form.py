"""The form in which callers see the effect of a change, and what has changed from one version to another."""

from collections.abc import Sequence
from typing import Final

from cronfleet.domain.claim import Fire
from cronfleet.domain.effect import Effect, MoveCause
from cronfleet.domain.form import Form, fire_form, spec_form
from cronfleet.domain.instant import to_text
from cronfleet.domain.schedule import Definition, Timer
from cronfleet.domain.version_diff import VersionDiff

EXAMPLES: Final = 5
"""Fires that are shown of each kind, the first ones."""


def effect_form(effect: Effect) -> Form:
    """What a change gains, loses and moves: counts, and the first of each."""
    return {
        "from": to_text(effect.since),
        "until": to_text(effect.until),
        "is_cut": effect.is_cut,
        "is_off": effect.is_off,
        "unchanged": effect.unchanged,
        "gained": _fires_form(effect.gained),
        "lost": _fires_form(effect.lost),
        "moved": {
            "count": len(effect.moved),
            "by": {cause.value: sum(one.cause is cause for one in effect.moved) for cause in MoveCause},
            "examples": [
                {"cause": one.cause.value, "before": fire_form(one.before), "after": fire_form(one.after)}
                for one in effect.moved[:EXAMPLES]
            ],
        },
    }


def _fires_form(fires: Sequence[Fire]) -> Form:
    return {"count": len(fires), "examples": [fire_form(fire) for fire in fires[:EXAMPLES]]}


def version_form(definition: Definition, current: Timer) -> Form:
    """What a version is of, without what it says."""
    return {
        "schedule_id": definition.schedule_id,
        "version": definition.version,
        "is_current": definition.version == current.version,
        "author": definition.author,
        "created_at": to_text(definition.created_at),
        "reason": definition.reason,
    }


def whole_version_form(definition: Definition, current: Timer) -> Form:
    """A version with all that it says, as a schedule's answer has it."""
    return {**version_form(definition, current), **spec_form(definition.spec)}


def diff_form(diff: VersionDiff) -> Form:
    """A merge patch, and each changed field with what stood there before and after."""
    return {
        "patch": diff.patch,
        "is_exact": diff.is_exact,
        "changes": [
            {"field": one.field, "change": one.kind.value, "before": one.before, "after": one.after}
            for one in diff.changes
        ],
        "is_cut": diff.is_cut,
    }
