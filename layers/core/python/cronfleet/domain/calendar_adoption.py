"""Adoption: what a tenant's calendar becomes when versions of another tenant's calendar of that name are applied."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from cronfleet.domain.calendar import Calendar, CalendarHead
from cronfleet.domain.errors import Invalid

MAX_ADOPTED: Final = 50
"""Versions of one calendar that are adopted at a time: each is a write of one transaction."""


class Outcome(StrEnum):
    """What becomes of the calendar."""

    CREATED = "created"
    UNCHANGED = "unchanged"
    """It is there, and its newest version says the same."""
    DIFFERS = "differs"
    """It is there, its newest version says something else, and stays."""
    REPLACED = "replaced"
    """It is there, and gets a version that says so."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """`top` is the version to be put on top (`None`: nothing), `older` those to be put below.

    `numbers` says under which number each of the wanted versions can be used afterwards, `newest` which is on top.
    """

    outcome: Outcome
    newest: int
    numbers: Mapping[int, int]
    top: Calendar | None = None
    older: tuple[Calendar, ...] = ()


def adopted(
    wanted: Mapping[int, Calendar],
    head: CalendarHead | None,
    stored: Callable[[int], Calendar | None],
    *,
    may_replace: bool,
) -> Adoption:
    """What to do so that `wanted` (by number, not empty) is there; `stored` reads the versions that are.

    Raises `Invalid` for more versions than one transaction can hold.
    """
    if len(wanted) > MAX_ADOPTED:
        raise Invalid("versions", f"are {len(wanted)}; {MAX_ADOPTED} of a calendar are adopted at a time")
    newest = max(wanted)
    adoption = _topped(wanted[newest], head, stored, may_replace=may_replace)
    numbers, older = dict(adoption.numbers), list[Calendar]()
    for number, calendar in wanted.items():
        if number == newest or number >= adoption.newest:
            continue
        there = stored(number)
        if there is None:
            older.append(calendar)
        elif not there.says_the_same(calendar):
            continue  # Another version has this number: whoever is pinned to the wanted one must be told.
        numbers[number] = number
    return replace(adoption, numbers=numbers, older=tuple(older))


def _topped(
    wanted: Calendar, head: CalendarHead | None, stored: Callable[[int], Calendar | None], *, may_replace: bool
) -> Adoption:
    live = None if head is None or head.is_deleted else head
    newest = None if live is None else stored(live.version)
    if live is not None and newest is not None and newest.says_the_same(wanted):
        return Adoption(Outcome.UNCHANGED, live.version, {wanted.version: live.version})
    if live is not None and not may_replace:
        return Adoption(Outcome.DIFFERS, live.version, {})
    number = wanted.version if head is None else max(wanted.version, head.version + 1)
    outcome = Outcome.CREATED if live is None else Outcome.REPLACED
    return Adoption(outcome, number, {wanted.version: number}, replace(wanted, version=number))
