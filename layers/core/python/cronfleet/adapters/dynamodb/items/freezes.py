"""Freezes, as items of the table `tenants`: the directory, and a list for each tenant."""

from collections.abc import Mapping
from typing import Any

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.packing import pack, unpack
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.tenant_records import FreezeDirectoryRecord, FreezeListRecord
from cronfleet.domain.freeze import (
    Freeze,
    FreezeDirectory,
    FreezeList,
    LabelScope,
    Mark,
    Scope,
    TenantScope,
    Thaw,
    TierScope,
)

_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError)


def directory_item(directory: FreezeDirectory) -> Item:
    """The directory as an item."""
    return written(
        FreezeDirectoryRecord,
        keys.FREEZES,
        keys.FREEZE_DIRECTORY,
        rev=directory.rev,
        change_id=directory.change_id,
        tiers=[_freeze_json(freeze) for freeze in directory.tiers],
        marks=pack({str(bucket): _mark_json(mark) for bucket, mark in sorted(directory.marks.items())}),
    )


def directory_of(item: Item) -> FreezeDirectory:
    """The directory in `item`; raises `Damaged`."""
    record = read(FreezeDirectoryRecord, item)
    try:
        tiers = tuple(_freeze_of(one, TierScope(one["tier"])) for one in record.tiers)
        marks = {int(bucket): _mark_of(*mark) for bucket, mark in unpack(record.marks).items()}
    except _UNREADABLE as error:
        raise damaged(item, error) from error
    return FreezeDirectory(tiers, marks, record.rev, record.change_id)


def _mark_json(mark: Mark) -> list[Any]:
    return [mark.open, mark.last_until, *mark.ends]


def _mark_of(is_open: int, last_until: int, *ends: int) -> Mark:
    return Mark(is_open, last_until, ends)


def freeze_list_item(freezes: FreezeList) -> Item:
    """A tenant's list as an item."""
    return written(
        FreezeListRecord,
        keys.freezes(freezes.tenant),
        keys.FREEZES,
        rev=freezes.rev,
        change_id=freezes.change_id,
        freezes=[_freeze_json(freeze) for freeze in freezes.freezes],
    )


def freeze_list_of(item: Item) -> FreezeList:
    """The list in `item`; raises `Damaged`."""
    record = read(FreezeListRecord, item)
    tenant = record.pk.removeprefix(keys.freezes(""))
    try:
        freezes = tuple(_freeze_of(one, _own_scope(tenant, one)) for one in record.freezes)
    except _UNREADABLE as error:
        raise damaged(item, error) from error
    return FreezeList(tenant, freezes, record.rev, record.change_id)


def _own_scope(tenant: str, stored: Mapping[str, Any]) -> Scope:
    labels = stored.get("labels")
    return LabelScope(tenant, tuple(sorted(labels.items()))) if labels else TenantScope(tenant)


def _freeze_json(freeze: Freeze) -> dict[str, Any]:
    stored: dict[str, Any] = {"id": freeze.freeze_id, "by": freeze.by, "at": freeze.at}
    match freeze.scope:
        case TierScope(tier):
            stored["tier"] = tier
        case LabelScope(_, labels):
            stored["labels"] = dict(labels)
    if freeze.reason:
        stored["reason"] = freeze.reason
    if freeze.until is not None:
        stored["until"] = freeze.until
    if freeze.suspends:
        stored["suspends"] = True
    if freeze.thawed is not None:
        stored["thawed"] = [freeze.thawed.by, freeze.thawed.at, freeze.thawed.reason]
    return stored


def _freeze_of(stored: Mapping[str, Any], scope: Scope) -> Freeze:
    thawed = stored.get("thawed")
    return Freeze(
        stored["id"],
        scope,
        stored["by"],
        stored["at"],
        stored.get("reason", ""),
        stored.get("until"),
        stored.get("suspends", False),
        None if thawed is None else Thaw(*thawed),
    )
