"""The audit log, for those who read it: lists, an export that can be checked anywhere, and the check itself."""

import json
from typing import Any, Final

from cronfleet.domain.audit import AuditEntry, Wanted
from cronfleet.domain.audit_export import PAGE, entry_line, seal_line
from cronfleet.domain.form import Form
from cronfleet.domain.instant import SECOND, to_text
from cronfleet.ports import cursors
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore
from cronfleet.ports.page import Page
from cronfleet.services.access import Caller
from cronfleet.services.audit_verification import ENTRIES, SEALS, SEALS_PAGE, Verification, is_place
from cronfleet.services.changing import answer_of
from cronfleet.services.fitting import fitting

VERIFYING_TIME: Final = 20 * SECOND
"""How long one call checks: the gateway gives up after thirty seconds."""

MAX_EXPORT_BYTES: Final = 1_000_000
"""Where a page of an export ends early: an answer travels as JSON within JSON, and takes six million bytes at most."""


class AuditLog:
    """The service behind /v1/audit."""

    def __init__(self, *, store: JobStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def entries(self, caller: Caller, wanted: Wanted, *, cursor: str | None, limit: int) -> Page[Form]:
        """Entries that are `wanted`, newest first; a page may be short, or empty, and still have a cursor."""
        tenant = caller.tenant.tenant_id

        def read(most: int) -> Page[Form]:
            page = answer_of(lambda: self._store.list_audit(tenant, wanted, cursor=cursor, limit=most))
            return Page([entry_form(entry) for entry in page.items], page.cursor)

        return fitting(read, limit)

    def verify(self, caller: Caller, cursor: str | None = None) -> Form:
        """Whether anything is altered, missing, reordered or added, as far as there is time to look."""
        going = Verification(self._store, self._clock, caller.tenant.tenant_id)
        following = going.go(cursor, self._clock.now() + VERIFYING_TIME)
        bad = going.bad
        return {
            "ok": bad is None,
            "checked": going.checked,
            "first_bad": None if bad is None else bad.where,
            "why": None if bad is None else bad.why,
            "seals": going.seals,
            "unsealed": going.unsealed,
            "cursor": following,
        }

    def export(self, caller: Caller, *, cursor: str | None, limit: int) -> str:
        """A page of the whole log, a line of JSON for each entry, then for each seal; the last line holds the cursor.

        The seals are those that were there when the export began: everything that they name is in it.
        """
        tenant = caller.tenant.tenant_id
        stage, after, last_seal = self._export_begun(tenant) if cursor is None else _export_place(cursor)
        if stage == ENTRIES:
            lines, following = self._exported_entries(tenant, after, limit)
            go_on = [SEALS, "0"] if following is None else [ENTRIES, following]
        else:
            lines, following = self._exported_seals(tenant, int(after), last_seal)
            go_on = [] if following is None else [SEALS, following]
        page = {"kind": PAGE, "cursor": cursors.encode([*go_on, str(last_seal)]) if go_on else None}
        return "".join(f"{line}\n" for line in [*lines, _text(page)])

    def _export_begun(self, tenant: str) -> tuple[str, str, int]:
        last = answer_of(lambda: self._store.last_seal(tenant))
        return ENTRIES, "", 0 if last is None else last.number

    def _exported_entries(self, tenant: str, after: str, limit: int) -> tuple[list[str], str | None]:
        entries = answer_of(lambda: self._store.walk_audit(tenant, after, limit))
        lines: list[str] = []
        size = 0
        for entry in entries:
            lines.append(_text(entry_line(entry)))
            size += len(lines[-1].encode())
            if size >= MAX_EXPORT_BYTES:
                break
        return lines, entries[len(lines) - 1].entry_id if lines else None

    def _exported_seals(self, tenant: str, after: int, last: int) -> tuple[list[str], str | None]:
        seals = answer_of(lambda: self._store.walk_seals(tenant, after, SEALS_PAGE))
        lines = [_text(seal_line(seal)) for seal in seals if seal.number <= last]
        return lines, str(seals[-1].number) if seals and seals[-1].number < last else None


def _export_place(cursor: str) -> tuple[str, str, int]:
    stage, after, last_seal = cursors.decode(cursor, 3)
    if stage not in (ENTRIES, SEALS) or not is_place(stage, after) or not is_place(SEALS, last_seal):
        raise cursors.foreign()
    return stage, after, int(last_seal)


def _text(line: Any) -> str:
    return json.dumps(line, separators=(",", ":"))


def entry_form(entry: AuditEntry) -> Form:
    """An entry as callers see it."""
    link = entry.link
    return {
        "id": entry.entry_id,
        "at": to_text(entry.at),
        "tenant": entry.tenant,
        "actor": entry.actor,
        "credential": entry.credential or None,
        "acting_for": entry.acting_for or None,
        "home_tenant": entry.home_tenant or None,
        "action": entry.action,
        "subject": entry.subject,
        "schedule_id": entry.schedule_id or None,
        "request_id": entry.request_id,
        "before": entry.before,
        "after": entry.after,
        "reason": entry.reason,
        "seq": link and link.seq,
        "previous": link and link.previous,
        "hash": link and link.digest,
    }
