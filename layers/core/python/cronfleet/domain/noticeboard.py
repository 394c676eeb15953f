"""The noticeboard: what every process that starts runs must know, and what must cost an ordinary run nothing.

A few small items beside the directory of freezes, read with it by one request once a second. A notice is known by a
digest of the name of what it is about; which sheet it is on follows from that, so that many may write at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import blake2b
from typing import Final

from cronfleet.domain.errors import Conflict
from cronfleet.domain.freeze import FreezeDirectory
from cronfleet.domain.hold import Switch
from cronfleet.domain.instant import Instant

SHEETS: Final = 8
"""Of each topic."""

MAX_NOTICES: Final = 250
"""On one sheet: about 8 KB. All sheets of a topic hold some 2,000."""

_DIGEST_BYTES: Final = 9


class Topic(StrEnum):
    """What notices are about."""

    BREAKERS = "breakers"
    """A breaker that is not closed: `at` is when it may be tried again."""
    EVENTS = "events"
    """A tenant that wants to be told of its runs."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One line of a sheet. What `at` means is the topic's to say; after `until` it counts no more (`None`: ever)."""

    at: Instant = 0
    until: Instant | None = None

    def counts(self, now: Instant) -> bool:
        """Whether it is still to be gone by."""
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class Sheet:
    """One item of the board: notices by the digests of their names. `rev` rises with each write; 0 before the first."""

    topic: Topic
    number: int
    notices: Mapping[str, Notice] = field(default_factory=dict)
    rev: int = 0
    change_id: str = ""


def digest_of(name: str) -> str:
    """How a notice about `name` is known: 72 bits, so that no two names are ever taken for each other."""
    return blake2b(name.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def sheet_of(name: str) -> int:
    """The number of the sheet that a notice about `name` stands on."""
    return int(digest_of(name)[:4], 16) % SHEETS


def posted(sheet: Sheet, name: str, notice: Notice | None, *, now: Instant, change_id: str) -> Sheet:
    """The sheet with `notice` about `name` in place of the one that was there, or without it; what no longer counts
    goes. `Conflict` when it is full.
    """
    own = digest_of(name)
    kept = {digest: one for digest, one in sheet.notices.items() if digest != own and one.counts(now)}
    if notice is not None:
        if len(kept) >= MAX_NOTICES:
            raise Conflict(f"{MAX_NOTICES} notices of {sheet.topic} stand beside this one, which is as many as may be")
        kept[own] = notice
    return replace(sheet, notices=kept, rev=sheet.rev + 1, change_id=change_id)


@dataclass(frozen=True, slots=True)
class Notices:
    """The whole board as it was read. `directory` is `None` if unreadable, and so is `switch`, which says how this
    installation is held; `unreadable` says why. `elsewhere` are the switches of other regions that share these tables.
    """

    directory: FreezeDirectory | None = field(default_factory=FreezeDirectory)
    sheets: tuple[Sheet, ...] = ()
    unreadable: tuple[str, ...] = ()
    switch: Switch | None = field(default_factory=Switch)
    elsewhere: tuple[Switch, ...] = ()

    def about(self, topic: Topic, name: str, now: Instant) -> Notice | None:
        """The notice about `name`, if it counts."""
        number = sheet_of(name)
        for sheet in self.sheets:
            if (sheet.topic, sheet.number) == (topic, number):
                notice = sheet.notices.get(digest_of(name))
                return notice if notice is not None and notice.counts(now) else None
        return None
