"""`GateStore` in memory."""

from dataclasses import replace
from typing import Any

from cronfleet.adapters.memory.breakers import may_put_breaker, put_breaker, stored_breaker
from cronfleet.adapters.memory.state import State
from cronfleet.adapters.memory.timers import put_run_timer, run_timer_key
from cronfleet.domain.breaker import Breaker
from cronfleet.domain.claim import RunTimer
from cronfleet.domain.gate import Gate, GateName
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import RunKey
from cronfleet.ports.breakers import PutBreaker
from cronfleet.ports.gates import GuardWrite, PutGate


class MemoryGates:
    """Gates with their lines. Who holds a schedule's own stands where the plain ones stand."""

    state: State

    def get_gate(self, name: GateName) -> Gate:
        return _stored_gate(self.state, name)

    def put_gate(self, gate: Gate, before: Gate) -> bool:
        stored = _stored_gate(self.state, gate.name)
        if not _is_same(stored, before):
            return stored == gate
        _put_gate(self.state, gate)
        return True

    def get_run_timer(self, key: RunKey, attempt: int) -> RunTimer | None:
        stored = self.state.run_timers.get(run_timer_key(key, attempt))
        return None if stored is None or stored.claim_batch is not None else stored

    def wake_run(self, key: RunKey, attempt: int, due_at: Instant) -> bool:
        stored = self.state.run_timers.get(run_timer_key(key, attempt))
        if stored is None or stored.claim_batch is not None or stored.due_at <= due_at:
            return False
        put_run_timer(self.state, replace(stored, due_at=due_at))
        return True


def stored_of_gates(state: State, write: GuardWrite) -> Gate | RunTimer | Breaker | None:
    """What stands where `write` is to write."""
    if isinstance(write, PutBreaker):
        return stored_breaker(state, write)
    if isinstance(write, PutGate):
        return _stored_gate(state, write.gate.name)
    return state.run_timers.get(run_timer_key(write.timer.key, write.timer.attempt))


def may_write_of_gates(write: GuardWrite, stored: Any) -> bool:
    """Whether the condition of `write` holds."""
    if isinstance(write, PutBreaker):
        return may_put_breaker(write.breaker, stored)
    if isinstance(write, PutGate):
        return isinstance(stored, Gate) and _is_same(stored, write.before)
    if not isinstance(stored, RunTimer) or stored.claim_batch != write.before.claim_batch:
        return False
    return stored.claim_batch is not None or stored.due_at == write.before.due_at


def put_of_gates(state: State, write: GuardWrite) -> None:
    """Carry `write` out."""
    if isinstance(write, PutBreaker):
        put_breaker(state, write.breaker)
    elif isinstance(write, PutGate):
        _put_gate(state, write.gate)
    else:
        put_run_timer(state, write.timer)


def _place(name: GateName) -> tuple[str, str]:
    return name.tenant, name.schedule_id or f"~{name.key}"


def _stored_gate(state: State, name: GateName) -> Gate:
    line, rev = state.gate_lines.get(_place(name), ((), 0))
    if _place(name) in state.gates:
        return Gate(name, state.gates[_place(name)], None, line, rev)
    holder, ended_at = state.gates_free_since.get(_place(name), ("", None))
    return Gate(name, holder, ended_at, line, rev)


def _is_same(stored: Gate, before: Gate) -> bool:
    return (stored.holder, stored.ended_at, stored.rev) == (before.holder, before.ended_at, before.rev)


def _put_gate(state: State, gate: Gate) -> None:
    state.gates.pop(_place(gate.name), None)
    state.gates_free_since.pop(_place(gate.name), None)
    if gate.ended_at is None:
        state.gates[_place(gate.name)] = gate.holder
    else:
        state.gates_free_since[_place(gate.name)] = (gate.holder, gate.ended_at)
    state.gate_lines[_place(gate.name)] = (gate.line, gate.rev)
