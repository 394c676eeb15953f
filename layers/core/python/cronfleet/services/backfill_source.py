"""The source of backfills: nominal times of schedules, by the triggers that they had when it was asked for."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Final

from cronfleet.domain.backfill import Mode, Order, Place, Window, dates, is_wanted, overlap, subjects_of
from cronfleet.domain.instant import Instant
from cronfleet.domain.operation import Candidate, Kind, Operation, Status, backfill_key
from cronfleet.domain.reason import Reason
from cronfleet.domain.schedule import Spec
from cronfleet.ports.job_store import JobStore, NoAnswer
from cronfleet.services.asking import ask
from cronfleet.services.date_history import standings
from cronfleet.services.operation_sources import MAX_NAMED, Drawn, Making, Named, Names, payload_of

LOOKED_THROUGH: Final = 100
"""Newest operations of a tenant among which older backfills of the same dates are looked for."""


class BackfillSource:
    """Goes through the dates of a backfill in its order."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def names(self, operation: Operation, cursor: str, limit: int) -> Names:
        """The next dates after `cursor`."""
        subjects = subjects_of(operation.asked)
        window = window_of(operation)
        after = Place.parse(cursor) if cursor else None
        places = list(islice(dates(self._specs(operation), window, after), limit + 1))
        items = [self._named(operation, place, subjects[place.subject].epoch) for place in places[:limit]]
        return Names(items, len(places) <= limit, items[-1].position if items else cursor)

    def draw(self, operation: Operation, runs: int, now: Instant) -> Drawn:
        """The next dates as runs, or passed over: as `mode` wants it, or because the schedule is gone.

        None while an older backfill goes through the same dates: what that has made of them is to be known first.
        """
        mode = Mode(operation.asked["mode"])
        if mode is not Mode.REDO_ALL and self._is_behind_another(operation):
            return Drawn((), is_last=False, position=operation.cursor)
        # Where every date runs, more than can be made need not be looked at.
        found = self.names(operation, operation.cursor, runs if mode is Mode.REDO_ALL else MAX_NAMED)
        making = Making(self._store, operation, now)
        making.know([named.key.schedule_id for named in found.items])
        wanted = self._wanted(found.items, mode, making)
        made: list[Candidate] = []
        count = 0
        for named in found.items:
            if named.position in wanted:
                if count == runs:
                    return Drawn(made, is_last=False, position=made[-1].position if made else operation.cursor)
                count += 1
                asked = operation.asked
                made.append(making.run(named, version=asked.get("version"), payload=payload_of(asked)))
            else:
                made.append(making.passed_over(named))
        return Drawn(made, found.is_last, found.position)

    def is_position(self, operation: Operation, text: str) -> bool:
        """Whether `text` names a date of the operation's schedules."""
        try:
            return 0 <= Place.parse(text).subject < len(operation.asked["subjects"])
        except ValueError:
            return False

    def has_passed(self, operation: Operation, named: Named) -> bool:
        """Whether the date stands no further on than where the operation is."""
        if operation.is_drawn or not operation.cursor:
            return operation.is_drawn
        order = window_of(operation).order
        return not order.is_before(Place.parse(operation.cursor), Place.parse(named.position))

    def reason_to_stop(self, operation: Operation) -> Reason | None:  # noqa: ARG002 - a backfill goes on
        """Dates that fail do not stop a backfill: each has its own result."""
        return None

    def _is_behind_another(self, operation: Operation) -> bool:
        """Whether an older backfill is running that has dates of this one."""
        page = ask(partial(self._store.list_operations, operation.tenant, cursor=None, limit=LOOKED_THROUGH))
        return any(
            one.kind is Kind.BACKFILL
            and one.status is Status.RUNNING
            and (one.created_at, one.operation_id) < (operation.created_at, operation.operation_id)
            and overlap(one.asked, operation.asked)
            for one in page.items
        )

    def _wanted(self, items: Sequence[Named], mode: Mode, making: Making) -> frozenset[str]:
        """The positions of those that become runs."""
        if mode is Mode.REDO_ALL:
            return frozenset(named.position for named in items)
        own: defaultdict[str, list[Named]] = defaultdict(list)
        for named in items:
            own[named.key.schedule_id].append(named)
        wanted: set[str] = set()
        for schedule_id, ours in own.items():
            timer = making.timer_of(schedule_id)
            if timer is None:
                continue
            found = ask(partial(standings, self._store, timer, [named.key.nominal_at for named in ours]))
            wanted |= {named.position for named in ours if is_wanted(mode, found[named.key.nominal_at])}
        return frozenset(wanted)

    def _specs(self, operation: Operation) -> list[Spec]:
        specs = []
        for subject in subjects_of(operation.asked):
            read = partial(self._store.get_definition, operation.tenant, subject.schedule_id, subject.version)
            definition = ask(read)
            if definition is None:
                raise NoAnswer(f"version {subject.version} of {subject.schedule_id} cannot be read")
            specs.append(definition.spec)
        return specs

    def _named(self, operation: Operation, place: Place, epoch: int) -> Named:
        schedule_id = subjects_of(operation.asked)[place.subject].schedule_id
        key = backfill_key(operation.tenant, schedule_id, epoch, place.nominal_at, operation.operation_id)
        return Named(str(place), key)


def window_of(operation: Operation) -> Window:
    """The stretch of time that a backfill is about."""
    asked = operation.asked
    return Window(asked["from"], asked["to"], Order(asked["order"]))
