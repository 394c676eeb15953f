"""`NoticeStore` on DynamoDB, in the table `tenants`."""

from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import Database, text
from cronfleet.adapters.dynamodb.items.holds import switch_of
from cronfleet.adapters.dynamodb.items.noticeboard import notices_of, sheet_of
from cronfleet.domain.hold import ANYWHERE, Here, Switch
from cronfleet.domain.noticeboard import SHEETS, Notices, Sheet, Topic

MAX_REGIONS: Final = 10
"""Regions that share tables; more than any global table has replicas in."""

_MOST: Final = SHEETS * len(Topic) + 1 + MAX_REGIONS
"""Items of the board: its sheets, the directory of freezes, and how regions' installations are held."""


class DynamoNoticeboard:
    """The sheets, and the directory of freezes beside them."""

    _database: Database
    here: Here = ANYWHERE

    def get_notices(self, *, consistent: bool = True) -> Notices:
        # One page: the sheets are few, and limited in what they hold.
        items, _ = self._database.query(
            schema.TENANTS, "#pk = :pk", {":pk": text(keys.FREEZES)}, limit=_MOST, consistent=consistent
        )
        return notices_of(items, self.here.region)

    def get_sheet(self, topic: Topic, number: int) -> Sheet:
        item = self._database.get(schema.TENANTS, keys.FREEZES, keys.sheet(topic, number))
        return Sheet(topic, number) if item is None else sheet_of(item)

    def get_switch(self, region: str) -> Switch:
        item = self._database.get(schema.TENANTS, keys.FREEZES, keys.hold(region))
        return Switch(region) if item is None else switch_of(item)
