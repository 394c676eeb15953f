"""The audit log, as the services need it. It grows by `InsertAudit` alone, in the transaction of the change."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from cronfleet.domain.audit import AuditEntry, Broken, Wanted
from cronfleet.domain.audit_chain import Chain, Head, Seal
from cronfleet.ports.page import Page


class AuditStore(Protocol):
    """Entries, the ends of their chains, and the seals over them; nothing of it is ever changed or taken out."""

    def list_audit(self, tenant: str, wanted: Wanted, *, cursor: str | None, limit: int) -> Page[AuditEntry]:
        """The entries that are `wanted`, newest first; by an index where a subject is named.

        A page may be short, or empty, and still have a cursor: other entries lie in between. What cannot be read is
        left out.
        """
        ...

    def walk_audit(self, tenant: str, after: str, limit: int) -> Sequence[AuditEntry | Broken]:
        """At most `limit` entries after the id `after`, by their ids, read strongly; none: that is all."""
        ...

    def get_audit(self, tenant: str, ids: Sequence[str]) -> Mapping[str, AuditEntry | Broken]:
        """Entries by their ids, read strongly; absent ones are left out."""
        ...

    def walk_heads(self, tenant: str, after: str, limit: int) -> Sequence[Head]:
        """At most `limit` ends of chains after the subject `after`, by subject, read strongly; none: that is all."""
        ...

    def get_heads(self, tenant: str, subjects: Sequence[str]) -> Mapping[str, Head]:
        """The ends of the chains of `subjects`, read strongly; absent ones are left out."""
        ...

    def unsealed(self, number: int, cursor: str | None, limit: int) -> Page[Chain]:
        """Chains of slice `number` whose end waits for a seal, those of a tenant side by side. A hint by an index."""
        ...

    def last_seal(self, tenant: str) -> Seal | None:
        """The newest seal, read strongly; `None` before the first."""
        ...

    def walk_seals(self, tenant: str, after: int, limit: int) -> Sequence[Seal]:
        """At most `limit` seals after number `after`, in order, read strongly; none: that is all."""
        ...

    def put_seal(self, seal: Seal) -> bool:
        """Put a seal where none of its number is; False when another sweep was faster."""
        ...

    def mark_sealed(self, head: Head, number: int) -> None:
        """Note that seal `number` holds this end of the chain; nothing if the chain has grown since."""
        ...
