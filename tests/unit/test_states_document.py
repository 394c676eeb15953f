"""docs/states.md is what the code does: every table in it is drawn here from the code and compared."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cronfleet.domain.attempt import (
    Admission,
    Admit,
    Drop,
    End,
    Refuse,
    Result,
    StartDecision,
    decide_admission,
    decide_finish,
    decide_start,
    handed_over,
)
from cronfleet.domain.execution import Execution
from cronfleet.domain.freeze import Freeze, TenantScope
from cronfleet.domain.instant import DAY, MINUTE, SECOND
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.reason import Code
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import MOVES, TERMINAL, Attempt, Outcome, Run, RunKey, RunMessage, RunStatus
from cronfleet.domain.schedule import TRANSITIONS, Change, Status, Timer
from tests.support.builders import at, cron, message, timer

DOCUMENT = Path(__file__).parents[2] / "docs" / "states.md"
TWO = at("2026-12-01 02:00")
NOW = TWO + 10 * MINUTE

Table = list[list[str]]


# --- schedules -------------------------------------------------------------------------------------------------


def schedule_moves() -> Table:
    rows = [["status", *(change.value for change in Change)]]
    for status in Status:
        after = [TRANSITIONS.get((status, change)) for change in Change]
        rows.append([status.value, *("" if one is None else one.value for one in after)])
    return rows


# --- runs ------------------------------------------------------------------------------------------------------


def run_moves() -> Table:
    rows = [["from", "to"]]
    for status, after in MOVES.items():
        names = ", ".join(one.value for one in RunStatus if one in after)
        rows.append(["(no row)" if status is None else status.value, names or "(terminal)"])
    return rows


def made(status: RunStatus, *, attempts: int = 0, lease_until: int | None = None) -> Run:
    """A row as it stands ten minutes after two."""
    past = tuple(
        Attempt(n, n, f"owner{n}", TWO, TWO, Outcome.FAILED, "failed")
        if n < attempts or status is not RunStatus.RUNNING
        else Attempt(n, n, f"owner{n}", TWO)
        for n in range(1, attempts + 1)
    )
    retry_at = NOW if status is RunStatus.WAITING else None
    return Run(
        message(TWO).key, status, TWO, "standard", 1, 1, attempts=past, fence=attempts,
        lease_until=lease_until, retry_at=retry_at, started_at=TWO if attempts else None,
    )  # fmt: skip


STORED: dict[str, Run | None] = {
    "no row": None,
    "queued": made(RunStatus.QUEUED),
    "running, its lease is live": made(RunStatus.RUNNING, attempts=1, lease_until=NOW + SECOND),
    "running, its lease has ended": made(RunStatus.RUNNING, attempts=1, lease_until=NOW),
    "running, and handed over to go on elsewhere": handed_over(
        made(RunStatus.RUNNING, attempts=1), Execution(TWO, TWO)
    ),
    "waiting for attempt 2, due": made(RunStatus.WAITING, attempts=1),
    "waiting for attempt 2, not yet due": replace(made(RunStatus.WAITING, attempts=1), retry_at=NOW + SECOND),
    "terminal": made(RunStatus.SUCCEEDED, attempts=1),
}
MESSAGES: dict[str, RunMessage] = {
    "attempt 1": message(TWO),
    "attempt 2": message(TWO, attempt=2, due_at=NOW),
    "attempt 3": message(TWO, attempt=3, due_at=NOW),
    "any, claimed more than 15 days ago": message(TWO, claimed_at=NOW - 16 * DAY),
}


def start_decisions() -> Table:
    rows = [["stored row", *MESSAGES]]
    for name, row in STORED.items():
        rows.append([name, *(_start(row, decide_start(row, one, "me", NOW)) for one in MESSAGES.values())])
    return rows


def _start(row: Run | None, decision: StartDecision) -> str:
    if isinstance(decision, Drop):
        return f"drop: {decision.reason.code}"
    if isinstance(decision, Refuse):
        return f"refuse: {decision.run.reason.code if decision.run.reason else ''}"
    taken = row is not None and row.status is RunStatus.RUNNING
    return f"{'take over' if taken else 'start'} as attempt {decision.run.attempt}"


def test_every_terminal_row_is_decided_on_as_the_table_says_of_one() -> None:
    for status in TERMINAL:
        for one in MESSAGES.values():
            decision = decide_start(made(status), one, "me", NOW)
            assert isinstance(decision, Drop)
            assert decision.reason.code is Code.FINISHED


# --- admission -------------------------------------------------------------------------------------------------


def schedule(status: Status = Status.ACTIVE, **changes: object) -> Timer:
    return timer(cron("0 2 * * *"), TWO + DAY, status=status, version=4, **changes)


SCHEDULES: dict[str, Timer | None] = {
    "gone": None,
    **{status.value: schedule(status) for status in Status},
    "active, its trigger changed (or it was resumed) before the fire was due": schedule(
        epoch=2, epoch_starts=(0, TWO - 1)
    ),
    "active, its trigger changed (or it was resumed) when the fire was due": schedule(epoch=2, epoch_starts=(0, TWO)),
    "active, cancelled and created anew": schedule(epoch=2, epoch_starts=(0,), born_epoch=2),
}


def attempted(cause: str, attempt: int) -> Run:
    row = made(RunStatus.RUNNING, attempts=attempt, lease_until=NOW + MINUTE)
    return replace(row, key=RunKey("acme", "nightly", 1, TWO, cause), version=3)


ATTEMPTS: dict[str, Run] = {
    "schedule, first": attempted("schedule", 1),
    "schedule, later": attempted("schedule", 2),
    "other causes, first": attempted("manual-7", 1),
    "pinned, first": replace(attempted("rerun-7", 1), is_pinned=True),
    "other causes, later": attempted("manual-7", 2),
}


FREEZE = Freeze("f1", TenantScope("acme"), "ada", TWO - MINUTE)
WANTS_THE_NEWEST = Misfire(MisfirePolicy.FIRE_ONCE)
FROZEN: dict[str, tuple[Timer, Freeze]] = {
    "active, frozen": (schedule(), FREEZE),
    "active, frozen, and what a pause held back is wanted (`after_pause`)": (
        schedule(after_pause=WANTS_THE_NEWEST),
        FREEZE,
    ),
    "paused, frozen": (schedule(Status.PAUSED), FREEZE),
    "active, thawed": (schedule(), replace(FREEZE, until=NOW)),
}


def admissions() -> Table:
    rows = [["schedule", *ATTEMPTS]]
    cases: dict[str, tuple[Timer | None, tuple[Freeze, ...]]] = {
        **{name: (held, ()) for name, held in SCHEDULES.items()},
        **{name: (held, (freeze,)) for name, (held, freeze) in FROZEN.items()},
    }
    for name, (held, freezes) in cases.items():
        decided = (decide_admission(run, held, NOW, freezes) for run in ATTEMPTS.values())
        rows.append([name, *map(_admission, decided)])
    return rows


def _admission(admission: Admission) -> str:
    if isinstance(admission, Admit):
        return {4: "runs, current version", 3: "runs, its version"}[admission.version]
    if isinstance(admission, End):
        return f"{admission.status}: {admission.reason.code}"
    return f"waits: {admission.reason.code}"


# --- the end of an attempt -------------------------------------------------------------------------------------

FAILED = Result(Outcome.FAILED, "no")
ENDS: dict[str, tuple[Result, Retry]] = {
    "succeeded": (Result(Outcome.SUCCEEDED), Retry()),
    "failed, attempts are left": (FAILED, Retry(max_attempts=2)),
    "timed out, attempts are left": (Result(Outcome.TIMED_OUT, "late"), Retry(max_attempts=2)),
    "interrupted, ten times at most": (Result(Outcome.INTERRUPTED), Retry(max_attempts=1)),
    "failed or timed out, it was the last": (FAILED, Retry(max_attempts=1)),
    "failed in a way that no retry can mend": (replace(FAILED, retryable=False), Retry(max_attempts=2)),
}


def ends() -> Table:
    rows = [["the attempt", "the run", "reason"]]
    for name, (result, retry) in ENDS.items():
        after = decide_finish(made(RunStatus.RUNNING, attempts=1, lease_until=NOW), result, retry, NOW)
        rows.append([name, after.status.value, after.reason.code.value if after.reason else ""])
    return rows


# --- the document ----------------------------------------------------------------------------------------------

TABLES: dict[str, Callable[[], Table]] = {
    "Schedules": schedule_moves,
    "Runs": run_moves,
    "Starting a run": start_decisions,
    "Admission": admissions,
    "The end of an attempt": ends,
}


def table_under(heading: str) -> Table:
    section = DOCUMENT.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [rows[0], *rows[2:]]


def drawn(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, to be pasted when the code has changed."""
    head, *rest = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([head, "|" + " --- |" * len(rows[0]), *rest])


@pytest.mark.parametrize("heading", TABLES)
def test_the_document_says_what_the_code_does(heading: str) -> None:
    expected = TABLES[heading]()
    assert table_under(heading) == expected, f"docs/states.md, {heading}, should read:\n{drawn(expected)}"
