"""Writes of what belongs to tenants as a whole: their records, API keys and freezes."""

from typing import Any, TypeAlias, assert_never

from cronfleet.adapters.memory.alerts import may_put_alert, put_alert, stored_alert
from cronfleet.adapters.memory.api_keys import may_put_key, put_key, stored_key
from cronfleet.adapters.memory.dead_letters import may_settle, stored_unreadable
from cronfleet.adapters.memory.deletions import put_deletion, stored_deletion
from cronfleet.adapters.memory.dependencies import put_dependency, stored_dependency
from cronfleet.adapters.memory.errands import may_put_errand, put_errand, stored_errand
from cronfleet.adapters.memory.freezes import put_freezes, stored_freezes
from cronfleet.adapters.memory.noticeboard import put_notice, stored_notice
from cronfleet.adapters.memory.operations import may_put_operation
from cronfleet.adapters.memory.schedule_counts import count_schedules, in_the_way
from cronfleet.adapters.memory.state import State
from cronfleet.adapters.memory.tenants import same_rev
from cronfleet.ports.alerts import PutAlert
from cronfleet.ports.api_keys import ListApiKey, PutApiKey
from cronfleet.ports.dead_letters import SettleUnreadable
from cronfleet.ports.deletions import InsertDeletion
from cronfleet.ports.dependencies import PutDependants, PutDependencyMark
from cronfleet.ports.errands import PutErrand
from cronfleet.ports.freezes import PutFreezeDirectory, PutFreezeList
from cronfleet.ports.noticeboard import PutSheet, PutSwitch
from cronfleet.ports.operations import PutOperation
from cronfleet.ports.schedule_counts import CountSchedules
from cronfleet.ports.tenants import PutTenant

TenantWrite: TypeAlias = (
    PutTenant
    | CountSchedules
    | PutApiKey
    | ListApiKey
    | PutFreezeDirectory
    | PutFreezeList
    | InsertDeletion
    | PutOperation
    | PutDependants
    | PutDependencyMark
    | PutSheet
    | PutSwitch
    | PutAlert
    | PutErrand
    | SettleUnreadable
)


def stored_of_tenant(state: State, write: TenantWrite) -> Any:
    """What stands where `write` is to write."""
    match write:
        case PutTenant(tenant):
            return state.tenants.get(tenant.tenant_id)
        case CountSchedules():
            return in_the_way(state, write)
        case PutApiKey() | ListApiKey():
            return stored_key(state, write)
        case PutFreezeDirectory() | PutFreezeList():
            return stored_freezes(state, write)
        case PutSheet() | PutSwitch():
            return stored_notice(state, write)
        case InsertDeletion():
            return stored_deletion(state, write)
        case PutOperation() | PutAlert() | PutErrand() | SettleUnreadable():
            return _stored_work(state, write)
        case PutDependants() | PutDependencyMark():
            return stored_dependency(state, write)
    assert_never(write)


def _stored_work(state: State, write: PutOperation | PutAlert | PutErrand | SettleUnreadable) -> Any:
    match write:
        case PutOperation(operation):
            return state.operations.get((operation.tenant, operation.operation_id))
        case PutAlert():
            return stored_alert(state, write)
        case PutErrand(errand):
            return stored_errand(state, errand)
        case SettleUnreadable(message):
            return stored_unreadable(state, message)
    assert_never(write)


def may_write_of_tenant(write: TenantWrite, stored: Any) -> bool:
    """Whether the condition of `write` holds."""
    match write:
        case PutTenant(before=before):
            return same_rev(stored, before)
        case CountSchedules():
            return stored is None
        case InsertDeletion():
            return stored is None
        case PutErrand():
            return may_put_errand(write, stored)
        case SettleUnreadable():
            return may_settle(stored)
        case PutApiKey() | ListApiKey():
            return may_put_key(write, stored)
        case PutOperation():
            return may_put_operation(write, stored)
        case PutAlert():
            return may_put_alert(write, stored)
        case (
            PutFreezeDirectory(after)
            | PutFreezeList(after)
            | PutSheet(after)
            | PutSwitch(after)
            | PutDependants(after)
            | PutDependencyMark(after)
        ):
            return (0 if stored is None else int(stored.rev)) == after.rev - 1
    assert_never(write)


def put_of_tenant(state: State, write: TenantWrite) -> None:
    """Carry `write` out."""
    match write:
        case PutTenant(tenant):
            state.tenants[tenant.tenant_id] = tenant
        case CountSchedules():
            count_schedules(state, write)
        case PutApiKey() | ListApiKey():
            put_key(state, write)
        case PutFreezeDirectory() | PutFreezeList():
            put_freezes(state, write)
        case PutSheet() | PutSwitch():
            put_notice(state, write)
        case InsertDeletion():
            put_deletion(state, write)
        case PutOperation() | PutAlert() | PutErrand() | SettleUnreadable():
            _put_work(state, write)
        case PutDependants() | PutDependencyMark():
            put_dependency(state, write)
        case _:
            assert_never(write)


def _put_work(state: State, write: PutOperation | PutAlert | PutErrand | SettleUnreadable) -> None:
    match write:
        case PutOperation(operation):
            state.operations[operation.tenant, operation.operation_id] = operation
        case PutAlert():
            put_alert(state, write)
        case PutErrand(errand):
            put_errand(state, errand)
        case SettleUnreadable(message):
            state.unreadable[message.delivery.sent_at, message.delivery.message_id] = message
