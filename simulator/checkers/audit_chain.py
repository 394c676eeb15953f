"""Promise 7: nobody can touch the audit log unseen. Its chains and seals are held against the oracle's hashes."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from cronfleet.domain.tenant import Tenant
from cronfleet.services.access import Caller
from cronfleet.services.audit_log import AuditLog
from simulator.audit_oracle import entry_hash, seal_hash
from simulator.checkers.violation import Violation
from simulator.faults import MINUTE
from simulator.world import World

SEALED_WITHIN: Final = 3 * MINUTE
"""Once calm: the next sweep begins within two minutes, and a seal is written within one."""


def check_audit_chain(world: World, end_at: int) -> Iterator[Violation]:
    """Each subject's entries follow on one another without a gap, and all but the newest are under a seal."""
    chains: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for entry in world.store.state.audit.values():
        if entry.link is None:
            yield Violation(entry.at, "an audit entry has no place in a chain", entry.entry_id)
        else:
            chains[entry.tenant, entry.subject].append(entry)
    for chain in chains.values():
        chain.sort(key=lambda entry: entry.link.seq)
        yield from _check_chain(chain)
    yield from _check_ends(world, chains, end_at)
    yield from _check_seals(world, chains, end_at)


def check_verdict(world: World, end_at: int) -> Iterator[Violation]:
    """The product's own check of a log that nobody has touched says so, of every tenant."""
    log = AuditLog(store=world.store, clock=world.store.state.clock)
    for tenant in sorted({owner for owner, _ in world.store.state.audit}):
        verdict = log.verify(Caller(Tenant(tenant), "checker", "verdict"))
        if not verdict["ok"] or verdict["cursor"] is not None:
            yield Violation(end_at, "the audit log is not well by its own check", f"{tenant}: {verdict}")


def _check_chain(chain: list[Any]) -> Iterator[Violation]:
    wanted: tuple[int, str, str] = (1, "", "")
    for entry in chain:
        link = entry.link
        if link.digest != entry_hash(entry):
            yield Violation(entry.at, "an audit entry is not what its hash says", entry.entry_id)
        if (link.seq, link.previous, link.previous_id) != wanted:
            yield Violation(entry.at, "an audit entry does not follow on the one before", f"{entry.entry_id}: {link}")
        wanted = link.seq + 1, link.digest, entry.entry_id


def _check_ends(world: World, chains: dict[tuple[str, str], list[Any]], end_at: int) -> Iterator[Violation]:
    for chain, head in world.store.state.audit_heads.items():
        last = chains[chain][-1] if chains.get(chain) else None
        if last is None or (head.seq, head.entry_id, head.digest) != (last.link.seq, last.entry_id, last.link.digest):
            yield Violation(end_at, "the end of an audit chain is not its last entry", f"{chain}: {head}")
    for chain in chains.keys() - world.store.state.audit_heads.keys():
        yield Violation(end_at, "an audit chain has no end", f"{chain}")


def _check_seals(world: World, chains: dict[tuple[str, str], list[Any]], end_at: int) -> Iterator[Violation]:
    held: dict[tuple[str, str], int] = {}
    for tenant, seals in world.store.state.seals.items():
        previous = ""
        for number, seal in enumerate(seals, 1):
            if (seal.number, seal.previous, seal.digest) != (number, previous, seal_hash(seal)):
                yield Violation(seal.at, "a seal does not follow on the one before", f"{tenant}: {seal}")
            previous = seal.digest
            for line in seal.lines:
                held[tenant, line.subject] = line.seq
                chain = chains.get((tenant, line.subject), [])
                if line.digest not in {entry.link.digest for entry in chain if entry.link.seq == line.seq}:
                    yield Violation(seal.at, "a seal names an entry that is not there", f"{tenant}: {line}")
    for key, chain in chains.items():
        late = [one for one in chain if one.at < end_at - SEALED_WITHIN and one.link.seq > held.get(key, 0)]
        if late:
            yield Violation(end_at, "an audit entry is under no seal", f"{late[0].entry_id} of {key}")
