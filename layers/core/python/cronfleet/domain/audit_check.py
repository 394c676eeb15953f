"""Checking the audit log: what is altered, missing, reordered or added in a tenant's chains and seals.

Every check is local: an entry is held against its digest, its predecessor and the head of its chain; a head against
its last entry; a seal against its digest, the seal before and the entries that it names. So a long log can be gone
through in pieces. What was seen before in the same going-through is remembered, and need not be read twice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cronfleet.domain.audit import AuditEntry, Broken, Link, id_prefix
from cronfleet.domain.audit_chain import Head, Seal, entry_digest, seal_digest
from cronfleet.domain.instant import MINUTE, Instant

OLD_WRITERS: Final = 15 * MINUTE
"""How long after a tenant's first seal a function of the version without chains may still have been running."""


@dataclass(frozen=True, slots=True)
class Bad:
    """What is wrong first: the id of an entry (`seal:<number>` for a seal), and why."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Place:
    """What is remembered of an entry: its chain, its place there and its digest; none for one without a chain."""

    subject: str
    seq: int
    digest: str


def place_of(entry: AuditEntry) -> Place:
    """What is remembered of `entry`."""
    return (
        Place(entry.subject, 0, "") if entry.link is None else Place(entry.subject, entry.link.seq, entry.link.digest)
    )


@dataclass(slots=True)
class Checked:
    """What one going-through has seen. `places` holds entries by their ids, `None` for those that are not there."""

    began_at: Instant | None = None
    """When the tenant's first seal was made; `None` before."""
    places: dict[str, Place | Broken | None] = field(default_factory=dict)
    heads: dict[str, Head | None] = field(default_factory=dict)
    _taken: dict[tuple[str, int], str] = field(default_factory=dict)

    def unknown(self, ids: Iterable[str]) -> list[str]:
        """Of `ids` those that have not been seen and must be read."""
        return [one for one in dict.fromkeys(ids) if one and one not in self.places]

    def know(self, entries: Iterable[AuditEntry | Broken]) -> None:
        """Remember entries, those that were asked for only to be held against others too."""
        for entry in entries:
            self.places[entry.entry_id] = entry if isinstance(entry, Broken) else place_of(entry)

    def entry(self, entry: AuditEntry | Broken) -> Bad | None:
        """What is wrong with an entry whose predecessor and head are known."""
        if isinstance(entry, Broken):
            return Bad(entry.entry_id, f"altered: it cannot be read ({entry.why})")
        head = self.heads.get(entry.subject)
        if entry.link is None:
            return self._unchained(entry, head)
        if entry_digest(entry, entry.link) != entry.link.digest:
            return Bad(entry.entry_id, "altered: its hash is another")
        return self._out_of_place(entry, entry.link) or _against_head(entry, entry.link, head)

    def _unchained(self, entry: AuditEntry, head: Head | None) -> Bad | None:
        """Those of the version before stand before the first chained one of their subject, or before the seals."""
        if head is not None and entry.entry_id >= head.first_id:
            return Bad(entry.entry_id, "added: it has no place in the chain of its subject, which had begun")
        if head is None and self.began_at is not None and entry.entry_id > id_prefix(self.began_at + OLD_WRITERS):
            return Bad(entry.entry_id, "added: it has no place in a chain, and the tenant's chains had begun")
        return None

    def _out_of_place(self, entry: AuditEntry, link: Link) -> Bad | None:
        first = self._taken.setdefault((entry.subject, link.seq), entry.entry_id)
        if first != entry.entry_id:
            return Bad(entry.entry_id, f"added: number {link.seq} of the chain of {entry.subject} is {first}")
        if not link.previous_id:
            return None if link.seq == 1 else Bad(entry.entry_id, "reordered: it names no entry before it")
        before = self.places.get(link.previous_id)
        if isinstance(before, Place) and (before.subject, before.seq) != (entry.subject, link.seq - 1):
            return Bad(entry.entry_id, "reordered: its place does not follow that of the entry it names before it")
        return self._differs(link.previous_id, Place(entry.subject, link.seq - 1, link.previous))

    def _differs(self, entry_id: str, wanted: Place) -> Bad | None:
        """What is wrong with the entry `entry_id`, of which another item says that it is `wanted`."""
        found = self.places.get(entry_id)
        if found is None:
            return Bad(entry_id, f"missing: number {wanted.seq} of the chain of {wanted.subject}")
        if isinstance(found, Broken):
            return Bad(entry_id, f"altered: it cannot be read ({found.why})")
        return None if found == wanted else Bad(entry_id, "altered: what names it holds another hash of it")

    def head(self, head: Head) -> Bad | None:
        """What is wrong with the end of a chain whose last entry is known."""
        return self._differs(head.entry_id, Place(head.subject, head.seq, head.digest))

    def seal(self, seal: Seal, before: Seal | None) -> Bad | None:
        """What is wrong with a seal, the one `before` it and the entries that it names being known."""
        wanted = (1, "") if before is None else (before.number + 1, before.digest)
        if seal.number != wanted[0]:
            return Bad(f"seal:{wanted[0]}", "missing: the next one that is there is another")
        if seal.previous != wanted[1] or seal_digest(seal) != seal.digest:
            return Bad(f"seal:{seal.number}", "altered: its hash, or the one of the seal before it, is another")
        for line in seal.lines:
            wrong = self._differs(line.entry_id, Place(line.subject, line.seq, line.digest))
            if wrong is not None:
                return wrong
        return None


def _against_head(entry: AuditEntry, link: Link, head: Head | None) -> Bad | None:
    if head is None:
        return Bad(entry.entry_id, f"the end of the chain of {entry.subject} is missing")
    if link.seq > head.seq or (link.seq == head.seq and entry.entry_id != head.entry_id):
        return Bad(entry.entry_id, f"added: the chain of {entry.subject} ends at number {head.seq}, {head.entry_id}")
    return None


def first_ids(entries: Iterable[AuditEntry]) -> Mapping[str, str]:
    """The id of the first chained entry of each subject."""
    return {entry.subject: entry.entry_id for entry in entries if entry.link is not None and entry.link.seq == 1}
