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
