"""Deliberate faults in the audit log's chains and seals."""

from typing import Final

from simulator.planted_edits import Edit, Planted

_AUDIT: Final = "cronfleet.adapters.memory.audit"
_SEALING: Final = "cronfleet.services.sealing"

AUDIT_FAULTS: Final = (
    Planted(
        "audit-entry-not-written",
        "an edit moves the end of its schedule's chain on, and its entry is not kept",
        (
            Edit(
                _AUDIT,
                "    state.audit |= {(entry.tenant, entry.entry_id): entry for entry in placed}",
                "    state.audit |= {(entry.tenant, entry.entry_id): entry for entry in placed "
                "if entry.action != 'edit'}",
            ),
        ),
    ),
    Planted(
        "audit-entry-altered",
        "what an entry says of the time before is lost after its hash was made",
        (
            Edit(
                _AUDIT,
                "    state.audit |= {(entry.tenant, entry.entry_id): entry for entry in placed}",
                "    state.audit |= {(entry.tenant, entry.entry_id): replace(entry, before=None) for entry in placed}",
            ),
        ),
    ),
    Planted(
        "audit-chain-forked",
        "an entry follows on the first of its subject, and not on the last",
        (
            Edit(
                _AUDIT,
                "    placed, heads = linked(entries, state.audit_heads)",
                "    placed, heads = linked(entries, {chain: head for chain, head in state.audit_heads.items() "
                "if head.seq == 1})",
            ),
        ),
    ),
    Planted(
        "seal-marked-and-not-written",
        "the end of a chain is marked as sealed, and its seal is not written",
        (
            Edit(
                _SEALING,
                "        if not ask(lambda: self._store.put_seal(seal)):\n",
                "        if seal.number < 1:\n",
            ),
        ),
    ),
    Planted(
        "seals-begin-anew",
        "a seal holds the hash of no seal before it",
        (
            Edit(
                _SEALING,
                "        seal = sealed(ask(lambda: self._store.last_seal(tenant)), heads, self._clock.now())",
                "        seal = sealed(None, heads, self._clock.now())",
            ),
        ),
    ),
)
