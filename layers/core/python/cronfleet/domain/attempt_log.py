"""Attempt logs: the end of what an attempt said, kept with it, and where all of it stands.

The whole of it goes to the function's own log. What is kept here is enough to see what a run was about when it ended,
without the AWS console, and no more: a write is charged by its size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from cronfleet.domain.instant import Instant
from cronfleet.domain.run import ROW_LIFE_DAYS, RunKey

MAX_LINES: Final = 200
MAX_LOG_BYTES: Final = 16 * 1024
"""Of all kept lines' texts together, in UTF-8."""
MAX_LINE_CHARACTERS: Final = 2_000
"""Of one line; of a longer one its beginning is kept."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line: when it was said, how grave it is (INFO, ERROR, …), and what it says."""

    at: Instant
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Where the function's whole log is, in CloudWatch Logs; `stream` and `request_id` may be unknown (empty)."""

    region: str
    group: str
    stream: str = ""
    request_id: str = ""

    def url(self, run_id: str) -> str:
        """The console's page with the lines of `run_id`, or of the request where that is what lines carry."""
        base = f"https://{self.region}.console.aws.amazon.com/cloudwatch/home?region={self.region}"
        where = f"#logsV2:log-groups/log-group/{_twice(self.group)}/log-events"
        stream = f"/{_twice(self.stream)}" if self.stream else ""
        return f"{base}{where}{stream}$3FfilterPattern$3D{_twice(chr(34) + (self.request_id or run_id) + chr(34))}"


@dataclass(frozen=True, slots=True)
class AttemptLog:
    """What is kept of one attempt's log. `is_whole`: nothing was said before the first of `lines`."""

    key: RunKey
    attempt: int
    kept_at: Instant
    lines: tuple[LogLine, ...]
    is_whole: bool = True
    place: LogPlace | None = None
    kept_days: int = ROW_LIFE_DAYS


def tail_of(lines: Sequence[LogLine]) -> tuple[tuple[LogLine, ...], bool]:
    """The newest of `lines` that are kept, and whether those are all."""
    kept: list[LogLine] = []
    left = MAX_LOG_BYTES
    for line in reversed(lines[-MAX_LINES:]):
        left -= len(line.text.encode("utf-8", "replace"))
        if left < 0:
            break
        kept.append(line)
    return tuple(reversed(kept)), len(kept) == len(lines)


def _twice(text: str) -> str:
    """As the console writes it: percent-encoded twice, with `$` for the outer `%`."""
    return quote(quote(text, safe=""), safe="").replace("%", "$")
