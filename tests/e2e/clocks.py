"""The clocks of a stack's functions, each shifted by a file of its own while the function runs, and what came of it."""

import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.aws import Aws
from local.start import LIVE
from local.testing import StackProcess
from tests.e2e import victims
from tests.e2e.callers import now
from tests.support import faketime

FUNCTIONS = (*victims.CONTROL, "worker-standard")
BORNE = (1, -1)
"""Seconds that a clock may be wrong by: everything goes on."""

TOLERANCE = 2_050
"""Milliseconds by which the times that two functions write may differ while both clocks are borne."""

REFUSED = (30, -30, 3_600)
"""Seconds by which it does nothing, alarms, and goes on once the clock is right again."""

IN_HAND_MS = 5_000
"""What was decided before a clock jumped may be carried to its end so much longer, and asked again where the store was
silent.
"""

ALARM = "clock_skewed"
HEARD_TO_MS = 3_000
"""How far the skew that a process hears may be from the true one: a header has whole seconds, an answer takes time."""

TIMELESS = frozenset({"authorizer"})
"""What it answers does not depend on the time, so a wrong clock is nothing to it."""

READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "GetSecretValue"})
GIVES_BACK = {"worker-standard": "SendMessageBatch"}
"""A message that came to a worker whose clock is wrong is left to another one."""

SHIFTED = Path(__file__).parent / "shifted"


@dataclass
class Shift:
    """From `since` to `until` (right time, milliseconds) a function's clock was wrong by so many seconds."""

    function: str
    seconds: int
    since: int
    until: int | None = None

    @property
    def is_refused(self) -> bool:
        """Whether nothing may be done under it."""
        return self.seconds in REFUSED

    def covers(self, moment: int) -> bool:
        """Whether the clock was wrong by then, and still was so long after it as work may be in hand."""
        return self.since <= moment and (self.until is None or moment + IN_HAND_MS <= self.until)


class Clocks:
    """Every function's clock; right until it is shifted."""

    def __init__(self, stack: StackProcess, library: Path) -> None:
        self.shifts: list[Shift] = []
        self.alarmed: set[tuple[str, int]] = set()
        """Which function was heard to alarm under which shift."""
        self._stack = stack
        self._library = library
        self._folder = stack.state / "clocks"
        self._folder.mkdir(exist_ok=True)

    def fit(self) -> None:
        """Let each process of a function that starts from now on look at its function's file."""
        client = Aws(self._stack.facts["emulator"]).client("lambda")
        for name in FUNCTIONS:
            function = f"cronfleet-{name}"
            variables = client.get_function_configuration(FunctionName=function)["Environment"]["Variables"]
            variables |= self._variables(name)
            client.update_function_configuration(FunctionName=function, Environment={"Variables": variables})
            # Everything reaches a function by its alias, and so a version as it was published.
            version = client.publish_version(FunctionName=function)["Version"]
            client.update_alias(FunctionName=function, Name=LIVE, FunctionVersion=version)

    def shift(self, name: str, seconds: int) -> None:
        """From now on the clock of a function is wrong by so much; 0 makes it right."""
        current = self.of(name)
        if current is not None:
            current.until = now()
        new = self._folder / f"{name}.new"
        new.write_text(f"{seconds:+d}\n")
        new.rename(self._file(name))
        if seconds:
            self.shifts.append(Shift(name, seconds, now()))

    def of(self, name: str) -> Shift | None:
        """What a function's clock is wrong by at present; `None` when it is right."""
        return next((shift for shift in self.shifts if shift.function == name and shift.until is None), None)

    def _file(self, name: str) -> Path:
        return self._folder / name

    def _notes(self, name: str) -> Path:
        return self._folder / f"{name}.notes"

    def _variables(self, name: str) -> dict[str, str]:
        return {
            **faketime.environment(self._library, self._file(name)),
            "PYTHONPATH": str(SHIFTED),
            "SHIFTED_ANCHOR_NS": str(time.time_ns() - time.monotonic_ns()),
            "SHIFTED_NOTES": str(self._notes(name)),
        }

    # --- what came of it ---------------------------------------------------------------------------------------

    def complaints(self) -> Iterator[str]:
        """Who did something although its clock was wrong, and who did not alarm."""
        self.listen()
        for name in FUNCTIONS:
            yield from self._deeds(name)
        for name, seconds in sorted(self._called() & self._unheard()):
            yield f"{name}: its clock was wrong by {seconds} s, and it did not alarm"

    def listen(self) -> None:
        """Look for the alarms that are still to come: the stack keeps log lines ten minutes, and not over a restart."""
        logs = Aws(self._stack.facts["emulator"])
        for name in {name for name, _ in self._unheard()}:
            since = min(shift.since for shift in self._refused(name))
            group = f"/aws/lambda/cronfleet-{name}"
            lines = logs.all(
                "logs", "filter_log_events", "events", logGroupName=group, startTime=since, filterPattern=ALARM
            )
            for alarm in _records(event["message"] for event in lines):
                self.alarmed |= {(name, seconds) for seconds in REFUSED if _tells_of(alarm, seconds)}

    def _unheard(self) -> set[tuple[str, int]]:
        """Which function was not heard yet to alarm under which shift."""
        refused = {(shift.function, shift.seconds) for shift in self.shifts if shift.is_refused}
        return {pair for pair in refused - self.alarmed if pair[0] not in TIMELESS}

    def _called(self) -> set[tuple[str, int]]:
        """Which function was surely called under which shift that is refused: it read after all it had in hand.

        One that nobody called has nothing to alarm of; one that knows already that its clock is wrong reads nothing.
        """
        return {
            (shift.function, shift.seconds)
            for shift in self.shifts
            if shift.is_refused and any(shift.covers(note["at"] - IN_HAND_MS) for note in self._noted(shift.function))
        }

    def _deeds(self, name: str) -> Iterator[str]:
        """What a function asked for, other than reads, while its clock was wrong."""
        for note in self._noted(name):
            request = note["request"].rpartition(".")[2]
            if request in READS or request == GIVES_BACK.get(name):
                continue
            shift = next((one for one in reversed(self._refused(name)) if one.since <= note["at"]), None)
            late = note["at"] - shift.since if shift else 0
            if shift is None or late > IN_HAND_MS:
                yield f"{name}: {request} {late} ms after its clock was wrong by {note['wrong_by_ms']} ms"

    def _refused(self, name: str) -> list[Shift]:
        return [shift for shift in self.shifts if shift.function == name and shift.is_refused]

    def _noted(self, name: str) -> Iterator[dict[str, Any]]:
        notes = self._notes(name)
        for line in notes.read_text().splitlines() if notes.exists() else ():
            yield json.loads(line)


def _records(messages: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in (line for message in messages for line in message.splitlines()):
        with contextlib.suppress(ValueError):
            record = json.loads(line)
            if isinstance(record, dict):
                yield record


def _tells_of(alarm: Mapping[str, Any], seconds: int) -> bool:
    heard = alarm.get("skew_seconds") if alarm.get("message") == ALARM else None
    return heard is not None and abs(heard - seconds) * 1_000 <= HEARD_TO_MS
