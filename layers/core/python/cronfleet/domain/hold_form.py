"""The form in which callers see holds; the audit log keeps it too."""

from cronfleet.domain.form import Form
from cronfleet.domain.hold import Here, Hold, Switch
from cronfleet.domain.instant import to_text

RUNNING = "running"
"""The status of an installation that nothing holds."""


def hold_form(hold: Hold) -> Form:
    """A hold: how, by whom, since when and until when, and who released it."""
    released = {"by": hold.released_by, "at": to_text(hold.until), "reason": hold.released_why} if hold.until else None
    return {
        "id": hold.hold_id,
        "mode": hold.mode.value,
        "by": hold.by,
        "at": to_text(hold.at) if hold.at else None,
        "reason": hold.reason,
        "released": released,
    }


def held_form(hold: Hold | None) -> Form | None:
    """The form of what holds, if anything does."""
    return None if hold is None else hold_form(hold)


def switch_form(switch: Switch, here: Here) -> Form:
    """How the installation of the switch's region is held."""
    hold = switch.in_force(here) if switch.region == here.region else switch.hold
    return {
        "region": switch.region,
        "status": RUNNING if hold is None else hold.mode.value,
        "hold": held_form(hold),
        "ended": [hold_form(one) for one in switch.ended],
    }
