"""Version diff: what has changed from one version of a schedule to another, and the merge patch that changes it.

Works on forms, which are JSON. Two values are equal when they are written alike: `1`, `1.0` and `true` are three.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from cronfleet.domain.form import Form, spec_form
from cronfleet.domain.schedule import Spec

MAX_CHANGES: Final = 200
"""Changed fields that one comparison names; the merge patch holds all of them."""


class ChangeKind(StrEnum):
    """What became of a field."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field by its dotted path; `before` is `None` for one that was added, `after` for one that was removed."""

    field: str
    kind: ChangeKind
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """All that leads from one form to another.

    `is_exact`: the patch alone gives the other form. It does not where a payload has a null that was not there: a merge
    patch says with null that a field goes. `is_cut`: more has changed than `changes` names.
    """

    patch: Form
    changes: tuple[FieldChange, ...]
    is_exact: bool
    is_cut: bool = False


def written_form(spec: Spec) -> Form:
    """What a caller writes to get `spec`, without what is null: left out means the same. A payload is kept as it is."""
    form = spec_form(spec)
    payload = form.pop("payload")
    written: Form = _without_null(form)
    return written if payload is None else {**written, "payload": payload}


def _without_null(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _without_null(inner) for name, inner in value.items() if inner is not None}


def compare(before: Spec, after: Spec) -> VersionDiff:
    """What leads from `before` to `after`."""
    old, new = written_form(before), written_form(after)
    patch = merge_patch(old, new)
    changes = tuple(_changes(old, new, ()))
    return VersionDiff(patch, changes[:MAX_CHANGES], _same(merged(old, patch), new), is_cut=len(changes) > MAX_CHANGES)


def changed_fields(before: Spec, after: Spec) -> list[str]:
    """The dotted paths of what differs, `MAX_CHANGES` at most."""
    return [change.field for change in compare(before, after).changes]


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> Form:
    """The JSON merge patch (RFC 7396) from `before` to `after`, as far as one can say it."""
    patch: Form = dict.fromkeys(sorted(before.keys() - after.keys()))
    for name, value in after.items():
        if name not in before:
            patch[name] = value
        elif not _same(before[name], value):
            both = isinstance(before[name], dict) and isinstance(value, dict)
            patch[name] = merge_patch(before[name], value) if both else value
    return patch


def merged(target: Any, patch: Any) -> Any:
    """`target` after a JSON merge patch (RFC 7396): `null` removes, objects merge, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def _changes(before: Mapping[str, Any], after: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[FieldChange]:
    for name in dict.fromkeys((*before, *after)):
        here = (*path, name)
        field = ".".join(here)
        if name not in after:
            yield FieldChange(field, ChangeKind.REMOVED, before[name], None)
        elif name not in before:
            yield FieldChange(field, ChangeKind.ADDED, None, after[name])
        elif isinstance(before[name], dict) and isinstance(after[name], dict):
            yield from _changes(before[name], after[name], here)
        elif not _same(before[name], after[name]):
            yield FieldChange(field, ChangeKind.CHANGED, before[name], after[name])


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
