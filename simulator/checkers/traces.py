"""Traces: every message, every call of a target and the row of one run say the same trace; a request's goes on."""

from collections.abc import Iterator

from simulator.checkers.violation import Violation
from simulator.world import World


def check_traces(world: World, end_at: int) -> Iterator[Violation]:
    """A run's attempts keep one trace, and it is that of the request where a request asked for that run alone."""
    history = world.history
    for at, run_id, trace_id in history.torn:
        yield Violation(at, "a run has two traces", f"{run_id}: {history.traces[run_id]} and {trace_id}")
    for key, row in world.rows.items():
        known = history.traces.get(key.run_id)
        if known is not None and known != row.trace.trace_id:
            yield Violation(
                end_at, "a run's row says another trace", f"{key.run_id}: {row.trace.trace_id}, not {known}"
            )
        if row.carried is not None and row.trace.trace_id not in history.requests_traces:
            yield Violation(end_at, "a run goes on in nobody's trace", f"{key.run_id}: {row.trace.trace_id}")
