"""`python -m cronfleet.verify_audit FILE…`: check exported audit logs, with nothing but their lines.

Each file holds one tenant's whole export (`GET /v1/audit/export`, page after page); `-` is standard input.
Prints what is wrong first, or that the export is cut off, and ends with 1, or says that all is well and ends with 0.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cronfleet.domain.audit import AuditEntry, Broken
from cronfleet.domain.audit_chain import Head, Seal
from cronfleet.domain.audit_check import Bad, Checked, first_ids
from cronfleet.domain.audit_export import entry_of, page_of, seal_of


@dataclass
class Exported:
    """What a file holds."""

    entries: list[AuditEntry | Broken] = field(default_factory=list)
    seals: list[Seal] = field(default_factory=list)
    is_whole: bool = False
    """Whether its last page is there."""

    def take(self, line: Mapping[str, Any]) -> None:
        """Keep what a line holds."""
        match line["kind"]:
            case "entry" | "broken":
                self.entries.append(entry_of(line))
            case "seal":
                self.seals.append(seal_of(line))
            case "page":
                self.is_whole = page_of(line) is None
            case kind:
                raise ValueError(f"nothing is known of kind {kind!r}")

    @property
    def sound(self) -> list[AuditEntry]:
        """The entries that can be read."""
        return [entry for entry in self.entries if isinstance(entry, AuditEntry)]


def read(lines: Iterable[str]) -> Exported:
    """What the lines of an export hold; raises `ValueError` for a line that is none, with its number."""
    found = Exported()
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            found.take(json.loads(text))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"line {number} is no line of an export: {type(error).__name__}: {error}") from error
    return found


def check(exported: Exported) -> Bad | None:
    """What is wrong first, by the order of entries, then of seals."""
    tenants = {entry.tenant for entry in exported.sound} | {seal.tenant for seal in exported.seals}
    if len(tenants) > 1:
        return Bad(", ".join(sorted(tenants)), "an export is one tenant's")
    seen = Checked(exported.seals[0].at if exported.seals else None)
    seen.know(exported.entries)
    seen.heads |= _ends(exported.sound)
    for entry in exported.entries:
        bad = seen.entry(entry)
        if bad is not None:
            return bad
    before: Seal | None = None
    for seal in exported.seals:
        bad = seen.seal(seal, before)
        if bad is not None:
            return bad
        before = seal
    return None


def _ends(entries: Sequence[AuditEntry]) -> dict[str, Head]:
    """The ends of the chains as far as the entries go; what lies beyond, the seals tell."""
    first = first_ids(entries)
    ends: dict[str, Head] = {}
    for entry in entries:
        link, known = entry.link, ends.get(entry.subject)
        if link is not None and (known is None or link.seq > known.seq):
            begun = first.get(entry.subject, "")
            ends[entry.subject] = Head(entry.tenant, entry.subject, link.seq, entry.entry_id, link.digest, begun)
    return ends


def _unsealed(exported: Exported) -> int:
    held: dict[str, int] = {}
    for seal in exported.seals:
        held |= {line.subject: line.seq for line in seal.lines}
    return sum(entry.link is not None and entry.link.seq > held.get(entry.subject, 0) for entry in exported.sound)


def told(exported: Exported, known: Sequence[str]) -> tuple[bool, str]:
    """Whether all is well, and the verdict in words. `known` are seals noted elsewhere, as `NUMBER:HASH`."""
    bad = check(exported)
    if bad is not None:
        return False, f"BAD {bad.where}: {bad.why}"
    seals = {f"{seal.number}:{seal.digest}" for seal in exported.seals}
    foreign = [one for one in known if one not in seals]
    if foreign:
        return False, f"BAD seal:{foreign[0].partition(':')[0]}: the one noted elsewhere is not in the export"
    last = f", the last {exported.seals[-1].number}:{exported.seals[-1].digest}" if exported.seals else ""
    counts = f"{len(exported.entries)} entries, {len(exported.seals)} seals{last}"
    said = f"ok: {counts}; {_unsealed(exported)} entries are not sealed yet"
    if not exported.is_whole:
        return False, f"CUT OFF, and so far {said}; the last page of the export is not there"
    return True, said


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m cronfleet.verify_audit", description="Check exported audit logs.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="an export, its pages one after the other; - is stdin")
    parser.add_argument("--seal", action="append", default=[], metavar="NUMBER:HASH", help="a seal noted elsewhere")
    asked = parser.parse_args(arguments)
    all_well = True
    for name in asked.files:
        try:
            text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
            is_well, verdict = told(read(text.splitlines()), asked.seal)
        except (OSError, ValueError) as error:
            is_well, verdict = False, f"BAD {error}"
        all_well &= is_well
        print(f"{name}: {verdict}")
    return 0 if all_well else 1


if __name__ == "__main__":
    sys.exit(main())
