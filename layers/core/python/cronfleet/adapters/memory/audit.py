"""`AuditStore` in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cronfleet.adapters.memory.state import State
from cronfleet.domain.audit import AuditEntry, Broken, Wanted
from cronfleet.domain.audit_chain import Chain, Head, Seal, linked, slice_of
from cronfleet.ports import cursors
from cronfleet.ports.page import Page


def append(state: State, entries: Sequence[AuditEntry]) -> None:
    """Store entries in their places, and move the ends of their chains on."""
    placed, heads = linked(entries, state.audit_heads)
    state.audit |= {(entry.tenant, entry.entry_id): entry for entry in placed}
    state.audit_heads |= heads


class MemoryAudit:
    """Entries, the ends of their chains, and the seals over them."""

    def __init__(self, state: State) -> None:
        self.state = state

    def list_audit(self, tenant: str, wanted: Wanted, *, cursor: str | None, limit: int) -> Page[AuditEntry]:
        before = None if cursor is None else cursors.decode(cursor, 1)[0]
        matching = [
            entry
            for entry in reversed(self._of(tenant))
            if wanted.takes(entry) and (before is None or entry.entry_id < before)
        ]
        more = len(matching) > limit
        return Page(matching[:limit], cursors.encode([matching[limit - 1].entry_id]) if more else None)

    def walk_audit(self, tenant: str, after: str, limit: int) -> Sequence[AuditEntry | Broken]:
        return [entry for entry in self._of(tenant) if entry.entry_id > after][:limit]

    def _of(self, tenant: str) -> list[AuditEntry]:
        """A tenant's entries, by their ids."""
        return [entry for (owner, _), entry in sorted(self.state.audit.items()) if owner == tenant]

    def get_audit(self, tenant: str, ids: Sequence[str]) -> Mapping[str, AuditEntry | Broken]:
        return {one: self.state.audit[tenant, one] for one in ids if (tenant, one) in self.state.audit}

    def walk_heads(self, tenant: str, after: str, limit: int) -> Sequence[Head]:
        chains = sorted(chain for chain in self.state.audit_heads if chain[0] == tenant and chain[1] > after)
        return [self.state.audit_heads[chain] for chain in chains[:limit]]

    def get_heads(self, tenant: str, subjects: Sequence[str]) -> Mapping[str, Head]:
        found = {subject: self.state.audit_heads.get((tenant, subject)) for subject in subjects}
        return {subject: head for subject, head in found.items() if head is not None}

    def unsealed(self, number: int, cursor: str | None, limit: int) -> Page[Chain]:
        after = ("", "") if cursor is None else tuple(cursors.decode(cursor, 2))
        waiting = sorted(
            chain
            for chain, head in self.state.audit_heads.items()
            if head.seal is None and slice_of(head.tenant) == number and chain > after
        )
        more = len(waiting) > limit
        return Page(waiting[:limit], cursors.encode(waiting[limit - 1]) if more else None)

    def last_seal(self, tenant: str) -> Seal | None:
        seals = self.state.seals.get(tenant)
        return seals[-1] if seals else None

    def walk_seals(self, tenant: str, after: int, limit: int) -> Sequence[Seal]:
        return [seal for seal in self.state.seals.get(tenant, ()) if seal.number > after][:limit]

    def put_seal(self, seal: Seal) -> bool:
        seals = self.state.seals.setdefault(seal.tenant, [])
        taken = [one for one in seals if one.number == seal.number]
        if not taken:
            seals.append(seal)
        return not taken or taken[0] == seal

    def mark_sealed(self, head: Head, number: int) -> None:
        stored = self.state.audit_heads.get((head.tenant, head.subject))
        if stored is not None and stored.seq == head.seq:
            self.state.audit_heads[head.tenant, head.subject] = replace(stored, seal=number)
