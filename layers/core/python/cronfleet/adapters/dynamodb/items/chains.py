"""Ends of chains and seals, as items of the table `chains`."""

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.audit_records import ChainHeadRecord, SealRecord
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.packing import pack, unpack
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.domain.audit_chain import Head, Line, Seal, slice_of


def head_item(head: Head) -> Item:
    """The end of a chain as an item: in the index of those that wait for a seal, until one holds it."""
    return written(
        ChainHeadRecord,
        head.tenant,
        keys.head(head.subject),
        seq=head.seq,
        entry_id=head.entry_id,
        digest=head.digest,
        first_id=head.first_id,
        seal=head.seal,
        unsealed=str(slice_of(head.tenant)) if head.seal is None else None,
    )


def head_of(item: Item) -> Head:
    """The end of the chain in `item`; raises `Damaged`."""
    record = read(ChainHeadRecord, item)
    return Head(
        record.pk,
        keys.parse_head(record.sk),
        record.seq,
        record.entry_id,
        record.digest,
        record.first_id,
        record.seal,
    )


def seal_item(seal: Seal) -> Item:
    """A seal as an item."""
    return written(
        SealRecord,
        seal.tenant,
        keys.seal(seal.number),
        number=seal.number,
        at=seal.at,
        lines=pack([[line.subject, line.seq, line.entry_id, line.digest] for line in seal.lines]),
        previous=seal.previous,
        digest=seal.digest,
    )


def seal_of(item: Item) -> Seal:
    """The seal in `item`; raises `Damaged`."""
    record = read(SealRecord, item)
    try:
        lines = tuple(Line(subject, seq, entry_id, digest) for subject, seq, entry_id, digest in unpack(record.lines))
    except (ValueError, TypeError) as error:
        raise damaged(item, error) from error
    return Seal(record.pk, record.number, record.at, lines, record.previous, record.digest)
