"""Operations as callers see them: what there is, how far it is, and what is done to it."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from cronfleet.domain.audit import subject
from cronfleet.domain.errors import Conflict, Invalid, NotFound
from cronfleet.domain.form import Form
from cronfleet.domain.instant import Instant
from cronfleet.domain.operation import VERBS, Kind, Operation, Status, Verb, turned, written
from cronfleet.domain.operation_form import operation_form, result_form
from cronfleet.ports import cursors
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import JobStore, Page, Write
from cronfleet.ports.operations import PutOperation
from cronfleet.services.access import Caller
from cronfleet.services.changing import Answer, Changing, Draft, Once, answer_of, audit
from cronfleet.services.operation_errands import woken
from cronfleet.services.operation_sources import Source

MAX_OPEN: Final = 20
"""Operations of a tenant that are not over."""
MAX_LOOKED_THROUGH: Final = 400
"""Operations that one request for a list looks through in search of matches."""
PAGE: Final = 100

WORDS: Final = {Kind.BACKFILL: "backfill", Kind.RERUN: "rerun", Kind.REDRIVE: "redrive"}


class Operations:
    """The service behind /v1/operations and /v1/backfills, but for what makes them."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids, shards: int, sources: Mapping[Kind, Source]) -> None:
        """`shards` is how many there are: the errand of an operation waits in one of them."""
        self._store = store
        self._shards = shards
        self._ids = ids
        self._sources = sources
        self._changing = Changing(store, clock)

    def get(self, caller: Caller, operation_id: str, kind: Kind | None = None) -> Form:
        """The operation; `NotFound` where there is none, of this kind, in the caller's tenant."""
        return operation_form(self._require(caller, operation_id, kind))

    def _require(self, caller: Caller, operation_id: str, kind: Kind | None) -> Operation:
        found = answer_of(lambda: self._store.get_operation(caller.tenant.tenant_id, operation_id))
        if found is None or kind not in (None, found.kind):
            raise NotFound("operation" if kind is None else WORDS[kind], operation_id)
        return found

    def list(
        self, caller: Caller, *, kind: Kind | None, status: Status | None, cursor: str | None, limit: int
    ) -> Page[Form]:
        """A page of the tenant's operations, newest first; there may be fewer than `limit`, and still a cursor."""
        found: list[Form] = []
        read = partial(self._store.list_operations, caller.tenant.tenant_id)
        for _ in range(MAX_LOOKED_THROUGH // PAGE):
            page = answer_of(partial(read, cursor=cursor, limit=limit - len(found)))
            found += [
                operation_form(one) for one in page.items if kind in (None, one.kind) and status in (None, one.status)
            ]
            cursor = page.cursor
            if cursor is None or len(found) >= limit:
                break
        return Page(found, cursor)

    def results(
        self, caller: Caller, operation_id: str, *, kind: Kind | None = None, cursor: str | None, limit: int
    ) -> Page[Form]:
        """What became of each candidate, in the order in which the operation comes to them."""
        operation = self._require(caller, operation_id, kind)
        position = "" if cursor is None else self._position(operation, cursor)
        source = self._sources[operation.kind]
        names = answer_of(lambda: source.names(operation, position, limit))
        keys = [named.key for named in names.items]
        rows = answer_of(lambda: self._store.get_runs(keys))
        shown = [
            result_form(
                named.key,
                named.ancestor,
                rows.get(named.key),
                has_passed=source.has_passed(operation, named),
            )
            for named in names.items
        ]
        more = None if names.is_last else cursors.encode([operation_id, names.position])
        return Page(shown, more)

    def _position(self, operation: Operation, cursor: str) -> str:
        operation_id, position = cursors.decode(cursor, 2)
        if operation_id != operation.operation_id or not self._sources[operation.kind].is_position(operation, position):
            raise cursors.foreign()
        return position

    def turn(
        self,
        caller: Caller,
        operation_id: str,
        verb: Verb,
        *,
        kind: Kind | None = None,
        reason: str = "",
        excluded: Sequence[str] = (),
        once: Once | None = None,
    ) -> Answer:
        """Pause, resume or cancel it. `Conflict` where it does not stand so that this can be done.

        `excluded` are failure signatures that a resumed redrive leaves out.
        """

        def decide(now: Instant) -> Draft:
            before = self._require(caller, operation_id, kind)
            if excluded and before.kind is not Kind.REDRIVE:
                raise Invalid("exclude_signatures", f"is for redrives; leave it out of a {WORDS[before.kind]}'s resume")
            after = turned(before, verb, now, excluded)
            if after is None:
                raise Conflict(_refusal(before, verb))
            if after is before:
                return Draft([], Answer(operation_form(before)))
            change_id = self._ids.unique()
            after = written(after, change_id)
            said = {"before": _stands(before), "after": _stands(after), "reason": reason}
            entry = audit(caller, change_id, now, f"{verb}_operation", subject("operation", operation_id), **said)
            writes: Sequence[Write] = [PutOperation(after, before), woken(self._store, after, now, self._shards), entry]
            return Draft(writes, Answer(operation_form(after)))

        return self._changing.change(caller, once, decide)


def check_open(store: JobStore, tenant: str) -> None:
    """Raises `Conflict` where the tenant has as many operations under way as it may have."""
    page = answer_of(lambda: store.list_operations(tenant, cursor=None, limit=PAGE))
    if sum(not one.is_over for one in page.items) >= MAX_OPEN:
        raise Conflict(
            f"{MAX_OPEN} operations of the tenant are not over yet; wait for one of them, or cancel it "
            "(POST /v1/operations/{id}/cancel)"
        )


def check_stretch(from_at: Instant | None, to_at: Instant | None, parent: str = "") -> None:
    """Raises `Invalid` for a stretch that ends before it begins; `parent` is what its fields stand below."""
    if from_at is not None and to_at is not None and to_at <= from_at:
        said = f"is not after {parent}from; write the first moment that is not meant any more"
        raise Invalid(f"{parent}to", said)


def making(store: JobStore, caller: Caller, made: Operation, now: Instant, *, shards: int) -> Draft:
    """The new operation, carried on from `now` on, with its audit entry. Raises `Contended`."""
    form, filed = operation_form(made), subject("operation", made.operation_id)
    action = f"create_{WORDS[made.kind]}"
    entry = audit(caller, made.change_id, now, action, filed, after=form, reason=made.reason)
    writes: list[Write] = [PutOperation(made, None), woken(store, made, now, shards), entry]
    return Draft(writes, Answer(form, created=True))


def _stands(operation: Operation) -> dict[str, Any]:
    return {"status": operation.status.value, "counts": dict(operation.counts), "under_way": len(operation.open)}


def _refusal(operation: Operation, verb: Verb) -> str:
    possible = [str(one) for status, one in VERBS if status is operation.status]
    can = f"; it can be told to {' or '.join(possible)}" if possible else ": it is over"
    return f"the {WORDS[operation.kind]} is {operation.status}, and cannot {verb}{can}"
