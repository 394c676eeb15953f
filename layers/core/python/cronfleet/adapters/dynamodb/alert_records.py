"""The record of an alert: an incident, a standing, a channel, a notice or a watch; its key says which."""

from pynamodb.attributes import UnicodeAttribute
from pynamodb.models import Model

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.dynamodb.records import JsonAttribute, WholeAttribute


class AlertRecord(Model):
    """One of them; `expires_at` (whole seconds) is there on what is over."""

    class Meta:
        table_name = schema.ALERTS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    rev = WholeAttribute()
    change_id = UnicodeAttribute(null=True)
    body = JsonAttribute()
    expires_at = WholeAttribute(null=True)
