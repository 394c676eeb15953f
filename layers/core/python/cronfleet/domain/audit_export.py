"""The audit log as lines of JSON, with all that its digests are made of, so that it can be checked anywhere.

What changed stands in `before` and `after` as the very text that the digest takes. docs/audit.md says how to check.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from cronfleet.domain.audit import AuditEntry, Broken, Link
from cronfleet.domain.audit_chain import Line, Seal, form_text
from cronfleet.domain.instant import Instant, to_text

ENTRY: Final = "entry"
SEAL: Final = "seal"
BROKEN: Final = "broken"
PAGE: Final = "page"
"""What a line is: an entry, a seal, an entry that cannot be read, or the end of a page, with the cursor to go on."""

_TEXTS: Final = (
    *("tenant", "subject", "id", "at", "actor", "credential", "home_tenant"),
    *("action", "request_id", "before", "after", "reason"),
)


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
    """The reverse of `entry_line`; raises `KeyError`, `TypeError` or `ValueError` for what is none.

    One that says anything else than its `entry_line`, in whichever field, is `Broken`.
    """
    if line["kind"] == BROKEN:
        _check(line, ("id", "why"), ())
        return Broken(line["id"], line["why"])
    _check(line, _TEXTS, ("at_ms",))
    link = None
    if line["seq"] is not None:
        _check(line, ("previous", "previous_id", "hash"), ("seq",))
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
    if not _says(line, entry_line(entry)):
        return Broken(entry.entry_id, "it is not written as it was")
    return entry


def _check(line: Mapping[str, Any], texts: Sequence[str], numbers: Sequence[str]) -> None:
    for names, kind in ((texts, str), (numbers, int)):
        for name in names:
            if type(line[name]) is not kind:
                raise TypeError(f"{name} is no {'text' if kind is str else 'whole number'}")


def _says(line: Mapping[str, Any], written: Mapping[str, Any]) -> bool:
    """Whether a line says just that; as text, since in Python `1`, `1.0` and `True` are equal."""
    return json.dumps(line, sort_keys=True) == json.dumps(written, sort_keys=True)


def _form(text: str) -> Any:
    return json.loads(text) if text else None


def seal_of(line: Mapping[str, Any]) -> Seal:
    """The reverse of `seal_line`; raises `KeyError`, `TypeError` or `ValueError` for what is none."""
    _check(line, ("tenant", "previous", "at", "hash"), ("number", "at_ms"))
    for one in line["lines"]:
        _check(one, ("subject", "id", "hash"), ("seq",))
    lines = tuple(Line(one["subject"], one["seq"], one["id"], one["hash"]) for one in line["lines"])
    seal = Seal(line["tenant"], line["number"], line["at_ms"], lines, line["previous"], line["hash"])
    if not _says(line, seal_line(seal)):
        raise ValueError(f"seal {seal.number} is not written as it was")
    return seal


def page_of(line: Mapping[str, Any]) -> str | None:
    """The cursor of the next page; raises `KeyError`, `TypeError` or `ValueError` for what ends no page."""
    cursor = line["cursor"]
    if cursor is not None:
        _check(line, ("cursor",), ())
    if not _says(line, {"kind": PAGE, "cursor": cursor}):
        raise ValueError("the end of the page is not written as it was")
    return str(cursor) if cursor is not None else None
