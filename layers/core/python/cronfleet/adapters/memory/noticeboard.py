"""`NoticeStore` in memory."""

from cronfleet.adapters.memory.state import State
from cronfleet.domain.freeze import FreezeDirectory
from cronfleet.domain.hold import ANYWHERE, Here, Switch
from cronfleet.domain.noticeboard import Notices, Sheet, Topic
from cronfleet.ports.noticeboard import PutSheet, PutSwitch


class MemoryNoticeboard:
    """The sheets, and the directory of freezes beside them."""

    state: State
    here: Here = ANYWHERE

    def get_notices(self, *, consistent: bool = True) -> Notices:  # noqa: ARG002 - there is but one copy here
        directory = self.state.freeze_directory or FreezeDirectory()
        elsewhere = tuple(one for region, one in self.state.switches.items() if region != self.here.region)
        own = self.get_switch(self.here.region)
        return Notices(directory, tuple(self.state.sheets.values()), switch=own, elsewhere=elsewhere)

    def get_sheet(self, topic: Topic, number: int) -> Sheet:
        return self.state.sheets.get((topic, number), Sheet(topic, number))

    def get_switch(self, region: str) -> Switch:
        return self.state.switches.get(region, Switch(region))


def stored_notice(state: State, write: PutSheet | PutSwitch) -> Sheet | Switch | None:
    """What stands where `write` is to write."""
    if isinstance(write, PutSwitch):
        return state.switches.get(write.switch.region)
    return state.sheets.get((write.sheet.topic, write.sheet.number))


def put_notice(state: State, write: PutSheet | PutSwitch) -> None:
    """Store a sheet or a switch."""
    if isinstance(write, PutSwitch):
        state.switches[write.switch.region] = write.switch
    else:
        state.sheets[write.sheet.topic, write.sheet.number] = write.sheet
