"""The lifeline: a schedule's epochs in the order of time, and what named its fires in each.

A timer remembers when its latest epochs began. What came before is read back from the audit log, where each change
that raises the epoch stands.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cronfleet.domain.audit import AuditEntry
from cronfleet.domain.instant import Instant
from cronfleet.domain.schedule import Change, Definition, Status, Timer

RAISING: Final = frozenset({Change.CREATE, Change.RETIME, Change.RESUME, Change.CANCEL})
"""The changes that begin an epoch."""


@dataclass(frozen=True, slots=True)
class Span:
    """One epoch: its own nominals are later than `since` and not later than `until` (`None`: it lasts).

    In a span that is not alive the schedule is deleted, or (`epoch` 0) not there yet: nothing is named.
    """

    epoch: int
    since: Instant
    until: Instant | None
    is_alive: bool

    def holds(self, instant: Instant) -> bool:
        """Whether a nominal at `instant` is this epoch's own."""
        return self.since < instant and (self.until is None or instant <= self.until)


def known_spans(timer: Timer) -> list[Span]:
    """The epochs that `timer` remembers, newest first; what lies before its first life too."""
    starts = timer.epoch_starts
    first = timer.epoch - len(starts) + 1
    spans = [
        Span(
            first + number,
            since,
            starts[number + 1] if number + 1 < len(starts) else None,
            is_alive=first + number < timer.epoch or timer.status is not Status.CANCELLED,
        )
        for number, since in enumerate(starts)
    ]
    return _finished(spans[::-1])


def earlier_spans(known: Sequence[Span], entries: Iterable[AuditEntry], born_epoch: int) -> list[Span]:
    """The epochs before those that are `known`, newest first.

    `entries` are the schedule's audit entries up to the beginning of the oldest known epoch, that one included, newest
    first. `born_epoch` is the first epoch of the latest life.
    """
    oldest, spans = known[-1], list[Span]()
    since, is_birth = oldest.since, oldest.epoch == born_epoch
    own = sum(1 for span in known if span.since == since)
    for entry in entries:
        if entry.action not in RAISING:
            continue
        # A creation's entry may be noted a little before the epoch that it began: time goes on from the tombstone.
        if own and (entry.at == since or (is_birth and entry.action == Change.CREATE)):
            own -= 1
            continue
        spans.append(Span(oldest.epoch - 1, entry.at, oldest.since, is_alive=entry.action != Change.CANCEL))
        oldest = spans[-1]
        if oldest.epoch == 1:
            break
    return _finished(spans)


def _finished(spans: list[Span]) -> list[Span]:
    """With what lies before the first epoch of all, once that is reached."""
    if spans and spans[-1].epoch == 1:
        spans.append(Span(0, -(2**63), spans[-1].since, is_alive=False))
    return spans


def span_at(spans: Sequence[Span], instant: Instant) -> Span | None:
    """The epoch whose own a nominal at `instant` is; `None` when it lies before everything that `spans` know."""
    return next((span for span in spans if span.holds(instant)), None)


def as_defined(timer: Timer, span: Span, definition: Definition) -> Timer:
    """A timer that names what the schedule named in an earlier `span`, under its `definition`."""
    spec = definition.spec
    return replace(
        timer,
        trigger=spec.trigger,
        jitter_seconds=spec.policies.delay_seconds,
        is_spread=spec.policies.spread is not None,
        start_at=spec.start_at,
        end_at=spec.end_at,
        version=definition.version,
        epoch=span.epoch,
        backlog=None,
        caught_up_from=None,
    )
