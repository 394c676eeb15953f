"""Where the noticeboard is kept: sheets and switches beside the directory of freezes, in its partition."""

from dataclasses import dataclass
from typing import Protocol

from cronfleet.domain.hold import Here, Switch
from cronfleet.domain.noticeboard import Notices, Sheet, Topic


@dataclass(frozen=True, slots=True)
class PutSheet:
    """Replace a sheet, on the condition that its `rev` is still `sheet.rev - 1` (0: none)."""

    sheet: Sheet


@dataclass(frozen=True, slots=True)
class PutSwitch:
    """Replace the switch of a region, on the condition that its `rev` is still `switch.rev - 1` (0: none)."""

    switch: Switch


class NoticeStore(Protocol):
    """The noticeboard, read."""

    @property
    def here(self) -> Here:
        """Which region's copy of the tables this is, and the name under which it was deployed as a standby."""
        ...

    def get_notices(self, *, consistent: bool = True) -> Notices:
        """The whole board by one request, by default as it is now. An item that cannot be read hides no other."""
        ...

    def get_sheet(self, topic: Topic, number: int) -> Sheet:
        """One sheet, read strongly, to be changed; an empty one before its first notice. Raises `Damaged`."""
        ...

    def get_switch(self, region: str) -> Switch:
        """How the installation of `region` is held, read strongly; an empty one before its first hold.

        Raises `Damaged`.
        """
        ...
