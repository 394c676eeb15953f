"""Deliberate faults in the operations that run the past again; see `planted.py`."""

from typing import Final

from simulator.planted_edits import Edit, Planted

_OPERATION: Final = "cronfleet.domain.operation"
_BACKFILL: Final = "cronfleet.domain.backfill"
_DOER: Final = "cronfleet.services.operation_doer"

OPERATION_FAULTS: Final = (
    Planted(
        "page-in-two-transactions",
        "an operation is moved on, and its runs are made after that",
        (
            Edit(
                _DOER,
                "                ask(partial(self._store.commit, [put, *left]))",
                "                ask(partial(self._store.commit, [put]))\n"
                "                self._store.commit(left) if left else None",
            ),
        ),
    ),
    Planted(
        "date-lost-between-pages",
        "a page begins one date too late",
        (
            Edit(
                _BACKFILL,
                "dropwhile(lambda place: not window.order.is_before(after, place), ordered)",
                "(place for number, place in enumerate(\n"
                "        dropwhile(lambda place: not window.order.is_before(after, place), ordered)) if number)",
            ),
        ),
    ),
    Planted(
        "operation-over-before-its-runs",
        "an operation is finished while runs of it go on",
        (Edit(_OPERATION, "    if operation.is_over or operation.open:", "    if operation.is_over:"),),
    ),
)
