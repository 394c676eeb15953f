"""The audit log as lines of JSON, with all that its digests are made of, so that it can be checked anywhere.

What changed stands in `before` and `after` as the very text that the digest takes. docs/audit.md says how to check.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from cronfleet.domain.audit import AuditEntry, Broken, Link
from cronfleet.domain.audit_chain import Line, Seal, form_text
from cronfleet.domain.instant import Instant, to_text

ENTRY: Final = "entry"
SEAL: Final = "seal"
BROKEN: Final = "broken"
PAGE: Final = "page"
"""What a line is: an entry, a seal, an entry that cannot be read, or the end of a page, with the cursor to go on."""


def entry_line(entry: AuditEntry | Broken) -> dict[str, Any]:
    """An entry; one from before there were chains has no `seq` and no hashes."""
    if isinstance(entry, Broken):
        return {"kind": BROKEN, "id": entry.entry_id, "why": entry.why}
    link = entry.link
    return {
        "kind": ENTRY,
        "tenant": entry.tenant,
        "subject": entry.subject,
        "seq": link and link.seq,
        "previous": link and link.previous,
        "previous_id": link and link.previous_id,
        "id": entry.entry_id,
        "at": _readable(entry.at),
        "at_ms": entry.at,
        "actor": entry.actor,
        "credential": entry.credential,
        "home_tenant": entry.home_tenant,
        "action": entry.action,
        "request_id": entry.request_id,
        "before": form_text(entry.before),
        "after": form_text(entry.after),
        "reason": entry.reason,
        "hash": link and link.digest,
    }


def _readable(at: Instant) -> str:
    """For people; an altered entry may hold a number that is no time."""
    try:
        return to_text(at)
    except OverflowError:
        return ""


def seal_line(seal: Seal) -> dict[str, Any]:
    """A seal, with what it says of each chain."""
    return {
        "kind": SEAL,
        "tenant": seal.tenant,
        "number": seal.number,
        "previous": seal.previous,
        "at": _readable(seal.at),
        "at_ms": seal.at,
        "lines": [
            {"subject": line.subject, "seq": line.seq, "id": line.entry_id, "hash": line.digest} for line in seal.lines
        ],
        "hash": seal.digest,
    }


def entry_of(line: Mapping[str, Any]) -> AuditEntry | Broken:
    """The reverse of `entry_line`; raises `KeyError`, `TypeError` or `ValueError` for what is none."""
    if line["kind"] == BROKEN:
        return Broken(line["id"], line["why"])
    link = None
    if line["seq"] is not None:
        link = Link(line["seq"], line["previous"], line["previous_id"], line["hash"])
    entry = AuditEntry(
        line["tenant"],
        line["id"],
        line["at_ms"],
        line["actor"],
        line["action"],
        line["subject"],
        line["request_id"],
        _form(line["before"]),
        _form(line["after"]),
        line["reason"],
        line["credential"],
        line["home_tenant"],
        link,
    )
    if (form_text(entry.before), form_text(entry.after)) != (line["before"], line["after"]):
        return Broken(entry.entry_id, "what changed is not written as it was")
    return entry


def _form(text: str) -> Any:
    return json.loads(text) if text else None


def seal_of(line: Mapping[str, Any]) -> Seal:
    """The reverse of `seal_line`; raises `KeyError`, `TypeError` or `ValueError` for what is none."""
    lines = tuple(Line(one["subject"], one["seq"], one["id"], one["hash"]) for one in line["lines"])
    return Seal(line["tenant"], line["number"], line["at_ms"], lines, line["previous"], line["hash"])
