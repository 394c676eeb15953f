"""Redrives: dead letters run again, by name or by a filter, as an operation that stops when failures return."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from cronfleet.domain.dead_letter import is_letter
from cronfleet.domain.errors import Conflict, Invalid, NotFound, QuotaExceeded
from cronfleet.domain.form import Form
from cronfleet.domain.instant import Instant
from cronfleet.domain.operation import UNITS_PER_RUN, Kind, Operation, operation_id
from cronfleet.domain.quota import quotas_of, retention_of
from cronfleet.domain.redrive import AskedRedrive, letters_of
from cronfleet.domain.run import RunKey
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import JobStore
from cronfleet.services.access import Caller
from cronfleet.services.changing import Answer, Changing, Draft, Once, answer_of
from cronfleet.services.dead_letters import MAX_LOOKED_THROUGH, Counted, check_count
from cronfleet.services.letters import Letters, within
from cronfleet.services.operations import check_open, check_stretch, making
from cronfleet.services.quotas import TenantQuotas

UNITS_PER_LETTER: Final = UNITS_PER_RUN + 4
"""Write units of a redriven letter: those of its new run, and its own row in the same transaction, with the index."""

SHOWN: Final = 10


class Redrives:
    """The service behind POST /v1/dead-letters/redrive."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids, shards: int) -> None:
        """`shards` is how many there are: the errand of an operation waits in one of them."""
        self._store = store
        self._shards = shards
        self._clock = clock
        self._ids = ids
        self._changing = Changing(store, clock)
        self._quotas = TenantQuotas(store)

    def preview(self, caller: Caller, asked: AskedRedrive) -> Form:
        """How many letters are meant now, some of them, and what it costs to redrive them. Changes nothing."""
        counted = self._count(caller, asked, self._clock.now())
        return {
            "dry_run": True,
            "count": counted.count,
            "is_complete": counted.is_complete,
            "examples": list(counted.examples),
            "write_units": UNITS_PER_LETTER * counted.count,
        }

    def create(self, caller: Caller, asked: AskedRedrive, *, reason: str = "", once: Once | None = None) -> Answer:
        """An operation that redrives them. `Miscounted` where they are not as many as expected."""
        tenant = caller.tenant.tenant_id
        check_open(self._store, tenant)
        if asked.payload:
            self._quotas.check_payload(self._quotas.tenant_of(caller), asked.payload[0])
        counted = self._count(caller, asked, self._clock.now())
        self._check(caller, asked, counted)

        def decide(now: Instant) -> Draft:
            change_id = self._ids.unique()
            made = Operation(
                tenant,
                operation_id(change_id),
                Kind.REDRIVE,
                asked.record(),
                caller.actor,
                now,
                change_id,
                reason,
                total=counted.count if counted.is_complete else None,
                max_concurrent=asked.max_concurrent,
                rate_per_minute=asked.rate_per_minute,
                changed_at=now,
                origin=caller.trace,
            )
            return making(self._store, caller, made, now, shards=self._shards)

        return self._changing.change(caller, once, decide)

    def _count(self, caller: Caller, asked: AskedRedrive, now: Instant) -> Counted:
        check_stretch(asked.from_at, asked.to_at, "filter.")
        if asked.run_ids is not None:
            return self._count_named(caller, asked.run_ids)
        meant = within(letters_of(asked.record(), now), now - retention_of(caller.tenant))
        find = partial(Letters(self._store).find, caller.tenant.tenant_id, meant)
        found = answer_of(partial(find, limit=MAX_LOOKED_THROUGH, most=MAX_LOOKED_THROUGH, oldest_first=True))
        examples = tuple(letter.key.run_id for letter in found.letters[:SHOWN])
        return Counted(len(found.letters), found.cursor is None, examples)

    def _count_named(self, caller: Caller, run_ids: Sequence[str]) -> Counted:
        """`NotFound` for what is no letter, `Conflict` for what is settled, or named twice."""
        keys = [RunKey.parse(run_id) for run_id in run_ids]
        own = [key for key in keys if key.tenant == caller.tenant.tenant_id]
        rows = answer_of(partial(self._store.get_runs, own))
        for key in keys:
            row = rows.get(key)
            if row is None or (row.settled is None and not is_letter(row)):
                raise NotFound("dead letter", key.run_id, "run_ids")
            if row.settled is not None:
                raise Conflict(f"{key.run_id} is settled already: it was {row.settled.how}")
        if len(set(keys)) < len(keys):
            raise Invalid("run_ids", "names a run twice; each is redriven once")
        return Counted(len(keys), is_complete=True, examples=tuple(run_ids[:SHOWN]))

    def _check(self, caller: Caller, asked: AskedRedrive, counted: Counted) -> None:
        if asked.expected is not None:
            check_count(counted, asked.expected)
        if not counted.count and counted.is_complete:
            raise Invalid("filter", "means no dead letter; see GET /v1/dead-letters")
        most = quotas_of(self._quotas.tenant_of(caller)).backfill_fires
        if counted.count > most:
            hint = "the filter means more dead letters; ask for fewer at a time, by from and to"
            raise QuotaExceeded("backfill_fires", counted.count, most, hint)
