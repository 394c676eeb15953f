"""The verification of a tenant's audit log: entries, then the ends of their chains, then the seals, page by page."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from cronfleet.domain.audit import AuditEntry
from cronfleet.domain.audit_chain import Head
from cronfleet.domain.audit_check import Bad, Checked
from cronfleet.domain.instant import Instant
from cronfleet.ports import cursors
from cronfleet.ports.audit import AuditStore
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import Damaged
from cronfleet.services.changing import answer_of

PAGE: Final = 300
"""Entries, or ends of chains, that are read at a time."""
SEALS_PAGE: Final = 20
MAX_DIGITS: Final = 12
"""Of a seal's number."""
MAX_PLACE: Final = 512
"""Characters of an id, or of a subject."""

ENTRIES: Final = "entries"
HEADS: Final = "heads"
SEALS: Final = "seals"

Step: TypeAlias = Callable[[str], str | None]
"""Checks the page after a place, and says where the next begins; `None`: that is all."""


class Verification:
    """One going-through of a tenant's log, from its beginning or from a cursor. It ends at the first bad thing."""

    def __init__(self, store: AuditStore, clock: Clock, tenant: str) -> None:
        self._store = store
        self._clock = clock
        self._tenant = tenant
        self._seen = Checked()
        self._last_seal = 0
        self.checked = 0
        self.seals = 0
        self.unsealed = 0
        """Chains whose end no seal holds yet."""
        self.bad: Bad | None = None

    def go(self, cursor: str | None, deadline_at: Instant) -> str | None:
        """Check as much as there is time for; where to go on, or `None` when all is checked, or something is bad.

        Raises `Contended` when the store stays silent.
        """
        steps: dict[str, Step] = {ENTRIES: self._entries, HEADS: self._heads, SEALS: self._seals}
        stage, place = (ENTRIES, "") if cursor is None else cursors.decode(cursor, 2)
        if stage not in steps or not is_place(stage, place):
            raise cursors.foreign()
        try:
            self._begin()
            for name in list(steps)[list(steps).index(stage) :]:
                following: str | None = place if name == stage else "0" if name == SEALS else ""
                while following is not None:
                    following = steps[name](following)
                    if self.bad is not None:
                        return None
                    if following is not None and self._clock.now() >= deadline_at:
                        return cursors.encode([name, following])
        except Damaged as damaged:
            self.bad = Bad(damaged.sort, f"altered: it cannot be read ({damaged})")
        return None

    def _begin(self) -> None:
        seals = answer_of(lambda: self._store.walk_seals(self._tenant, 0, 1))
        self._seen.began_at = seals[0].at if seals else None

    def _entries(self, after: str) -> str | None:
        page = answer_of(lambda: self._store.walk_audit(self._tenant, after, PAGE))
        self._seen.know(page)
        sound = [entry for entry in page if isinstance(entry, AuditEntry)]
        self._read(entry.link.previous_id for entry in sound if entry.link is not None)
        self._read_heads(sound)
        for entry in page:
            self.checked += 1
            if self._is_bad(self._seen.entry(entry)):
                break
        return page[-1].entry_id if page else None

    def _read(self, ids: Iterable[str]) -> None:
        """Know the entries `ids`, and of those that are not there that they are not."""
        unknown = self._seen.unknown(ids)
        if unknown:
            found = answer_of(lambda: self._store.get_audit(self._tenant, unknown))
            self._seen.places |= dict.fromkeys(unknown)
            self._seen.know(found.values())

    def _read_heads(self, entries: Sequence[AuditEntry]) -> None:
        """Know the ends of their chains; one that lies before an entry may have been read before that was written."""
        heads = self._seen.heads
        behind = [entry.subject for entry in entries if _is_behind(heads.get(entry.subject), entry)]
        if behind:
            found = answer_of(lambda: self._store.get_heads(self._tenant, list(dict.fromkeys(behind))))
            heads |= {subject: found.get(subject) for subject in behind}

    def _heads(self, after: str) -> str | None:
        page = answer_of(lambda: self._store.walk_heads(self._tenant, after, PAGE))
        self._read(head.entry_id for head in page)
        for head in page:
            self.unsealed += head.seal is None
            if self._is_bad(self._seen.head(head) or self._without_seal(head)):
                break
        return page[-1].subject if page else None

    def _without_seal(self, head: Head) -> Bad | None:
        """Seals are written before what they hold is marked, so the newest is never behind the mark."""
        if head.seal is not None and head.seal > self._last_seal:
            last = answer_of(lambda: self._store.last_seal(self._tenant))
            self._last_seal = 0 if last is None else last.number
            if head.seal > self._last_seal:
                return Bad(f"seal:{head.seal}", f"missing: the end of the chain of {head.subject} names it")
        return None

    def _seals(self, after: str) -> str | None:
        # The one before is read again: the next one is held against it.
        number = int(after)
        page = list(answer_of(lambda: self._store.walk_seals(self._tenant, max(0, number - 1), SEALS_PAGE)))
        before = page.pop(0) if page and number and page[0].number == number else None
        self._read(line.entry_id for seal in page for line in seal.lines)
        for seal in page:
            self.seals += 1
            if self._is_bad(self._seen.seal(seal, before)):
                break
            before = seal
        return str(page[-1].number) if page else None

    def _is_bad(self, bad: Bad | None) -> bool:
        self.bad = bad
        return bad is not None


def is_place(stage: str, place: str) -> bool:
    """Whether a cursor may say so: an id, a subject, or the number of a seal."""
    if stage == SEALS:
        return place.isascii() and place.isdecimal() and len(place) <= MAX_DIGITS
    return place.isascii() and len(place) <= MAX_PLACE


def _is_behind(head: Head | None, entry: AuditEntry) -> bool:
    return head is None or (entry.link is not None and head.seq <= entry.link.seq and head.entry_id != entry.entry_id)
