"""Deliberate faults in what a tenant may send, and in what it pays for it."""

from typing import Final

from simulator.planted_edits import Edit, Planted

_ALLOTMENT: Final = "cronfleet.domain.allotment"
_ALLOTMENTS: Final = "cronfleet.services.allotments"
_PLAN: Final = "cronfleet.domain.dispatch_plan"

RATE_FAULTS: Final = (
    Planted(
        "rate-ignored",
        "a tenant gets every place that it asks for, whatever its line says",
        (
            Edit(
                _ALLOTMENTS,
                "            drawn = self._ask(tenant_id, pace, count, pace.ceiling(until))\n",
                "            drawn = self._ask(tenant_id, pace, count, None)\n",
            ),
            Edit(
                _ALLOTMENTS,
                "                ceiling = pace.ceiling(self.now + AHEAD)\n",
                "                ceiling = None\n",
            ),
        ),
        always=("tight_rate",),
    ),
    Planted(
        "deferred-again-and-again",
        "a fire whose place is reserved has to ask for another when that has come",
        (
            Edit(
                _ALLOTMENT,
                "        return self.item.reserved_at is not None and self.due > 0",
                "        return False",
            ),
        ),
        always=("tight_rate",),
    ),
    Planted(
        "what-waits-behind-is-dropped",
        "a claim that has places for some of its fires goes on behind those that have none",
        (
            Edit(
                _PLAN,
                "    fires, following = _due_fires(timer, first, now + look_ahead, most)\n",
                "    fires, following = _due_fires(timer, first, now + look_ahead, most)\n"
                "    if fires:\n"
                "        following = _fire(timer, timer.trigger.next_after(max(now, fires[-1].nominal_at)))\n",
            ),
        ),
    ),
)
