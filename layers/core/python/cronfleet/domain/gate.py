"""Gates: one run at a time of a schedule, or of all a tenant's schedules with the same concurrency key.

A gate has a holder, which keeps it until it is terminal, and a line of runs that wait for it. Whoever lets go wakes the
first of the line; the others do not ask meanwhile. `decide_entry` and `left` are pure; `services/gates.py` reads the
gate and the rows that matter, asks, and writes the gate on the condition that it is still as it was read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from cronfleet.domain.instant import EARLIEST, MINUTE, SECOND, Instant
from cronfleet.domain.overlap import Overlap, in_the_way, waits_already, waits_for
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.schedule import Timer

MAX_LINE: Final = 50
"""Runs that have a place in a gate's line: about 4 KB. Others look again by themselves."""

LEAST_WAIT: Final = 30 * SECOND
LONGEST_WAIT: Final = 15 * MINUTE
"""Between these a run that waits looks again, should nobody wake it: when its predecessor's lease or backoff ends."""

SHORT_WAIT: Final = SECOND
"""How long a run waits that only came too early, or met too many others at the gate."""


@dataclass(frozen=True, slots=True)
class GateName:
    """Whose gate: a schedule's own, or with `key` that of the tenant's schedules with this concurrency key."""

    tenant: str
    schedule_id: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A place in the line: the run, and the number of the attempt that waits."""

    run_id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Gate:
    """Who holds it, or held it until `ended_at`. `rev` rises with each write that knows of the line."""

    name: GateName
    holder: str = ""
    ended_at: Instant | None = None
    line: tuple[Waiting, ...] = ()
    rev: int = 0

    @property
    def is_held(self) -> bool:
        """Whether nobody has said yet that its holder is over."""
        return bool(self.holder) and self.ended_at is None

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The runs that it names."""
        ahead = (self.holder,) if self.is_held else ()
        return (*ahead, *(one.run_id for one in self.line))


def gate_of(timer: Timer) -> GateName | None:
    """The gate that runs of a schedule go through; `None` for one whose runs may overlap."""
    if timer.concurrency_key:
        return GateName(timer.tenant, key=timer.concurrency_key)
    return None if timer.overlap is Overlap.ALLOW else GateName(timer.tenant, timer.schedule_id)


def is_plain(timer: Timer) -> bool:
    """Whether nobody ever waits at the schedule's gate: what finds it held is skipped."""
    return timer.overlap is Overlap.SKIP and not timer.concurrency_key


@dataclass(frozen=True, slots=True)
class Enter:
    """Write `gate`; the run holds it then."""

    gate: Gate


@dataclass(frozen=True, slots=True)
class Skip:
    """The run is skipped for `reason`."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Queue:
    """The run waits until it is woken, at the latest until `until`; `gate` has its place (unchanged: it had one, or
    gets none). The runs in `cancels` are to be cancelled for it.
    """

    gate: Gate
    until: Instant
    reason: Reason
    cancels: tuple[str, ...] = ()


Entry: TypeAlias = Enter | Skip | Queue


def decide_entry(gate: Gate, run: Run, overlap: Overlap, rows: Mapping[str, Run], now: Instant) -> Entry:
    """What a started `run` may do at `gate`. `rows` are those of the runs that the gate names, as far as there are."""
    me, began_at = run.key.run_id, run.attempts[-1].started_at
    freed_at = _freed_at(gate, me, rows)
    line = tuple(one for one in gate.line if one.run_id == me or still_waits(one, rows.get(one.run_id)))
    place = next((number for number, one in enumerate(line) if one.run_id == me), None)
    # Whose retry comes has held the gate all along: those in line wait for it, and it for none of them.
    is_mine = gate.is_held and gate.holder == me
    ahead = () if is_mine else line if place is None else line[:place]
    if freed_at is not None and not ahead and freed_at <= began_at:
        others = tuple(one for one in line if one.run_id != me)
        return Enter(replace(gate, holder=me, ended_at=None, line=others, rev=gate.rev + 1))
    blocker = gate.holder if freed_at is None or not ahead else ahead[0].run_id
    if place is None:
        refusal = _refusal(overlap, run.key, blocker, line)
        if refusal is not None:
            return Skip(refusal)
    if freed_at is not None and not ahead:
        # It is free; but this attempt began before, and the history would show the two side by side.
        return Queue(gate, now + SHORT_WAIT, waits_for(blocker))
    is_new = place is None and overlap is Overlap.CANCEL_OTHER
    cancels = _cancelled(overlap, gate.holder if freed_at is None else "", line if is_new else ())
    placed = _placed(() if is_new else line, Waiting(me, run.attempt))
    after = gate if placed == gate.line else replace(gate, line=placed, rev=gate.rev + 1)
    return Queue(after, _look_again(rows.get(blocker), now), waits_for(blocker), cancels)


def still_waits(place: Waiting, row: Run | None) -> bool:
    """Whether a run will still come for its place; one that is held back by something else takes a new one later."""
    if row is None or row.is_terminal or row.attempt > place.attempt:
        return False
    return row.status is not RunStatus.WAITING or (row.reason is not None and row.reason.code is Code.OVERLAP)


def _freed_at(gate: Gate, me: str, rows: Mapping[str, Run]) -> Instant | None:
    """Since when nobody but `me` holds the gate; `None` while another does."""
    if not gate.is_held or gate.holder == me:
        return EARLIEST if gate.ended_at is None else gate.ended_at
    row = rows.get(gate.holder)
    # Its release was lost; the row was there before it took the gate.
    return EARLIEST if row is None else row.finished_at


def _refusal(overlap: Overlap, key: RunKey, blocker: str, line: Sequence[Waiting]) -> Reason | None:
    if overlap is Overlap.SKIP:
        return in_the_way(blocker)
    if overlap is not Overlap.BUFFER_ONE:
        return None
    own = [one.run_id for one in line if _schedule_of(one) == (key.tenant, key.schedule_id)]
    if own:
        return waits_already(own[0])
    return waits_already(line[0].run_id) if len(line) >= MAX_LINE else None


def _schedule_of(place: Waiting) -> tuple[str, str]:
    key = RunKey.parse(place.run_id)
    return key.tenant, key.schedule_id


def _cancelled(overlap: Overlap, holder: str, line: Sequence[Waiting]) -> tuple[str, ...]:
    if overlap is not Overlap.CANCEL_OTHER:
        return ()
    return (*((holder,) if holder else ()), *(one.run_id for one in line))


def _placed(line: tuple[Waiting, ...], own: Waiting) -> tuple[Waiting, ...]:
    if any(one.run_id == own.run_id for one in line):
        return tuple(own if one.run_id == own.run_id else one for one in line)
    return (*line, own) if len(line) < MAX_LINE else line


def _look_again(row: Run | None, now: Instant) -> Instant:
    """When to look by oneself: not before what is in the way may be over, or its worker be found dead."""
    until = now if row is None else (row.lease_until or row.retry_at or now)
    return now + min(max(until + MINUTE - now, LEAST_WAIT), LONGEST_WAIT)


def left(gate: Gate, run_id: str, ended_at: Instant | None) -> Gate:
    """The gate after `run_id` left the line, and with `ended_at` let go as well; the same if it had neither."""
    line = tuple(one for one in gate.line if one.run_id != run_id)
    lets_go = ended_at is not None and gate.is_held and gate.holder == run_id
    if line == gate.line and not lets_go:
        return gate
    return replace(gate, line=line, ended_at=ended_at if lets_go else gate.ended_at, rev=gate.rev + 1)
