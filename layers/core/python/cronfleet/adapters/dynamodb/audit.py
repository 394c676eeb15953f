"""`AuditStore` on DynamoDB."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.chains import read_heads
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import ConditionFailed, Item
from cronfleet.adapters.dynamodb.items.audit import audit_or_broken
from cronfleet.adapters.dynamodb.items.chains import head_of, seal_item, seal_of
from cronfleet.domain.audit import AuditEntry, Broken, Wanted, id_prefix
from cronfleet.domain.audit_chain import Chain, Head, Seal
from cronfleet.domain.audit_check import OLD_WRITERS
from cronfleet.domain.instant import MINUTE
from cronfleet.ports import cursors
from cronfleet.ports.page import Page

MAX_LIST_PAGES: Final = 20
"""Pages that one list reads in search of matches; then it answers with what it has, and a cursor."""
LIST_PAGE: Final = 100

_ID_MARGIN: Final = MINUTE
"""An entry's id is made by the clock of its process, its `at` is never before the change that preceded it."""
_PAST_EVERY_ID: Final = "~"
MAX_ID: Final = 64

_ALL: Final = "all"
_CHAIN: Final = "chain"
_BEFORE: Final = "before"
"""What a list goes through: a tenant's entries, those in one chain, and those of the same subject from before it."""

_MARK: Final = Expression("#seq = :seq", "SET #seal = :seal REMOVE #unsealed")


class DynamoAudit:
    """Entries, the ends of their chains, and the seals over them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- lists -------------------------------------------------------------------------------------------------

    def list_audit(self, tenant: str, wanted: Wanted, *, cursor: str | None, limit: int) -> Page[AuditEntry]:
        first_stage = _CHAIN if wanted.subject else _ALL
        stage, after = (first_stage, "") if cursor is None else cursors.decode(cursor, 2)
        if stage not in ((_CHAIN, _BEFORE) if wanted.subject else (_ALL,)) or not _may_follow(after, wanted):
            raise cursors.foreign()
        found: list[AuditEntry] = []
        if stage == _CHAIN:
            page = self._list_chain(tenant, wanted, after, limit)
            if page.cursor is not None:
                return page
            found, after = list(page.items), ""
            # One more is looked for even where the page is full: a cursor that leads to nothing is no harm.
            if len(found) == limit:
                return Page(found, _cursor(_BEFORE, ""))
            stage = _BEFORE
        rest = self._list_through(tenant, wanted, stage, after, limit - len(found))
        return Page([*found, *rest.items], rest.cursor)

    def _list_chain(self, tenant: str, wanted: Wanted, after: str, limit: int) -> Page[AuditEntry]:
        chain = keys.chain(tenant, wanted.subject)
        start = {"pk": text(tenant), "sk": text(after), "chain": text(chain)} if after else None
        condition, values = "#chain = :chain AND #sk BETWEEN :first AND :end", {":chain": text(chain), **_ids(wanted)}
        ids: list[str] = []
        last = after
        for item in self._backwards(condition, values, start, schema.BY_SUBJECT):
            if item is None:
                return Page(self._entries(tenant, ids), _cursor(_CHAIN, last))
            last = item["sk"]["S"]
            if _may_be_wanted(item, wanted):
                if len(ids) == limit:
                    return Page(self._entries(tenant, ids), _cursor(_CHAIN, ids[-1]))
                ids.append(last)
        return Page(self._entries(tenant, ids))

    def _list_through(self, tenant: str, wanted: Wanted, stage: str, after: str, limit: int) -> Page[AuditEntry]:
        """By the table itself: all entries, or those from before there were chains."""
        ids = _ids(wanted)
        if stage == _BEFORE:
            ids[":end"] = min(ids[":end"], text(self._chains_began(tenant)), key=lambda one: one["S"])
            if ids[":end"]["S"] < ids[":first"]["S"]:
                return Page([])
        condition, values = "#pk = :tenant AND #sk BETWEEN :first AND :end", {":tenant": text(tenant), **ids}
        found: list[AuditEntry] = []
        last = after
        start = {"pk": text(tenant), "sk": text(after)} if after else None
        for item in self._backwards(condition, values, start, None):
            if item is None:
                return Page(found, _cursor(stage, last))
            last = item["sk"]["S"]
            entry = audit_or_broken(item)
            if isinstance(entry, AuditEntry) and wanted.takes(entry) and (stage == _ALL or entry.link is None):
                if len(found) == limit:
                    return Page(found, _cursor(stage, found[-1].entry_id))
                found.append(entry)
        return Page(found)

    def _backwards(
        self, condition: str, values: Item, start: Item | None, index: schema.Index | None
    ) -> Iterator[Item | None]:
        """Items, newest first; ends with `None` when they go on past the last page read."""
        for _ in range(MAX_LIST_PAGES):
            items, start = self._database.query(
                schema.AUDIT, condition, values, limit=LIST_PAGE, index=index, start=start, forward=False
            )
            yield from items
            if start is None:
                return
        yield None

    def _chains_began(self, tenant: str) -> str:
        """An id after which no entry without a chain was made."""
        item = self._database.get(schema.CHAINS, tenant, keys.seal(1), consistent=False)
        return _PAST_EVERY_ID if item is None else f"{id_prefix(seal_of(item).at + OLD_WRITERS)}{_PAST_EVERY_ID}"

    def _entries(self, tenant: str, ids: Sequence[str]) -> list[AuditEntry]:
        """In the order of `ids`; what is not there, an index's entry notwithstanding, is left out."""
        items = self._database.batch_get(schema.AUDIT, [(tenant, one) for one in ids])
        found = {item["sk"]["S"]: audit_or_broken(item) for item in items}
        return [entry for one in ids if isinstance(entry := found.get(one), AuditEntry)]

    # --- entries and ends ----------------------------------------------------------------------------------------

    def walk_audit(self, tenant: str, after: str, limit: int) -> Sequence[AuditEntry | Broken]:
        return list(map(audit_or_broken, self._forwards(schema.AUDIT, tenant, "", after, limit)))

    def get_audit(self, tenant: str, ids: Sequence[str]) -> Mapping[str, AuditEntry | Broken]:
        items = self._database.batch_get(schema.AUDIT, [(tenant, one) for one in ids], consistent=True)
        return {item["sk"]["S"]: audit_or_broken(item) for item in items}

    def walk_heads(self, tenant: str, after: str, limit: int) -> Sequence[Head]:
        items = self._forwards(schema.CHAINS, tenant, keys.head(""), keys.head(after) if after else "", limit)
        return list(map(head_of, items))

    def get_heads(self, tenant: str, subjects: Sequence[str]) -> Mapping[str, Head]:
        heads = read_heads(self._database, [(tenant, one) for one in subjects]) if subjects else {}
        return {subject: head for (_, subject), head in heads.items()}

    def _forwards(self, table: schema.Table, tenant: str, prefix: str, after: str, limit: int) -> Sequence[Item]:
        """Items of a tenant whose sort key begins with `prefix`, after the one whose sort key is `after`."""
        start = {"pk": text(tenant), "sk": text(after)} if after else None
        condition = "#pk = :tenant" + (" AND begins_with(#sk, :prefix)" if prefix else "")
        values = {":tenant": text(tenant)} | ({":prefix": text(prefix)} if prefix else {})
        items, _ = self._database.query(table, condition, values, limit=limit, start=start, consistent=True)
        return items

    # --- seals ---------------------------------------------------------------------------------------------------

    def unsealed(self, number: int, cursor: str | None, limit: int) -> Page[Chain]:
        items, last = self._database.query(
            schema.CHAINS,
            "#unsealed = :number",
            {":number": text(str(number))},
            limit=limit,
            index=schema.UNSEALED,
            start=None if cursor is None else _waiting(number, *cursors.decode(cursor, 2)),
        )
        found = [(item["pk"]["S"], keys.parse_head(item["sk"]["S"])) for item in items]
        return Page(found, None if last is None else cursors.encode([last["pk"]["S"], last["sk"]["S"]]))

    def last_seal(self, tenant: str) -> Seal | None:
        items, _ = self._database.query(
            schema.CHAINS,
            "#pk = :tenant AND begins_with(#sk, :prefix)",
            {":tenant": text(tenant), ":prefix": text(keys.SEAL)},
            limit=1,
            forward=False,
            consistent=True,
        )
        return seal_of(items[0]) if items else None

    def walk_seals(self, tenant: str, after: int, limit: int) -> Sequence[Seal]:
        items = self._forwards(schema.CHAINS, tenant, keys.SEAL, keys.seal(after) if after else "", limit)
        return list(map(seal_of, items))

    def put_seal(self, seal: Seal) -> bool:
        try:
            self._database.put(schema.CHAINS, seal_item(seal), ABSENT)
        except ConditionFailed as failed:
            return failed.item is not None and seal_of(failed.item) == seal
        return True

    def mark_sealed(self, head: Head, seal: int) -> None:
        values = {":seq": number(head.seq), ":seal": number(seal)}
        try:
            self._database.update(schema.CHAINS, head.tenant, keys.head(head.subject), _MARK, values)
        except ConditionFailed:
            return  # It has grown, and waits for the next seal.


def _ids(wanted: Wanted) -> dict[str, Mapping[str, str]]:
    first, end = (id_prefix(max(0, at)) for at in (wanted.since - _ID_MARGIN, wanted.until + _ID_MARGIN))
    return {":first": text(first), ":end": text(f"{end}{_PAST_EVERY_ID}")}


def _may_follow(after: str, wanted: Wanted) -> bool:
    """Whether a list of those that are `wanted` can go on after this id: DynamoDB refuses a start that lies outside."""
    ids = _ids(wanted)
    return not after or (after.isascii() and len(after) <= MAX_ID and ids[":first"]["S"] <= after <= ids[":end"]["S"])


def _may_be_wanted(item: Mapping[str, Any], wanted: Wanted) -> bool:
    """By what the index holds of an entry."""
    return (
        wanted.since <= int(item["at"]["N"]) <= wanted.until
        and wanted.actor in ("", item["actor"]["S"])
        and wanted.action in ("", item["action"]["S"])
    )


def _cursor(stage: str, after: str) -> str:
    return cursors.encode([stage, after])


def _waiting(number: int, tenant: str, sort: str) -> Item:
    return {"unsealed": text(str(number)), "pk": text(tenant), "sk": text(sort)}
