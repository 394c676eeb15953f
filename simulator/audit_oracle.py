"""The audit oracle: the hashes of entries and seals made again from docs/audit.md alone."""

import hashlib
import json
from typing import Any


def entry_hash(entry: Any) -> str:
    """The hash that an entry must have in the place that it says it has."""
    link = entry.link
    return _hash(
        "cronfleet-audit-1",
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
        _text(entry.before),
        _text(entry.after),
        entry.reason,
    )


def seal_hash(seal: Any) -> str:
    """The hash that a seal must have."""
    lines = [part for line in seal.lines for part in (line.subject, line.seq, line.entry_id, line.digest)]
    return _hash("cronfleet-seal-1", seal.tenant, seal.number, seal.previous, seal.at, *lines)


def _text(form: Any) -> str:
    return "" if form is None else json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _hash(*fields: Any) -> str:
    written = [str(field).encode() for field in fields]
    return hashlib.sha256(b"".join(str(len(one)).encode() + b":" + one + b"," for one in written)).hexdigest()
