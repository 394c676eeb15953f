"""The drill of alarms: how it ends."""

import threading
from typing import Any

import pytest

from local.drill import __main__ as drill
from local.drill.causes import Cause

LONG = 30


class Slow:
    """A stack whose alarms take until `may_answer` to be read once the drill has begun."""

    def __init__(self) -> None:
        self.is_asked, self.may_answer, self.asking = threading.Event(), threading.Event(), 0

    def states(self) -> dict[str, str]:
        if threading.current_thread() is threading.main_thread():
            return {}
        self.asking += 1
        self.is_asked.set()
        assert self.may_answer.wait(LONG)
        self.asking -= 1
        return {}


def test_when_a_drill_is_over_nobody_asks_its_stack_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drill, "LOOK_SECONDS", 0)
    stack: Any = Slow()

    def begin(_stack: Any) -> None:
        assert stack.is_asked.wait(LONG)
        threading.Timer(0.1, stack.may_answer.set).start()

    drill.Drill(stack).hold([[Cause("nothing", (), begin)]])
    assert stack.asking == 0


class Obedient:
    """A stack whose one alarm stands as the drill has put it."""

    def __init__(self) -> None:
        self.state = drill.OK

    def states(self) -> dict[str, str]:
        return {"late": self.state}


def test_a_drill_goes_on_as_soon_as_its_alarms_have_gone_off_and_ends_when_they_are_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drill, "LOOK_SECONDS", 0.01)
    stack: Any = Obedient()
    cause = Cause(
        "it is late",
        ("late",),
        lambda made: setattr(made, "state", drill.ALARM),
        lambda made: setattr(made, "state", drill.OK),
    )
    held = drill.Drill(stack)
    held.hold([[cause]])
    assert held.report()
