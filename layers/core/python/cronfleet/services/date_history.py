"""Date history: where the nominal times of a schedule stand, by all rows that tell of them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from cronfleet.domain.backfill import Standing, counts_for_date, standing
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import Run
from cronfleet.domain.schedule import Timer
from cronfleet.ports.job_store import RunStore
from cronfleet.services.asking import ask

MAX_EPOCHS: Final = 64
"""Epochs of a schedule, the newest, whose rows are looked at: each costs a request for every page of dates."""
PAGE: Final = 100
MAX_PAGES: Final = 50
"""Pages of rows that are read of one epoch for a page of dates."""


def standings(store: RunStore, timer: Timer, nominals: Sequence[Instant]) -> dict[Instant, Standing]:
    """Where each of `nominals` stands. Reads: raises `NoAnswer`, to be asked again."""
    rows: defaultdict[Instant, list[Run]] = defaultdict(list)
    wanted = frozenset(nominals)
    first_epoch = max(timer.born_epoch, timer.epoch - MAX_EPOCHS + 1)
    for epoch in range(timer.epoch, first_epoch - 1, -1):
        for row in _rows(store, timer, epoch, min(wanted), max(wanted)):
            if row.key.nominal_at in wanted and counts_for_date(row):
                rows[row.key.nominal_at].append(row)
    return {nominal: standing(rows[nominal]) for nominal in nominals}


def _rows(store: RunStore, timer: Timer, epoch: int, first_at: Instant, last_at: Instant) -> Iterator[Run]:
    """The rows of one epoch from `last_at` back to `first_at`."""
    cursor: str | None = None
    read = partial(store.list_runs, timer.tenant, timer.schedule_id, limit=PAGE)
    for _ in range(MAX_PAGES):
        page = ask(partial(read, cursor=cursor, through=None if cursor else (epoch, last_at)))
        for row in page.items:
            if row.key.epoch != epoch or row.key.nominal_at < first_at:
                return
            yield row
        cursor = page.cursor
        if cursor is None:
            return
