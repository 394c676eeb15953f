"""CPU time of a process and all that it started, from `/proc`: what ended and was waited for included."""

import os
from pathlib import Path
from typing import Final, NamedTuple

TICKS: Final = os.sysconf("SC_CLK_TCK")
PROC: Final = Path("/proc")


class Process(NamedTuple):
    """One line of `/proc/<pid>/stat`: whose child it is, and its ticks, those of dead children included."""

    pid: int
    parent: int
    ticks: int


def parsed(line: str) -> Process:
    """The parts of a line that matter. The program's name may hold spaces and parentheses."""
    pid, _, rest = line.partition(" (")
    fields = rest.rpartition(") ")[2].split()
    return Process(int(pid), int(fields[1]), sum(int(one) for one in fields[11:15]))


def seconds(pid: int) -> float:
    """CPU seconds of the process and its descendants, user and system; 0 where there is none."""
    return sum_of(pid, _all()) / TICKS


def sum_of(pid: int, processes: dict[int, Process]) -> int:
    """Ticks of a process and its descendants."""
    if pid not in processes:
        return 0
    children = [one.pid for one in processes.values() if one.parent == pid]
    return processes[pid].ticks + sum(sum_of(child, processes) for child in children)


def _all() -> dict[int, Process]:
    found = {}
    for folder in PROC.iterdir():
        if folder.name.isdecimal():
            try:
                one = parsed((folder / "stat").read_text())
            except OSError:
                continue  # It ended while we looked: its parent has its time.
            found[one.pid] = one
    return found
