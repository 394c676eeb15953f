"""The records of the audit log: its entries, the heads of their chains, and the seals over those."""

from pynamodb.attributes import BinaryAttribute, UnicodeAttribute
from pynamodb.models import Model

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.dynamodb.records import JsonAttribute, WholeAttribute


class AuditRecord(Model):
    """One accepted change. `chain` is there for those that stand in one, with their place and their digest."""

    class Meta:
        table_name = schema.AUDIT.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    at = WholeAttribute()
    actor = UnicodeAttribute()
    action = UnicodeAttribute()
    schedule_id = UnicodeAttribute()
    subject = UnicodeAttribute(null=True)
    request_id = UnicodeAttribute()
    before = JsonAttribute(null=True)
    after = JsonAttribute(null=True)
    reason = UnicodeAttribute()
    credential = UnicodeAttribute(null=True)
    home_tenant = UnicodeAttribute(null=True)
    chain = UnicodeAttribute(null=True)
    seq = WholeAttribute(null=True)
    previous = UnicodeAttribute(null=True)
    previous_id = UnicodeAttribute(null=True)
    digest = UnicodeAttribute(null=True)


class ChainHeadRecord(Model):
    """Where the chain of a subject ends: `seal` names the seal that holds it, `unsealed` is there until one does."""

    class Meta:
        table_name = schema.CHAINS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    seq = WholeAttribute()
    entry_id = UnicodeAttribute()
    digest = UnicodeAttribute()
    first_id = UnicodeAttribute()
    seal = WholeAttribute(null=True)
    unsealed = UnicodeAttribute(null=True)


class SealRecord(Model):
    """A seal; `lines` is packed."""

    class Meta:
        table_name = schema.CHAINS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    number = WholeAttribute()
    at = WholeAttribute()
    lines = BinaryAttribute(legacy_encoding=False)
    previous = UnicodeAttribute()
    digest = UnicodeAttribute()
