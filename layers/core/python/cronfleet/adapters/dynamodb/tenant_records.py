"""The records of tenants: their keys, what they have been answered, their slots, and what is frozen of them."""

from pynamodb.attributes import BinaryAttribute, BooleanAttribute, UnicodeAttribute
from pynamodb.models import Model

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.dynamodb.records import JsonAttribute, WholeAttribute


class TenantRecord(Model):
    """A tenant of the installation. Records of the first release hold the tier alone."""

    class Meta:
        table_name = schema.TENANTS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    tier = UnicodeAttribute()
    directory = UnicodeAttribute(null=True)
    tenant_id = UnicodeAttribute(null=True)
    status = UnicodeAttribute(null=True)
    quotas = JsonAttribute(null=True)
    name = UnicodeAttribute(null=True)
    created_at = WholeAttribute(null=True)
    updated_at = WholeAttribute(null=True)
    reason = UnicodeAttribute(null=True)
    lifecycle_events = BooleanAttribute(null=True)
    rev = WholeAttribute(null=True)
    change_id = UnicodeAttribute(null=True)


class ApiKeyRecord(Model):
    """An API key, by the digest of it. Those of the first release hold no role.

    `ends_at_ms` judges; `expires_at` (whole seconds) lets the table forget, some time after.
    """

    class Meta:
        table_name = schema.TENANTS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    hash = UnicodeAttribute()
    tenant = UnicodeAttribute()
    tier = UnicodeAttribute()
    role = UnicodeAttribute(null=True)
    name = UnicodeAttribute(null=True)
    created_at = WholeAttribute(null=True)
    created_by = UnicodeAttribute(null=True)
    ends_at_ms = WholeAttribute(null=True)
    revoked_at = WholeAttribute(null=True)
    last_used_at = WholeAttribute(null=True)
    replaced_by = UnicodeAttribute(null=True)
    change_id = UnicodeAttribute(null=True)
    listed = WholeAttribute(null=True)
    expires_at = WholeAttribute(null=True)


class ListedKeyRecord(Model):
    """A key in its tenant's list."""

    class Meta:
        table_name = schema.TENANTS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    key_id = UnicodeAttribute()
    expires_at = WholeAttribute(null=True)


class IdempotencyRecord(Model):
    """What a POST answered; `expires_at_ms` judges, `expires_at` (whole seconds) lets the table forget."""

    class Meta:
        table_name = schema.TENANTS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    request_digest = UnicodeAttribute()
    answer = JsonAttribute()
    expires_at_ms = WholeAttribute()
    expires_at = WholeAttribute()


class SlotRecord(Model):
    """One of a tenant's slots; its number stands in its key."""

    class Meta:
        table_name = schema.SLOTS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    fence = WholeAttribute()
    holder = UnicodeAttribute(null=True)
    taken_at = WholeAttribute()
    until = WholeAttribute()
    held_ms = WholeAttribute(null=True)
    expires_at = WholeAttribute()


class FreezeDirectoryRecord(Model):
    """The freezes of tiers, and which tenants have some; the marks are packed."""

    class Meta:
        table_name = schema.TENANTS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    rev = WholeAttribute()
    change_id = UnicodeAttribute()
    tiers = JsonAttribute()
    marks = BinaryAttribute(legacy_encoding=False)


class FreezeListRecord(Model):
    """The freezes of a tenant."""

    class Meta:
        table_name = schema.TENANTS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    rev = WholeAttribute()
    change_id = UnicodeAttribute()
    freezes = JsonAttribute()


class SheetRecord(Model):
    """A sheet of the noticeboard: of each notice its digest, and two instants."""

    class Meta:
        table_name = schema.TENANTS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    rev = WholeAttribute()
    change_id = UnicodeAttribute()
    notices = JsonAttribute()


class SwitchRecord(Model):
    """How a region's installation is held, and lately was."""

    class Meta:
        table_name = schema.TENANTS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    rev = WholeAttribute()
    change_id = UnicodeAttribute()
    hold = JsonAttribute(null=True)
    ended = JsonAttribute()
    let_go = UnicodeAttribute(null=True)


class BreakerRecord(Model):
    """A breaker, by its tenant and id."""

    class Meta:
        table_name = schema.BREAKERS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    kind = UnicodeAttribute()
    name = UnicodeAttribute()
    state = UnicodeAttribute()
    failures = WholeAttribute()
    failed_at = WholeAttribute()
    error = UnicodeAttribute(null=True)
    opened_at = WholeAttribute(null=True)
    try_at = WholeAttribute(null=True)
    cooldown = WholeAttribute(null=True)
    probe = UnicodeAttribute(null=True)
    step = WholeAttribute(null=True)
    permits = WholeAttribute(null=True)
    rev = WholeAttribute()
    change_id = UnicodeAttribute(null=True)
    expires_at = WholeAttribute(null=True)
