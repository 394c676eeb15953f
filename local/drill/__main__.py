"""`python -m local.drill`: sets off every alarm of a local stack, and watches each go off and end. About 15 minutes.

It does harm, so it starts a stack of its own; `--state-dir` holds it on one that runs already.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from infra.alarms import alarms
from infra.config.installation import from_context
from local.drill.causes import Cause, at_once, by_values, without_clockwork, without_dispatcher
from local.drill.stack import Drilled
from local.errors import StackError
from local.testing import running_stack

ALARM: Final = "ALARM"
OK: Final = "OK"
LOOK_SECONDS: Final = 3
BEGIN_SECONDS: Final = 900
"""Within which an alarm must have gone off after its cause: the slowest looks at five minutes."""
END_SECONDS: Final = 1_200


@dataclass(slots=True)
class Course:
    """What became of one alarm: seconds from its cause to ALARM, and from the cause's end to OK."""

    cause: Cause
    begun_at: float
    ended_at: float | None = None
    alarm_after: float | None = None
    ok_after: float | None = None


@dataclass(slots=True)
class Drill:
    """All causes, one group after the other, and what became of each alarm."""

    stack: Drilled
    courses: dict[str, Course] = field(default_factory=dict)
    _is_over: threading.Event = field(default_factory=threading.Event)
    _looked: threading.Condition = field(default_factory=threading.Condition)
    """Told after every look."""

    def hold(self, groups: Sequence[Sequence[Cause]]) -> None:
        """Cause, wait for every alarm of the group, undo; at the end wait until all is well.

        Somebody else looks meanwhile: an alarm may go off and be over while the next cause is still being made.
        """
        self._require_calm()
        looker = threading.Thread(target=self._keep_looking, daemon=True)
        looker.start()
        for group in groups:
            for cause in group:
                _say(f"now: {cause.what}")
                self.courses = self.courses | {name: Course(cause, time.monotonic()) for name in cause.alarms}
                cause.begin(self.stack)
            names = [name for cause in group for name in cause.alarms]
            self._wait(names, "alarm_after", BEGIN_SECONDS)
            for cause in group:
                cause.end(self.stack)
            for name in names:
                self.courses[name].ended_at = time.monotonic()
        _say("all is undone; waiting until every alarm is over")
        self._wait(list(self.courses), "ok_after", END_SECONDS)
        self._is_over.set()
        # The stack ends after us: nobody may be asking it then.
        looker.join()

    def _wait(self, names: Sequence[str], what: Literal["alarm_after", "ok_after"], seconds: float) -> None:
        with self._looked:
            self._looked.wait_for(lambda: all(getattr(self.courses[name], what) is not None for name in names), seconds)

    def _require_calm(self) -> None:
        """An alarm that has gone off already would tell nothing of its cause here."""
        until = time.monotonic() + END_SECONDS
        while loud := [name for name, state in self.stack.states().items() if state != OK]:
            if time.monotonic() > until:
                raise StackError(f"{', '.join(sorted(loud))} would not end: see docs/runbook.md, then drill again")
            time.sleep(LOOK_SECONDS)

    def _keep_looking(self) -> None:
        while not self._is_over.wait(LOOK_SECONDS):
            self._look()
            with self._looked:
                self._looked.notify_all()

    def _look(self) -> None:
        states, now = self.stack.states(), time.monotonic()
        for name, course in self.courses.items():
            if states.get(name) == ALARM and course.alarm_after is None:
                course.alarm_after = now - course.begun_at
                _say(f"  {name} went off after {course.alarm_after:.0f} s")
            if states.get(name) == OK and course.alarm_after is not None and course.ok_after is None:
                # What only happened once may be over before anything is undone.
                course.ok_after = 0.0 if course.ended_at is None else now - course.ended_at
                _say(f"  {name} is over")

    def report(self) -> bool:
        """Print a table of all, and answer whether every alarm went off and ended."""
        _say(f"\n{'alarm':<26} {'went off':>9} {'was over':>9}  cause")
        for name, course in sorted(self.courses.items()):
            how = course.cause.what if course.cause.is_real else f"({course.cause.what})"
            _say(f"{name:<26} {_seconds(course.alarm_after):>9} {_seconds(course.ok_after):>9}  {how}")
        whole = [one for one in self.courses.values() if one.alarm_after is not None and one.ok_after is not None]
        really = sum(one.cause.is_real for one in whole)
        _say(f"\n{len(whole)} of {len(self.courses)} alarms went off and ended, {really} by what really happened.")
        return len(whole) == len(self.courses)


def causes() -> list[list[Cause]]:
    """Every alarm once: by what really happens where there is something, by values elsewhere."""
    groups = [at_once(), without_dispatcher(), without_clockwork()]
    real = {name for group in groups for cause in group for name in cause.alarms}
    config = from_context({"local": "true"})
    groups[0] += [by_values(spec) for spec in alarms(config) if spec.name not in real]
    return groups


def main(arguments: Sequence[str]) -> int:
    """Hold the drill; 0 when every alarm went off and ended."""
    parser = argparse.ArgumentParser(prog="python -m local.drill", description=__doc__)
    parser.add_argument("--state-dir", type=Path, help="the state folder of a running stack to hold it on")
    chosen = parser.parse_args(arguments)
    if chosen.state_dir is not None:
        return _held(chosen.state_dir)
    with tempfile.TemporaryDirectory() as folder, running_stack(Path(folder), "--quiet"):
        return _held(Path(folder))


def _held(state: Path) -> int:
    drill = Drill(Drilled(state))
    drill.hold(causes())
    return 0 if drill.report() else 1


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.0f} s"


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
