"""Holds: an installation in which nothing is claimed, or nothing is done at all, until it is released.

A hold belongs to one region's installation, not to its data: where tables are replicated both regions read both items,
and each goes by its own. One that is deployed as a standby is held until it is released by name, whatever a copy of
the data says. Not to be confused with a schedule that is held (imported, and not yet on).
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from cronfleet.domain.errors import Conflict
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant, to_text

MAX_ENDED: Final = 20
"""Holds that have ended and are still known, the latest: what fell into one is explained by it."""

KEPT_ENDED: Final = 35 * DAY
"""How long they are known: no outage is longer than what a backup reaches back to."""

TAKEOVER: Final = 1_000_000
"""By so much the fences of shards rise when a standby is released: past all that the other region can have drawn and
that has not arrived here. A shard draws 17,280 a day.
"""

MAY_LACK: Final = HOUR
"""How far before the last that has arrived of the other region's dispatchers something may be that has not."""

JUST_ENDED: Final = 2 * MINUTE
"""For so long after a release nobody is told that fires are late: the scheduler is about to see to them."""

DEPLOYMENT: Final = "deployment"
"""Who holds an installation that was deployed as a standby."""

SHORTEST_REST: Final = 10 * SECOND
LONGEST_REST: Final = 15 * MINUTE
"""How long a run queue's message rests that came to a standby: a quarter of the time that the hold has lasted, not less
and not more than these."""
_SHARE: Final = 4


class Mode(StrEnum):
    """What a hold leaves."""

    DRAIN = "drain"
    """Nothing is claimed; what was claimed starts, and runs to its end. For an update."""
    STANDBY = "standby"
    """Nothing starts, and no part writes anything but the API the release; what runs ends. For a second region."""


@dataclass(frozen=True, slots=True)
class Here:
    """Which installation a process belongs to: its region, and the name under which it was deployed as a standby."""

    region: str = ""
    standby: str = ""


ANYWHERE: Final = Here()
"""Where nobody has said."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing is claimed from `at` until `until` (`None`: until it is released): who said so, and why."""

    hold_id: str
    mode: Mode
    by: str
    at: Instant
    reason: str = ""
    until: Instant | None = None
    released_by: str = ""
    released_why: str = ""

    @property
    def is_standby(self) -> bool:
        """Whether nothing starts at all."""
        return self.mode is Mode.STANDBY

    def covers(self, first_at: Instant, last_at: Instant) -> bool:
        """Whether it was in force at any time from `first_at` to `last_at`."""
        return self.at <= last_at and (self.until is None or first_at < self.until)

    def rest(self, now: Instant) -> int:
        """How long a message rests that nobody may start, in ms."""
        return min(max((now - self.at) // _SHARE, SHORTEST_REST), LONGEST_REST)


@dataclass(frozen=True, slots=True)
class Switch:
    """The one small item that says how a region's installation is held. `rev` rises with each write.

    `let_go` is the name of the standby that was last released; `ended` are holds that ended, oldest first.
    """

    region: str = ""
    hold: Hold | None = None
    ended: tuple[Hold, ...] = ()
    let_go: str = ""
    rev: int = 0
    change_id: str = ""

    def in_force(self, here: Here) -> Hold | None:
        """What holds the installation that is `here`, whose switch this is."""
        if here.standby and here.standby != self.let_go and (self.hold is None or not self.hold.is_standby):
            return deployed_hold(here.standby)
        return self.hold

    def just_ended(self, now: Instant) -> bool:
        """Whether it was released so lately that what is overdue is about to be seen to."""
        return any(hold.until is not None and now < hold.until + JUST_ENDED for hold in self.ended)


def deployed_hold(name: str) -> Hold:
    """The hold of an installation that was deployed as the standby `name`: since ever."""
    return Hold(f"standby-{name}", Mode.STANDBY, DEPLOYMENT, 0, f"deployed as the standby {name!r}")


def held(switch: Switch, here: Here, hold: Hold, *, change_id: str) -> Switch:
    """The switch with `hold` in force; one of another mode that was in force ends with it.

    `Conflict` where a standby is to be drained: it runs nothing, and would begin to.
    """
    found = switch.in_force(here)
    if found is not None and found.is_standby and not hold.is_standby:
        raise Conflict("this installation is a standby, in which nothing runs that could be drained; release it first")
    ended = () if switch.hold is None else (_ended(switch.hold, hold.at, hold.by, hold.reason),)
    kept = _kept((*switch.ended, *ended), hold.at)
    return Switch(switch.region, hold, kept, switch.let_go, switch.rev + 1, change_id)


def released(switch: Switch, here: Here, *, by: str, now: Instant, reason: str, change_id: str) -> Switch:
    """The switch with nothing in force: neither a hold nor the standby as which the installation was deployed."""
    found = switch.in_force(here)
    over = {one.hold_id: one for one in (switch.hold, found) if one is not None}
    ended = tuple(_ended(one, now, by, reason) for one in over.values())
    kept = _kept((*switch.ended, *ended), now)
    let_go = here.standby or switch.let_go
    return Switch(switch.region, None, kept, let_go, switch.rev + 1, change_id)


def _ended(hold: Hold, at: Instant, by: str, reason: str) -> Hold:
    return replace(hold, until=at, released_by=by, released_why=reason)


def _kept(ended: tuple[Hold, ...], now: Instant) -> tuple[Hold, ...]:
    return tuple(hold for hold in ended if (hold.until or 0) > now - KEPT_ENDED)[-MAX_ENDED:]


def hold_words(hold: Hold) -> str:
    """How, by whom, since when, until when and why the installation is held, or was."""
    since = f" since {to_text(hold.at)}" if hold.at else ""
    end = "" if hold.until is None else f" until {to_text(hold.until)}"
    why = f": {hold.reason}" if hold.reason else ""
    return f"the installation {'is' if hold.until is None else 'was'} held ({hold.mode}) by {hold.by}{since}{end}{why}"


def hold_detail(hold: Hold) -> dict[str, str | int]:
    """The same for machines."""
    detail: dict[str, str | int] = {"hold_id": hold.hold_id, "mode": hold.mode.value, "by": hold.by}
    if hold.at:
        detail["held_at"] = hold.at
    if hold.until is not None:
        detail["released_at"] = hold.until
    if hold.reason:
        detail["why"] = hold.reason
    return detail
