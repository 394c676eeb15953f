"""The plan of `apply`: what would become of each schedule, without asking anybody. Pure: values in, values out."""

import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Final

from cronfleet_cli.errors import WrongUse

STATE: Final = frozenset(
    {
        "status", "version", "next_fire_at", "next_due_at", "catching_up", "paused", "hold", "parked", "frozen",
        "deferred", "created_at", "updated_at", "words", "warnings", "effect", "jitter",
        "spread_offset_seconds",
    }
)  # fmt: skip
"""What a schedule's answer tells of its state; all else is what it says."""

FORMAT: Final = "cronfleet-plan/1"


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one schedule. `etag`: what it was looked at; "" for one that is not there."""

    schedule: str
    action: str
    """`create`, `replace`, `delete` or `unchanged`."""

    place: str
    """The file, and the place in it; "" for one that no file has."""

    differences: tuple[Mapping[str, Any], ...] = ()
    effect: Mapping[str, Any] | None = None
    etag: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An entry that the server would not take."""

    schedule: str
    place: str
    status: int
    problem: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """All of it, in the order in which it is carried out."""

    changes: tuple[Change, ...]
    refused: tuple[Refusal, ...] = ()

    @property
    def would_change(self) -> bool:
        """Whether anything is to be done."""
        return any(change.action != "unchanged" for change in self.changes)

    @property
    def counts(self) -> dict[str, int]:
        """How many of each kind."""
        counts = dict.fromkeys(("create", "replace", "delete", "unchanged"), 0)
        for change in self.changes:
            counts[change.action] += 1
        return {**counts, "refused": len(self.refused)}

    def form(self, *, applied: bool) -> dict[str, Any]:
        """The plan as JSON, for pipelines."""
        return {
            "format": FORMAT,
            "applied": applied,
            "would_change": self.would_change,
            "counts": self.counts,
            "changes": [_change_form(change) for change in self.changes],
            "refused": [_refusal_form(refusal) for refusal in self.refused],
        }


def _change_form(change: Change) -> dict[str, Any]:
    effect = change.effect or {}
    counts = {name: effect[name]["count"] for name in ("gained", "lost", "moved") if name in effect}
    return {
        "schedule": change.schedule,
        "action": change.action,
        "place": change.place,
        "fields": [dict(difference) for difference in change.differences],
        "effect": {**counts, "until": effect.get("until")} if counts else None,
    }


def _refusal_form(refusal: Refusal) -> dict[str, Any]:
    return {
        "schedule": refusal.schedule,
        "place": refusal.place,
        "status": refusal.status,
        "title": refusal.problem.get("title", ""),
        "detail": refusal.problem.get("detail", ""),
        "errors": list(refusal.problem.get("errors") or ()),
    }


def compared(current: Mapping[str, Any], tried: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The fields in which a schedule would say something else. Both are answers of the server, which has spelled out
    every default in both: a default that a file leaves out is no difference.
    """
    # The server makes a version exactly where something differs. It is asked first, since a field that this command
    # does not know may tell of the schedule's state.
    if current["version"] == tried["version"]:
        return ()
    names = sorted((current.keys() | tried.keys()) - STATE)
    found = [each for name in names for each in _differences(name, current.get(name), tried.get(name))]
    return tuple(found)


def spelled_out(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """What a file says of a new schedule, as differences from nothing."""
    return tuple(each for name, value in body.items() if name != "id" for each in _differences(name, None, value))


def _differences(path: str, before: Any, after: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted(before.keys() | after.keys()):
            yield from _differences(f"{path}.{name}", before.get(name), after.get(name))
    # As JSON, since to Python 1 and true are the same.
    elif json.dumps(before, sort_keys=True) != json.dumps(after, sort_keys=True):
        yield {"field": path, "before": before, "after": after}


def ordered(documents: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """`documents` (place and schedule) so that whatever runs after others comes after them; else as they were.

    Raises `WrongUse` with the path of a cycle.
    """
    waiting = {str(document["id"]): (place, document) for place, document in documents}
    done: list[tuple[str, dict[str, Any]]] = []
    while waiting:
        ready = [name for name, (_, document) in waiting.items() if not parents_of(document) & waiting.keys()]
        if not ready:
            raise WrongUse(
                f"{_cycle({name: document for name, (_, document) in waiting.items()})}: these run after each other"
            )
        done += [waiting.pop(name) for name in ready]
    return done


def _cycle(waiting: Mapping[str, Mapping[str, Any]]) -> str:
    """A path that comes back to itself; every schedule of `waiting` has a parent among them."""
    path = [min(waiting)]
    while len(set(path)) == len(path):
        path.append(min(parents_of(waiting[path[-1]]) & waiting.keys()))
    return " → ".join(path[path.index(path[-1]) :])


def waits_for(refusal: Refusal, body: Mapping[str, Any], changed: Set[str]) -> bool:
    """Whether the server can judge `body` only when the plan has made or changed what it runs after."""
    errors = refusal.problem.get("errors") or ()
    of_parents = all(str(error.get("field", "")).startswith("trigger.after") for error in errors)
    return bool(errors) and of_parents and bool(parents_of(body) & changed)


def parents_of(document: Mapping[str, Any]) -> frozenset[str]:
    """The schedules after which this one runs."""
    trigger = document.get("trigger")
    parents = trigger.get("after") if isinstance(trigger, Mapping) else None
    if isinstance(parents, str):
        return frozenset({parents})
    return frozenset(map(str, parents)) if isinstance(parents, list) else frozenset()
