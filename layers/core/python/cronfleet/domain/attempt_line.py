"""The line that a log has of each attempt: which ones there are, and how much of an error may stand in it."""

import re
from dataclasses import dataclass
from typing import Final

from cronfleet.domain.run import Run, RunStatus
from cronfleet.domain.span import DEFAULT_LATE_SECONDS, is_late, went_wrong
from cronfleet.domain.trace import is_sampled

MAX_PAYLOAD_SHOWN: Final = 2_000
"""Characters of a payload in a line, where payloads were asked for."""

_KIND: Final = re.compile(r"(HTTP \d{3}|[A-Za-z_][A-Za-z0-9_.]{0,63}(?=:|$))", re.ASCII)
_OTHER: Final = "error"


@dataclass(frozen=True, slots=True)
class Lines:
    """Of successes the share `success_ratio` has a line, by their trace, so that traces and lines go together.

    Whatever failed, did not run, or was later than `late_seconds` always has one. `with_details`: what jobs and targets
    said of an error, and payloads, stand in the lines as well.
    """

    success_ratio: float = 1.0
    late_seconds: int = DEFAULT_LATE_SECONDS
    with_details: bool = False

    def tells(self, run: Run) -> bool:
        """Whether the attempt of `run` that has just ended has a line."""
        return self._always(run) or is_sampled(run.trace.trace_id, self.success_ratio)

    def weight(self, run: Run) -> float:
        """For how many attempts its line stands: whoever adds lines up adds up their weights."""
        return 1.0 if self._always(run) or not self.success_ratio else round(1 / self.success_ratio, 3)

    def _always(self, run: Run) -> bool:
        return run.status is not RunStatus.SUCCEEDED or went_wrong(run) or is_late(run, self.late_seconds)


def error_kind(error: str | None) -> str:
    """`HTTP 503` of `HTTP 503: no bill 4711`, `ValueError` of `ValueError: no bill 4711`; of all else `error`.

    Messages of exceptions and bodies of answers may hold a payload, or worse: they are kept with the run, which its
    tenant sees, and no log and no span has them unasked.
    """
    if not error:
        return ""
    found = _KIND.match(error)
    return found[0] if found else _OTHER
