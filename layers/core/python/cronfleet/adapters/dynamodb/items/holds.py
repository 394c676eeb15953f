"""How regions' installations are held, as items of the table `tenants` beside the directory of freezes."""

from typing import Any

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.tenant_records import SwitchRecord
from cronfleet.domain.hold import Hold, Mode, Switch


def switch_item(switch: Switch) -> Item:
    """A switch as an item."""
    return written(
        SwitchRecord,
        keys.FREEZES,
        keys.hold(switch.region),
        rev=switch.rev,
        change_id=switch.change_id,
        hold=None if switch.hold is None else _hold_json(switch.hold),
        ended=[_hold_json(hold) for hold in switch.ended],
        let_go=switch.let_go or None,
    )


def switch_of(item: Item) -> Switch:
    """The switch in `item`; raises `Damaged`."""
    record = read(SwitchRecord, item)
    try:
        hold = None if record.hold is None else _hold_of(*record.hold)
        ended = tuple(_hold_of(*one) for one in record.ended)
    except (ValueError, TypeError) as error:
        raise damaged(item, error) from error
    region = record.sk.removeprefix(keys.HOLD)
    return Switch(region, hold, ended, record.let_go or "", record.rev, record.change_id)


def _hold_json(hold: Hold) -> list[Any]:
    said = [hold.hold_id, hold.mode.value, hold.by, hold.at, hold.reason]
    return said if hold.until is None else [*said, hold.until, hold.released_by, hold.released_why]


def _hold_of(hold_id: str, mode: str, by: str, at: int, reason: str, *ended: Any) -> Hold:
    return Hold(hold_id, Mode(mode), by, at, reason, *ended)
