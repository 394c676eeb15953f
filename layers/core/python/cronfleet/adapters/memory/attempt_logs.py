"""`AttemptLogStore` in memory."""

from cronfleet.adapters.memory.state import State
from cronfleet.domain.attempt_log import AttemptLog
from cronfleet.domain.run import RunKey


class MemoryAttemptLogs:
    """One log per attempt that said something."""

    state: State

    def put_log(self, log: AttemptLog) -> None:
        self.state.attempt_logs[log.key, log.attempt] = log

    def get_log(self, key: RunKey, attempt: int) -> AttemptLog | None:
        return self.state.attempt_logs.get((key, attempt))

    def forget_log(self, key: RunKey, attempt: int) -> None:
        self.state.attempt_logs.pop((key, attempt), None)
