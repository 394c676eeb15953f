"""Where the noticeboard is kept: sheets beside the directory of freezes, in its partition."""

from dataclasses import dataclass
from typing import Protocol

from cronfleet.domain.noticeboard import Notices, Sheet, Topic


@dataclass(frozen=True, slots=True)
class PutSheet:
    """Replace a sheet, on the condition that its `rev` is still `sheet.rev - 1` (0: none)."""

    sheet: Sheet


class NoticeStore(Protocol):
    """The noticeboard, read."""

    def get_notices(self, *, consistent: bool = True) -> Notices:
        """The whole board by one request, by default as it is now. An item that cannot be read hides no other."""
        ...

    def get_sheet(self, topic: Topic, number: int) -> Sheet:
        """One sheet, read strongly, to be changed; an empty one before its first notice. Raises `Damaged`."""
        ...
