"""The table: one row for each peer, the same cells for the terminal, for Markdown and, as values, for JSON."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from rich.table import Table

from benchmarks import marked
from benchmarks.peers.canned import SOCKETS, Canned
from benchmarks.peers.catalogue import Peer, server_version, versions
from benchmarks.peers.passes import Pass
from benchmarks.peers.record import percentile

CRONFLEET: Final = "cronfleet"

NOTHING: Final = "–"
ONE_PROCESS: Final = " †"
HEADINGS: Final = (
    "",
    "scheduler, CPU s",
    "× Cronfleet on the emulator",
    "× Cronfleet over sockets",
    "worker, CPU s",
    "server, CPU s",
    "requests a firing",
    "last handed over, s",
    "lag p50, s",
    "lag p99, s",
    "killed: lost",
    "doubled",
    "stuck",
)
CAPTION: Final = (
    "CPU for 1,000 firings, from shortly before the herd was due until it was through; × is the scheduler's, as a "
    "multiple of Cronfleet's in either of two rows. † scheduler and worker are one process: its figure holds "
    "both. The last three are of a second pass, with SIGKILL of the scheduler (and of the worker where they are "
    "one) in the middle of the herd, started again at once."
)


@dataclass(frozen=True, slots=True)
class Row:
    """A peer's two passes, or the reason why there is none."""

    peer: Peer
    clean: Pass | None = None
    killed: Pass | None = None
    reason: str = ""

    @property
    def seconds(self) -> float:
        """CPU seconds of the scheduler for 1,000 firings; not a number without a pass."""
        return math.nan if self.clean is None else _per_thousand(self.clean.spent.scheduler, self.clean)


def _per_thousand(seconds: float, one: Pass) -> float:
    return seconds * 1_000 / max(1, one.tally.ran)


@dataclass(frozen=True, slots=True)
class Yardsticks:
    """CPU seconds of Cronfleet's dispatcher for 1,000 firings, to which the others are set in proportion; NaN where
    nobody measured them.
    """

    emulator: float
    sockets: float

    def ratios(self, seconds: float) -> list[str]:
        """Both cells."""
        return [ratio(seconds, self.emulator), ratio(seconds, self.sockets)]


def yardsticks(rows: Sequence[Row], found: Sequence[Canned]) -> Yardsticks:
    """Those among the rows."""
    return Yardsticks(
        next((row.seconds for row in rows if row.peer.name == CRONFLEET), math.nan),
        next((one.seconds for one in found if one.title == SOCKETS), math.nan),
    )


def cells(row: Row, base: Yardsticks) -> list[str]:
    """The cells of a row."""
    peer = row.peer
    title = peer.title + ("" if peer.has_worker else ONE_PROCESS)
    return [title, *_clean_cells(row, base), *_killed_cells(row)]


def _clean_cells(row: Row, base: Yardsticks) -> list[str]:
    one = row.clean
    if one is None:
        return [NOTHING] * 9
    spent, peer = one.spent, row.peer
    worker = f"{_per_thousand(spent.worker, one):.2f}" if peer.has_worker else NOTHING
    return [
        f"{row.seconds:.2f}",
        *base.ratios(row.seconds),
        worker,
        f"{_per_thousand(spent.server, one):.2f}",
        f"{spent.requests / max(1, one.tally.ran):.2f}",
        f"{one.last:.1f}",
        f"{percentile(one.lags, 0.5):.1f}",
        f"{percentile(one.lags, 0.99):.1f}",
    ]


def ratio(seconds: float, base: float) -> str:
    """A multiple, with as many digits as it deserves."""
    if not base > 0 or math.isnan(seconds):
        return NOTHING
    return f"{seconds / base:.1f}"


def _killed_cells(row: Row) -> list[str]:
    if row.killed is None:
        return [NOTHING] * 3
    found = row.killed.tally
    return [f"{found.lost:,}", f"{found.doubled:,}", f"{found.stuck:,}"]


def canned_cells(one: Canned, base: Yardsticks) -> list[str]:
    """The row of the dispatcher with canned answers."""
    cpu = [f"{one.seconds:.2f}", *base.ratios(one.seconds), NOTHING, NOTHING]
    return [one.title, *cpu, f"{one.requests:.2f}", *[NOTHING] * 6]


def all_cells(rows: Sequence[Row], found: Sequence[Canned]) -> list[list[str]]:
    """Every row of the table, Cronfleet's first."""
    base = yardsticks(rows, found)
    return [*(canned_cells(one, base) for one in found), *(cells(row, base) for row in rows)]


def rich_table(rows: Sequence[Row], found: Sequence[Canned]) -> Table:
    """For the terminal."""
    table = Table(caption=CAPTION, caption_justify="left")
    for place, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="right" if place else "left", overflow="fold")
    for line in all_cells(rows, found):
        table.add_row(*line)
    return table


def notes(rows: Sequence[Row], found: Sequence[Canned]) -> list[str]:
    """For each peer what it stores, its version, and its knobs; and why one has no figures."""
    return [*(f"{one.title}: {one.includes}" for one in found), *(note(row) for row in rows)]


def note(row: Row) -> str:
    """One peer's line."""
    peer = row.peer
    text = (
        f"{peer.title} ({versions(peer.packages)}; {server_version(peer.server)}). {peer.driven} "
        f"Stores: {peer.stores} Set: {'; '.join(peer.knobs)}."
    )
    if row.killed is not None and row.killed.killed_at is not None:
        text += (
            f" Killed when {row.killed.killed_at:,} were done; looked at {row.killed.waited:.0f} s after the last call."
        )
    if row.clean is not None and row.clean.spent.scheduler_requests:
        own = row.clean.spent.scheduler_requests / max(1, row.clean.tally.ran)
        text += f" Of the requests a firing {own:.2f} are the dispatcher's."
    early = sum(one.tally.early for one in (row.clean, row.killed) if one is not None)
    if early:
        text += f" {early:,} ran before they were due."
    incomplete = row.clean is not None and row.clean.tally.ran < row.clean.schedules
    if row.clean is not None and incomplete:
        text += f" Even undisturbed only {row.clean.tally.ran:,} ran."
    return text + (f" No figures: {row.reason}." if row.reason else "")


def markdown(rows: Sequence[Row], found: Sequence[Canned]) -> str:
    """For RESULTS.md."""
    table = marked.table([HEADINGS, *all_cells(rows, found)])
    listed = "\n".join(f"- {line}" for line in notes(rows, found))
    return f"{table}\n\n{CAPTION}\n\n{listed}"


def as_json(rows: Sequence[Row], found: Sequence[Canned], about: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that was measured."""
    return {
        **about,
        "canned": [asdict(one) for one in found],
        "peers": [_row_json(row, yardsticks(rows, found)) for row in rows],
    }


def _row_json(row: Row, base: Yardsticks) -> dict[str, Any]:
    seconds = row.seconds
    return {
        **asdict(row.peer),
        "versions": versions(row.peer.packages),
        "server_version": server_version(row.peer.server),
        "seconds_per_1000": _or_none(seconds),
        "ratio_on_the_emulator": _or_none(seconds / base.emulator),
        "ratio_over_sockets": _or_none(seconds / base.sockets),
        "clean": _pass_json(row.clean),
        "killed": _pass_json(row.killed),
        "reason": row.reason,
    }


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _pass_json(one: Pass | None) -> dict[str, Any] | None:
    if one is None:
        return None
    told = {name: value for name, value in asdict(one).items() if name != "lags"}
    last = _or_none(one.last)
    return {**told, "p50": percentile(one.lags, 0.5), "p99": percentile(one.lags, 0.99), "last": last}
