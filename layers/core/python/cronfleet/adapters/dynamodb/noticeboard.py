"""`NoticeStore` on DynamoDB, in the table `tenants`."""

from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import Database, text
from cronfleet.adapters.dynamodb.items.noticeboard import notices_of, sheet_of
from cronfleet.domain.noticeboard import SHEETS, Notices, Sheet, Topic

_MOST: Final = SHEETS * len(Topic) + 1
"""Items of the board: its sheets, and the directory of freezes."""


class DynamoNoticeboard:
    """The sheets, and the directory of freezes beside them."""

    _database: Database

    def get_notices(self, *, consistent: bool = True) -> Notices:
        # One page: the sheets are few, and limited in what they hold.
        items, _ = self._database.query(
            schema.TENANTS, "#pk = :pk", {":pk": text(keys.FREEZES)}, limit=_MOST, consistent=consistent
        )
        return notices_of(items)

    def get_sheet(self, topic: Topic, number: int) -> Sheet:
        item = self._database.get(schema.TENANTS, keys.FREEZES, keys.sheet(topic, number))
        return Sheet(topic, number) if item is None else sheet_of(item)
