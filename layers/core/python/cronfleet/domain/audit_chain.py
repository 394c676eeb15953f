"""The audit log's chains: what nobody can alter, take out or reorder without its being seen.

Each subject of a tenant has a chain of its own, so that writers of different things never wait for each other: every
entry holds the digest of the one before, and a head says where the chain ends. Seals tie a tenant's chains together:
once a minute one is written over every head that has moved, and holds the digest of the seal before. How a digest is
made stands in docs/audit.md, so that anybody can make it again.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from cronfleet.domain.audit import AuditEntry, Link
from cronfleet.domain.instant import Instant

ENTRY_FORM: Final = "cronfleet-audit-1"
SEAL_FORM: Final = "cronfleet-seal-1"

SEAL_SLICES: Final = 4
"""Heads that wait for a seal stand in this many partitions of an index, each tenant's in one."""
MAX_LINES: Final = 300
"""Heads that one seal ties together: about 25 KB."""

Chain: TypeAlias = tuple[str, str]
"""Tenant and subject."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where the chain of a subject ends. `seal` is the number of the seal that holds this end; `None`: it waits."""

    tenant: str
    subject: str
    seq: int
    entry_id: str
    digest: str
    first_id: str
    seal: int | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """What a seal says of one chain: it had an entry `seq` of this id and digest."""

    subject: str
    seq: int
    entry_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class Seal:
    """The `number`-th seal of a tenant, counted from 1; `previous` is the digest of the one before, or empty."""

    tenant: str
    number: int
    at: Instant
    lines: tuple[Line, ...]
    previous: str
    digest: str = ""


def form_text(form: Mapping[str, Any] | None) -> str:
    """A form as the digest takes it: compact JSON with sorted names; empty where there is none."""
    if form is None:
        return ""
    text = json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # JSON may name half of a surrogate pair, which no encoding can carry; its escape can be.
        return json.dumps(form, sort_keys=True, separators=(",", ":"))
    return text


def digest_of(fields: Iterable[str | int]) -> str:
    """SHA-256 (hex) over `fields` as netstrings: the length in bytes, a colon, the bytes, a comma."""
    whole = hashlib.sha256()
    for one in fields:
        content = str(one).encode(errors="surrogatepass")
        whole.update(b"%d:%s," % (len(content), content))
    return whole.hexdigest()


def entry_digest(entry: AuditEntry, link: Link) -> str:
    """The digest of an entry in its place; the one that `link` holds does not count."""
    return digest_of(
        (
            ENTRY_FORM,
            entry.tenant,
            entry.subject,
            link.seq,
            link.previous,
            link.previous_id,
            entry.entry_id,
            entry.at,
            entry.actor,
            entry.credential,
            entry.home_tenant,
            entry.action,
            entry.request_id,
            form_text(entry.before),
            form_text(entry.after),
            entry.reason,
        )
    )


def seal_digest(seal: Seal) -> str:
    """The digest of a seal; the one that it holds does not count."""
    lines = (part for line in seal.lines for part in (line.subject, line.seq, line.entry_id, line.digest))
    return digest_of((SEAL_FORM, seal.tenant, seal.number, seal.previous, seal.at, *lines))


def chain_of(entry: AuditEntry) -> Chain:
    """The chain that an entry belongs to."""
    return entry.tenant, entry.subject


def linked(entries: Sequence[AuditEntry], heads: Mapping[Chain, Head]) -> tuple[list[AuditEntry], dict[Chain, Head]]:
    """`entries` in their places, and the heads after them, for those chains alone that have grown.

    `heads` are the ends of the chains as they are stored; a chain without one begins.
    """
    found: list[AuditEntry] = []
    after: dict[Chain, Head] = {}
    for entry in entries:
        chain = chain_of(entry)
        one, after[chain] = _linked(entry, after.get(chain) or heads.get(chain))
        found.append(one)
    return found, after


def _linked(entry: AuditEntry, head: Head | None) -> tuple[AuditEntry, Head]:
    place = Link(1, "", "", "") if head is None else Link(head.seq + 1, head.digest, head.entry_id, "")
    link = replace(place, digest=entry_digest(entry, place))
    first_id = entry.entry_id if head is None else head.first_id
    after = Head(entry.tenant, entry.subject, link.seq, entry.entry_id, link.digest, first_id)
    return replace(entry, link=link), after


def sealed(before: Seal | None, heads: Sequence[Head], now: Instant) -> Seal:
    """The seal after `before` over `heads`, which are one tenant's."""
    lines = tuple(Line(head.subject, head.seq, head.entry_id, head.digest) for head in heads)
    number, at, previous = (1, now, "") if before is None else (before.number + 1, max(now, before.at), before.digest)
    seal = Seal(heads[0].tenant, number, at, lines, previous)
    return replace(seal, digest=seal_digest(seal))


def slice_of(tenant: str) -> int:
    """In which partition of the index the heads of `tenant` wait for a seal."""
    return hashlib.sha256(tenant.encode()).digest()[0] % SEAL_SLICES
