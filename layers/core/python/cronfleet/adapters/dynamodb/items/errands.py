"""Errands, as items of the table `schedules`."""

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.records import ErrandRecord
from cronfleet.domain.errand import Errand, ErrandKind


def errand_item(errand: Errand) -> Item:
    """The errand as an item."""
    return written(
        ErrandRecord,
        *keys.errand(*errand.key),
        due_shard=keys.due_shard(errand.shard),
        due_at=errand.due_at,
        rev=errand.rev,
        failures=errand.failures or None,
    )


def errand_of(item: Item) -> Errand:
    """The errand in `item`, which may come from the due index (that does not tell of failures); raises `Damaged`."""
    record = read(ErrandRecord, item)
    try:
        tenant, kind, errand_id = keys.parse_errand(record.pk, record.sk)
        return Errand(
            tenant,
            ErrandKind(kind),
            errand_id,
            int(record.due_shard),
            record.due_at,
            record.rev,
            record.failures or 0,
        )
    except ValueError as error:
        raise damaged(item, error) from error
