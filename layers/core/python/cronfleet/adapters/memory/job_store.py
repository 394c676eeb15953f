"""The job store in memory: the same contract, one thread, no surprises but those that a test asks for."""

from cronfleet.adapters.memory.alerts import MemoryAlerts
from cronfleet.adapters.memory.api_keys import MemoryApiKeys
from cronfleet.adapters.memory.attempt_logs import MemoryAttemptLogs
from cronfleet.adapters.memory.audit import MemoryAudit
from cronfleet.adapters.memory.breakers import MemoryBreakers
from cronfleet.adapters.memory.calendars import MemoryCalendars
from cronfleet.adapters.memory.dead_letters import MemoryDeadLetters
from cronfleet.adapters.memory.deletions import MemoryDeletions
from cronfleet.adapters.memory.dependencies import MemoryDependencies
from cronfleet.adapters.memory.due_index import DueIndex
from cronfleet.adapters.memory.errands import MemoryErrands
from cronfleet.adapters.memory.forecasts import MemoryForecasts
from cronfleet.adapters.memory.freezes import MemoryFreezes
from cronfleet.adapters.memory.gates import MemoryGates
from cronfleet.adapters.memory.heartbeats import MemoryHeartbeats
from cronfleet.adapters.memory.noticeboard import MemoryNoticeboard
from cronfleet.adapters.memory.operations import MemoryOperations
from cronfleet.adapters.memory.peeking import MemoryPeeking
from cronfleet.adapters.memory.rates import MemoryRates
from cronfleet.adapters.memory.retimings import MemoryRetimings
from cronfleet.adapters.memory.runs import MemoryRuns
from cronfleet.adapters.memory.schedule_counts import MemoryScheduleCounts
from cronfleet.adapters.memory.schedules import MemorySchedules
from cronfleet.adapters.memory.shards import MemoryShards
from cronfleet.adapters.memory.slots import MemorySlots
from cronfleet.adapters.memory.state import State
from cronfleet.adapters.memory.tenants import MemoryTenants
from cronfleet.adapters.memory.timers import damage
from cronfleet.adapters.memory.versions import MemoryVersions
from cronfleet.domain.claim import Unreadable
from cronfleet.domain.hold import ANYWHERE, Here
from cronfleet.domain.schedule import Timer
from cronfleet.ports.clock import Clock


class MemoryJobStore(
    MemorySchedules,
    MemoryVersions,
    MemoryCalendars,
    MemoryRuns,
    MemoryAttemptLogs,
    MemoryDeadLetters,
    MemoryShards,
    MemoryRetimings,
    MemoryHeartbeats,
    MemoryTenants,
    MemoryScheduleCounts,
    MemoryRates,
    MemoryPeeking,
    MemoryForecasts,
    MemoryFreezes,
    MemoryGates,
    MemoryBreakers,
    MemoryNoticeboard,
    MemorySlots,
    MemoryApiKeys,
    MemoryAudit,
    MemoryDeletions,
    MemoryDependencies,
    MemoryAlerts,
    MemoryOperations,
    MemoryErrands,
):
    """All of `JobStore`. `state` lies open for whoever checks it; `state.skew_ms` is what `skew_ms` answers."""

    def __init__(self, clock: Clock, due_index: DueIndex | None = None, here: Here = ANYWHERE) -> None:
        super().__init__(State(clock, due_index or DueIndex()))
        self.here = here

    def damage(self, timer: Timer, why: str) -> Unreadable:
        """Make the stored `timer` one that cannot be read; for tests."""
        return damage(self.state, timer, why)
