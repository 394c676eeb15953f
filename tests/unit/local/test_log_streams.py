"""Old log streams are deleted a few at a time: meanwhile the supervisor looks after nothing else."""

from collections import Counter
from typing import Any

import pytest

from local import log_streams
from local.log_streams import KEPT_SECONDS, TRIM_FOR, trim

GROUPS = ("/aws/lambda/api", "/aws/lambda/worker")
STREAMS = 1_000
NOW = 1_796_040_000.0
SECONDS_EACH = 0.05


class SlowLogs:
    """The emulator's log groups, in which each deletion takes its time."""

    def __init__(self) -> None:
        old = (NOW - KEPT_SECONDS - 1) * 1000
        self.streams = {group: {f"s{n}": old for n in range(STREAMS)} | {"new": NOW * 1000} for group in GROUPS}
        self.deleted: Counter[str] = Counter()
        self.passed = 0.0

    def client(self, _service: str) -> "SlowLogs":
        return self

    def all(self, _service: str, operation: str, _field: str, **arguments: Any) -> list[dict[str, Any]]:
        if operation == "describe_log_groups":
            return [{"logGroupName": group} for group in GROUPS]
        streams = self.streams[arguments["logGroupName"]]
        return [{"logStreamName": name, "lastEventTimestamp": at} for name, at in streams.items()]

    def delete_log_stream(self, *, logGroupName: str, logStreamName: str) -> None:  # noqa: N803 - as AWS has them
        del self.streams[logGroupName][logStreamName]
        self.deleted[logGroupName] += 1
        self.passed += SECONDS_EACH


def test_what_a_start_finds_of_the_last_run_is_deleted_little_by_little_and_each_group_has_its_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logs = SlowLogs()
    monkeypatch.setattr(log_streams.time, "time", lambda: NOW)
    monkeypatch.setattr(log_streams.time, "monotonic", lambda: logs.passed)
    trim(logs)  # type: ignore[arg-type]  # what it asks of AWS is all here
    assert logs.passed <= TRIM_FOR + len(GROUPS) * SECONDS_EACH
    assert len(logs.deleted) == len(GROUPS)
    for _ in range(3 * STREAMS):
        trim(logs)  # type: ignore[arg-type]  # as above
    assert [list(streams) for streams in logs.streams.values()] == [["new"], ["new"]]
