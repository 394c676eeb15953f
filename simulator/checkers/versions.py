"""The promise of versions: each is written once and never again, and one that comes back says what it said.

What was changed to what is read off the audit log; what is kept, off the table of definitions.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from simulator.checkers.violation import Violation
from simulator.world import World

SAYS: Final = ("description", "owner", "target", "payload", "policies", "labels", "start_at", "end_at")
"""What a version says besides its trigger, by the names that the API has for it."""

_BACK: Final = re.compile(r"back to version (\d+)")


def check_versions(world: World, end_at: int) -> Iterator[Violation]:
    """Numbers without a gap, one audit entry for each, kept as it was written, and brought back as it was."""
    for (tenant, schedule_id), said in _said(world).items():
        seen: dict[int, Mapping[str, Any]] = {}
        for entry in said:
            form = entry.after
            number = form["version"]
            if number in seen:
                yield Violation(entry.at, "a version was written twice", f"{schedule_id}: version {number}")
            back = _BACK.match(entry.reason)
            if back and not _alike(form, seen.get(int(back[1]), {})):
                text = f"{schedule_id}: version {number}, {entry.reason}"
                yield Violation(entry.at, "what came back is another version", text)
            seen[number] = form
        kept = {n: one for (key, n), one in world.store.state.definitions.items() if key == (tenant, schedule_id)}
        if sorted(kept) != list(range(1, len(kept) + 1)):
            yield Violation(end_at, "versions are not counted one by one", f"{schedule_id}: {sorted(kept)}")
        for number, form in seen.items():
            if number not in kept or not _is_kept(kept[number].spec, form):
                yield Violation(end_at, "a version is not kept as it was written", f"{schedule_id}: {number}")


def _said(world: World) -> Mapping[tuple[str, str], list[Any]]:
    """The entries that made a version, of each schedule, in the order in which they were committed."""
    found: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    for entry in world.store.state.audit.values():
        if entry.schedule_id and entry.action in ("create", "edit", "retime") and entry.after is not None:
            before = None if entry.before is None else entry.before["version"]
            if entry.after["version"] != before:
                found[entry.tenant, entry.schedule_id].append(entry)
    return found


def _alike(form: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    return _trigger(form) == _trigger(old) and all(form[name] == old.get(name) for name in SAYS)


def _trigger(form: Mapping[str, Any]) -> Any:
    """A trigger without the version of a calendar that it follows: that comes in its newest."""
    trigger = dict(form.get("trigger", {}))
    rule = trigger.get("calendar")
    if rule is not None and not rule.get("pinned"):
        trigger["calendar"] = {name: value for name, value in rule.items() if name != "version"}
    return trigger


def _is_kept(spec: Any, form: Mapping[str, Any]) -> bool:
    policies = form["policies"]
    return bool(
        spec.description == form["description"]
        and spec.labels == form["labels"]
        and spec.policies.jitter_seconds == policies["jitter_seconds"]
        and spec.policies.misfire.per_minute == policies["misfire"]["per_minute"]
        and getattr(spec.trigger, "expression", None) == form["trigger"].get("cron")
    )
