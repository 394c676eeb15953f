"""Dead letters: runs that ended without having done their work, until somebody settles them.

A letter is a row that is dead (out of attempts, failed for good, or its message could not be delivered) or refused, and
not settled. Everything here is pure; the rows themselves stay in the ledger whatever becomes of the letter.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from cronfleet.domain.instant import DAY, Instant
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.settlement import How, Settlement
from cronfleet.domain.signature import Signature

EXPIRES_SOON: Final = 3 * DAY
"""A letter that is removed within this time carries a warning."""

MAX_EXAMPLES: Final = 3
MAX_NAMED_SCHEDULES: Final = 20
"""Of a group: how many of its runs and of its schedules are named; the rest are counted."""


class Kind(StrEnum):
    """How a letter came to be one."""

    RUN = "run"
    """Its attempts failed, or it could not be run."""
    UNDELIVERED = "undelivered"
    """No worker could take its message on: it came to a dead-letter queue."""


UNDELIVERED: Final = frozenset({Code.UNDELIVERED, Code.TOO_OLD})


@dataclass(frozen=True, slots=True)
class Letter:
    """What the view shows of a dead run without its row.

    `expires_at` is when the row goes, by its retention; `died_at` when it ended.
    """

    key: RunKey
    status: RunStatus
    died_at: Instant
    expires_at: Instant
    signature: Signature
    reason: Reason | None = None

    @property
    def kind(self) -> Kind:
        """How it came to be one."""
        return Kind.UNDELIVERED if self.reason is not None and self.reason.code in UNDELIVERED else Kind.RUN

    def expires_soon(self, now: Instant) -> bool:
        """Whether it is removed before long, settled or not."""
        return self.expires_at - now <= EXPIRES_SOON


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """Which letters are meant: what is `None` or empty is not asked for.

    `from_at` is included, `until_at` is not; both are of the time at which a letter died. `labels` are label hashes as
    timers hold them, and are judged by whoever knows the schedule's timer.
    """

    schedule_id: str | None = None
    labels: tuple[str, ...] = ()
    signature: str | None = None
    kind: Kind | None = None
    from_at: Instant | None = None
    until_at: Instant | None = None
    without: frozenset[str] = frozenset()
    """Signatures that are not meant."""

    @property
    def is_everything(self) -> bool:
        """Whether nothing narrows it down but time."""
        return self.schedule_id is None and not self.labels and self.signature is None and self.kind is None

    def takes(self, letter: Letter) -> bool:
        """Whether `letter` is meant, as far as the letter itself can tell: labels are its schedule's."""
        return (
            self.schedule_id in (None, letter.key.schedule_id)
            and self.signature in (None, letter.signature.digest)
            and self.kind in (None, letter.kind)
            and letter.signature.digest not in self.without
            and (self.from_at is None or letter.died_at >= self.from_at)
            and (self.until_at is None or letter.died_at < self.until_at)
        )


def soon_gone(letter: Letter, retention: int, now: Instant) -> Instant | None:
    """When a letter is removed, or no longer shown by its tenant's `retention`; `None` if that is not soon, or past."""
    gone_at = min(letter.expires_at, letter.died_at + retention)
    return gone_at if now < gone_at <= now + EXPIRES_SOON else None


def is_letter(run: Run) -> bool:
    """Whether `run` waits for somebody to settle it."""
    dead = run.status in (RunStatus.DEAD, RunStatus.REFUSED)
    return dead and run.settled is None and run.until_nominal_at is None and run.finished_at is not None


def settled(
    run: Run, how: How, by: str, at: Instant, *, run_id: str = "", reason: str = "", operation: str = ""
) -> Run:
    """The row of a letter after it was settled: its status stays, and it leaves the view."""
    if not is_letter(run):
        raise ValueError(f"run {run.key.run_id} is no dead letter: it is {run.status}")
    return run.noted(settled=Settlement(how, by, at, run_id, reason, operation))


@dataclass(slots=True)
class Group:
    """The letters of one signature."""

    signature: Signature
    count: int = 0
    first_died_at: Instant = 0
    last_died_at: Instant = 0
    first_expires_at: Instant = 0
    examples: list[str] = field(default_factory=list)
    """Run ids of the newest."""
    schedules: dict[str, int] = field(default_factory=dict)
    """How many of each schedule."""

    def add(self, letter: Letter) -> None:
        """Count a letter in."""
        is_first = self.count == 0
        self.count += 1
        self.first_died_at = letter.died_at if is_first else min(self.first_died_at, letter.died_at)
        self.last_died_at = max(self.last_died_at, letter.died_at)
        self.first_expires_at = letter.expires_at if is_first else min(self.first_expires_at, letter.expires_at)
        self.schedules[letter.key.schedule_id] = self.schedules.get(letter.key.schedule_id, 0) + 1
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(letter.key.run_id)

    def expires_soon(self, now: Instant) -> bool:
        """Whether one of them is removed before long."""
        return self.first_expires_at - now <= EXPIRES_SOON

    @property
    def named_schedules(self) -> Mapping[str, int]:
        """Those with the most letters, most first."""
        most = sorted(self.schedules.items(), key=lambda one: (-one[1], one[0]))
        return dict(most[:MAX_NAMED_SCHEDULES])


def grouped(letters: Iterable[Letter]) -> list[Group]:
    """Letters by their signature, the largest group first. `letters` come newest first."""
    groups: dict[str, Group] = {}
    for letter in letters:
        groups.setdefault(letter.signature.digest, Group(letter.signature)).add(letter)
    return sorted(groups.values(), key=lambda group: (-group.count, -group.last_died_at, group.signature.digest))
