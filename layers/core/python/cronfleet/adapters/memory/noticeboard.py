"""`NoticeStore` in memory."""

from cronfleet.adapters.memory.state import State
from cronfleet.domain.freeze import FreezeDirectory
from cronfleet.domain.noticeboard import Notices, Sheet, Topic
from cronfleet.ports.noticeboard import PutSheet


class MemoryNoticeboard:
    """The sheets, and the directory of freezes beside them."""

    state: State

    def get_notices(self, *, consistent: bool = True) -> Notices:  # noqa: ARG002 - there is but one copy here
        return Notices(self.state.freeze_directory or FreezeDirectory(), tuple(self.state.sheets.values()))

    def get_sheet(self, topic: Topic, number: int) -> Sheet:
        return self.state.sheets.get((topic, number), Sheet(topic, number))


def stored_sheet(state: State, write: PutSheet) -> Sheet | None:
    """What stands where `write` is to write."""
    return state.sheets.get((write.sheet.topic, write.sheet.number))


def put_sheet(state: State, write: PutSheet) -> None:
    """Store a sheet."""
    state.sheets[write.sheet.topic, write.sheet.number] = write.sheet
