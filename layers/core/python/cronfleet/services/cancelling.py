"""Cancelling: a run is asked to end, by whoever may ask that. What is running learns of it at its next beat."""

from functools import partial
from typing import Final

from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.errors import Contended
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import Run, RunKey
from cronfleet.ports.job_store import JobStore, Refused, ReplaceRun
from cronfleet.services.asking import ask
from cronfleet.services.endings import Endings
from cronfleet.services.execution_errands import woken

MAX_CANCEL_ROUNDS: Final = 10
"""How often a request is made anew because the row changed between reading and writing it."""


def ask_to_cancel(store: JobStore, endings: Endings, key: RunKey, request: CancelRequest) -> Run | None:
    """Ask for the cancellation of a run that has a row; the row as it is after that, `None` when there is none.

    Queued, or waiting for its next attempt, it is over at once. Running, it holds the request (`Run.cancel`), or that
    of somebody who was faster, and its worker ends it: as cancelled, or as succeeded if it does so first. Terminal, it
    is left alone. Costs a read, and a write where there was something to write. Raises `NoAnswer` and `Contended`.
    """
    for _ in range(MAX_CANCEL_ROUNDS):
        row = ask(partial(store.get_run, key))
        if row is None or row.is_terminal:
            return row
        asked = row.asked_to_cancel(request)
        if asked is row:
            return row
        try:
            _write(store, endings, row, asked, request.at)
        except Refused:
            continue
        return asked
    raise Contended(f"{key.run_id} changed {MAX_CANCEL_ROUNDS} times while its cancellation was being asked for")


def _write(store: JobStore, endings: Endings, row: Run, asked: Run, now: Instant) -> None:
    if asked.is_terminal:
        timer = ask(lambda: store.get_timer(row.key.tenant, row.key.schedule_id))
        endings.write(row, asked, timer)
    else:
        writes = [ReplaceRun(asked), *ask(lambda: woken(store, asked, now))]
        ask(lambda: store.commit(writes))
