"""The promise about dependencies: each run of a parent is followed once, after all parents' ends or at the deadline,
and what comes of it is what docs/dependencies.md says.

Who runs after whom is known from the world; what became of the parents, from their own rows.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from simulator.checkers.statuses import TERMINAL
from simulator.checkers.violation import Violation
from simulator.families import KINFOLK, Family, Member
from simulator.faults import SECOND
from simulator.world import World

OWN: Final = frozenset(
    {"paused", "frozen", "tenant_suspended", "not_on", "cancelled", "too_old", "superseded", "undelivered"}
)
"""Reasons for which a run does not run whatever its parents did."""
CLOCKS: Final = 7 * SECOND
"""By how much the times that two processes write may be out of order, each up to three seconds off."""
PROMPT: Final = 3 * SECOND
"""How soon after the last parent's end a run is due."""

Rows = Mapping[tuple[str, int], Any]


def check_dependencies(world: World, family: Family, settled_at: int) -> Iterator[Violation]:
    """Of every dependant and every time."""
    rows: dict[tuple[str, int], Any] = {}
    for key, row in world.rows.items():
        if key.tenant != KINFOLK or key.cause != "schedule" or row.until_nominal_at is not None:
            continue
        if (key.schedule_id, key.nominal_at) in rows and family.members[key.schedule_id].parents:
            yield Violation(key.nominal_at, "a time has two runs of a dependant", key.run_id)
        rows[key.schedule_id, key.nominal_at] = row
    since = _created(world)
    written = {run_id: at for at, run_id, _, _ in world.history.row_writes}
    for member in family.members.values():
        yield from _check_followed(member, rows, since, settled_at)
        yield from _check_opened(world, member, rows, since[member.name])
        for (name, nominal_at), row in rows.items():
            if name == member.name and member.parents:
                yield from _check_run(world, member, nominal_at, row, rows, (since[member.name], written))


def _created(world: World) -> Mapping[str, int]:
    """When each was created."""
    found: dict[str, int] = defaultdict(lambda: 1 << 62)
    for entry in world.store.state.audit.values():
        if entry.tenant == KINFOLK and entry.action == "create":
            found[entry.schedule_id] = min(found[entry.schedule_id], entry.at)
    return found


def _check_followed(member: Member, rows: Rows, since: Mapping[str, int], settled_at: int) -> Iterator[Violation]:
    """Every run of a parent that began once the dependant was there is followed."""
    for (name, nominal_at), parent in rows.items():
        began_at = parent.started_at
        if name not in member.parents or nominal_at > settled_at or began_at is None:
            continue
        if began_at > since[member.name] + CLOCKS and (member.name, nominal_at) not in rows:
            yield Violation(began_at, "a parent's run was not followed", f"{member.name} after {parent.key.run_id}")


def _check_opened(world: World, member: Member, rows: Rows, since: int) -> Iterator[Violation]:
    """The row that waits is there before its parents' targets are called: its deadline holds whatever they do."""
    first: dict[str, int] = {}
    for at, run_id, _, _ in world.history.row_writes:
        first.setdefault(run_id, at)
    by_id = {row.key.run_id: row for row in rows.values()}
    for call in world.history.calls:
        if call.tenant != KINFOLK or call.schedule_id not in member.parents or not call.scheduled:
            continue
        parent = by_id[call.run_id]
        row = rows.get((member.name, parent.key.nominal_at))
        begun_late = (parent.started_at or 0) > since + CLOCKS
        if begun_late and row is not None and first[row.key.run_id] > call.began_at:
            yield Violation(call.began_at, "a parent was called before a row waited for it", row.key.run_id)


def _check_run(
    world: World, member: Member, nominal_at: int, row: Any, rows: Rows, known: tuple[int, Mapping[str, int]]
) -> Iterator[Violation]:
    parents = {name: rows[name, nominal_at] for name in member.parents if (name, nominal_at) in rows}
    if not parents:
        yield Violation(nominal_at, "a run that no parent named", row.key.run_id)
    joined = {name: status.value for name, status in (row.joined or {}).items()}
    for name, status in joined.items():
        if name not in parents or parents[name].status.value != status:
            yield Violation(nominal_at, "a parent is said to have ended otherwise", f"{row.key.run_id}: {joined}")
            return
    deadline = nominal_at + member.within * SECOND
    # When it was begun first, by the store's clock: a freeze may have put it off after that.
    begun_at = world.rows.started_at(row.key.run_id, 1) if row.fence else None
    if begun_at is not None:
        since, written = known
        ends = {name: written[one.key.run_id] for name, one in parents.items() if one.status.value in TERMINAL}
        # What had ended before the dependant was there is late for ever.
        ends = {name: at for name, at in ends.items() if at > since or name in joined}
        yield from _check_turn(member, deadline, begun_at, row, parents, ends)
    if begun_at is None or row.status.value in ("running", "waiting"):
        return
    yield from _check_result(world, member, row, joined)


def _check_turn(
    member: Member, deadline: int, begun_at: int, row: Any, parents: Mapping[str, Any], ends: Mapping[str, int]
) -> Iterator[Violation]:
    """Not before the last parent's end, nor the deadline; and not long after the former."""
    late = [name for name in member.parents if name not in row.joined]
    if late and begun_at < deadline - CLOCKS:
        yield Violation(begun_at, "a run did not wait for a parent", f"{row.key.run_id}: {late}")
    for name in late:
        if name in ends and ends[name] < begun_at:
            yield Violation(begun_at, "a parent's end was missed", f"{row.key.run_id}: {parents[name]}")
    if late:
        return
    if begun_at < max(ends[name] for name in member.parents):
        yield Violation(begun_at, "a run began before its parents ended", row.key.run_id)
    last_at = max(parents[name].finished_at for name in member.parents)
    if row.due_at > last_at + PROMPT:
        yield Violation(begun_at, "a run waited although its parents had ended", f"{row.key.run_id}: {row}")


def _check_result(world: World, member: Member, row: Any, joined: Mapping[str, str]) -> Iterator[Violation]:
    code = "" if row.reason is None else row.reason.code.value
    if code in OWN:
        return
    holds = _holds(member, joined)
    ran = any(call.run_id == row.key.run_id for call in world.history.calls)
    if ran and not holds and member.otherwise != "run":
        yield Violation(row.started_at or 0, "a run ran that was not to", f"{member}: {row}")
    if (holds or member.otherwise == "run") and code in ("parents", "parent_late"):
        yield Violation(row.started_at or 0, "a run was kept back that was to run", f"{member}: {row}")
    wanted = {"skip": "skipped", "fail": "dead"}.get(member.otherwise)
    if not ran and not holds and wanted is not None and row.status.value != wanted:
        yield Violation(row.started_at or 0, "a run ended otherwise than its owner said", f"{member}: {row}")


def _holds(member: Member, joined: Mapping[str, str]) -> bool:
    failed = any(end in ("dead", "refused") for end in joined.values())
    if member.on == "failure":
        return failed
    everyone = all(name in joined for name in member.parents)
    return everyone and (member.on == "finished" or all(end == "succeeded" for end in joined.values()))
