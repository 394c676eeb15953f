"""Dead letters: what operators see of runs that have not done their work, and how such a run is let go of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from cronfleet.domain.audit import TENANT_SUBJECT, schedule_subject, subject
from cronfleet.domain.dead_letter import Letter, LetterFilter, grouped, is_letter, settled
from cronfleet.domain.dead_letter_form import group_form, letter_form, settlement_form, unreadable_form
from cronfleet.domain.errors import Conflict, Miscounted, NotFound
from cronfleet.domain.form import Form, run_form
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.log_form import log_link_form
from cronfleet.domain.quota import retention_of
from cronfleet.domain.role import Role
from cronfleet.domain.run import FAILED, Run, RunKey
from cronfleet.domain.settlement import How
from cronfleet.domain.target_form import target_form
from cronfleet.domain.undelivered import parse_unreadable_id
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.dead_letters import SettleUnreadable
from cronfleet.ports.job_store import JobStore, Page, ReplaceRun, Write
from cronfleet.services.access import Caller
from cronfleet.services.changing import Answer, Changing, Draft, Once, answer_of, audit
from cronfleet.services.letters import Found, Letters, within

DISCARD: Final = "discard_letters"
"""The audit log's word for it."""

DISCARD_UNREADABLE: Final = "discard_message"
"""The same of a message that nobody can read."""

MAX_LOOKED_THROUGH: Final = 10_000
"""Letters that one request looks through; then it answers with what it has, and says so."""

MAX_AT_ONCE: Final = 25
"""Letters of one transaction: each with its row, and its schedule's audit entry with the end of that chain."""

MAX_DISCARDED: Final = 500
"""Letters that one request discards by a filter; it says whether there are more."""

DISCARDING: Final = 8 * SECOND
"""How long one request goes on discarding."""


@dataclass(frozen=True, slots=True)
class Counted:
    """How many letters a filter means, with the ids of some; `is_complete`: all of the tenant's were looked through."""

    count: int
    is_complete: bool
    examples: tuple[str, ...] = ()


class DeadLetters:
    """The service behind /v1/dead-letters, but for redriving."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._changing = Changing(store, clock)

    # --- looking -------------------------------------------------------------------------------------------------

    def page(self, caller: Caller, asked: LetterFilter, *, cursor: str | None, limit: int) -> Page[Form]:
        """The letters that `asked` means, newest first; a page may be short and still have a cursor."""
        found = self._find(caller, asked, cursor=cursor, limit=limit)
        now = self._clock.now()
        return Page([letter_form(self._shown(caller, one), now) for one in found.letters], found.cursor)

    def groups(self, caller: Caller, asked: LetterFilter, *, cursor: str | None) -> Form:
        """The same by failure signature, the largest group first.

        Of more letters than one request looks through, the newest; with the `cursor` the rest is grouped anew.
        """
        found = self._find(caller, asked, cursor=cursor, limit=MAX_LOOKED_THROUGH)
        now = self._clock.now()
        groups = grouped(self._shown(caller, letter) for letter in found.letters)
        return {
            "groups": [group_form(group, now) for group in groups],
            "count": len(found.letters),
            "is_complete": cursor is None and found.cursor is None,
            "cursor": found.cursor,
        }

    def count(self, caller: Caller, asked: LetterFilter) -> Counted:
        """How many there are."""
        found = self._find(caller, asked, cursor=None, limit=MAX_LOOKED_THROUGH)
        examples = tuple(letter.key.run_id for letter in found.letters[:3])
        return Counted(len(found.letters), found.cursor is None, examples)

    def _find(self, caller: Caller, asked: LetterFilter, *, cursor: str | None, limit: int) -> Found:
        since = self._clock.now() - retention_of(caller.tenant)
        letters = Letters(self._store)
        owner = caller.tenant.tenant_id
        find = partial(letters.find, owner, within(asked, since), cursor=cursor, limit=limit, most=MAX_LOOKED_THROUGH)
        return answer_of(find)

    def _shown(self, caller: Caller, letter: Letter) -> Letter:
        """`letter`; where the tenant's retention is shorter than rows are kept, it is gone from the view by that."""
        return replace(letter, expires_at=min(letter.expires_at, letter.died_at + retention_of(caller.tenant)))

    def get(self, caller: Caller, run_id: str) -> Form:
        """One with all there is: every attempt, the payload, what was called, and what became of it if it is settled.

        `NotFound` for a run that is no dead letter, and has been none.
        """
        row = self._require(caller, run_id)
        definition = answer_of(lambda: self._store.get_definition(row.key.tenant, row.key.schedule_id, row.version))
        spec = None if definition is None else definition.spec
        return {
            "run": run_form(row),
            "signature": None if row.signature is None else row.signature.digest,
            "failure": None if row.signature is None else row.signature.template,
            "target": None if spec is None else target_form(spec.target),
            "payload": row.payload if row.has_payload else spec and spec.payload,
            "is_payload_known": row.has_payload or spec is not None,
            "log": self._log_form(row),
            "settled": settlement_form(row.settled),
        }

    def _log_form(self, row: Run) -> Form | None:
        """Where to read what its last attempt said; `None` where none was made."""
        if not row.attempts:
            return None
        kept = answer_of(lambda: self._store.get_log(row.key, row.attempt))
        return log_link_form(row.key, row.attempt, kept)

    def _require(self, caller: Caller, run_id: str, field: str = "") -> Run:
        key = RunKey.parse(run_id)
        row = answer_of(lambda: self._store.get_run(key)) if key.tenant == caller.tenant.tenant_id else None
        since = self._clock.now() - retention_of(caller.tenant)
        if row is None or row.status not in FAILED or row.until_nominal_at is not None or row.is_over_since(since):
            raise NotFound("dead letter", run_id, field)
        return row

    def unreadable(self, caller: Caller, *, cursor: str | None, limit: int) -> Page[Form]:
        """Messages of all tenants that nobody can read, newest first; takes a platform admin."""
        caller.require(Role.PLATFORM_ADMIN)
        page = answer_of(lambda: self._store.list_unreadable(cursor=cursor, limit=limit))
        return Page([unreadable_form(message) for message in page.items], page.cursor)

    def discard_unreadable(
        self, caller: Caller, unreadable_id: str, *, reason: str, once: Once | None = None
    ) -> Answer:
        """Let go of a message that nobody can read; takes a platform admin. `NotFound`; `Conflict` where it is settled.

        It leaves the view, and goes when its time has come.
        """
        caller.require(Role.PLATFORM_ADMIN)

        def decide(now: Instant) -> Draft:
            place = parse_unreadable_id(unreadable_id)
            found = answer_of(lambda: self._store.get_unreadable(*place))
            if found is None:
                raise NotFound("unreadable message", unreadable_id)
            if found.settled is not None:
                raise Conflict(f"{unreadable_id} is settled already: it was {found.settled.how}")
            after = found.discarded(caller.actor, now, reason)
            filed = subject("message", found.delivery.message_id)
            # What it says may be anybody's; where it was found is enough here.
            said = {"queue": found.delivery.queue, "why": found.why}
            entry = audit(caller, self._ids.unique(), now, DISCARD_UNREADABLE, filed, before=said, reason=reason)
            return Draft([SettleUnreadable(after), entry], Answer(unreadable_form(after)))

        return self._changing.change(caller, once, decide)

    # --- discarding ----------------------------------------------------------------------------------------------

    def discard(self, caller: Caller, run_ids: Sequence[str], *, reason: str, once: Once | None = None) -> Answer:
        """Let go of these letters, all or none. `NotFound` for what is no letter, `Conflict` for what is settled."""

        def decide(now: Instant) -> Draft:
            rows = [self._require(caller, run_id, "run_ids") for run_id in dict.fromkeys(run_ids)]
            over = [row for row in rows if not is_letter(row)]
            if over:
                how = over[0].settled.how if over[0].settled else "over"
                raise Conflict(f"{over[0].key.run_id} is settled already: it was {how}")
            writes = self._discarding(caller, rows, now, reason)
            return Draft(writes, Answer({"discarded": len(rows), "more": False}))

        return self._changing.change(caller, once, decide)

    def discard_all(
        self,
        caller: Caller,
        asked: LetterFilter,
        *,
        reason: str,
        expected: int | None = None,
        once: Once | None = None,
    ) -> Answer:
        """Let go of the letters that `asked` means, up to `MAX_DISCARDED`; the answer says whether there are more.

        `Miscounted`, and nothing is changed, when there are not as many as `expected`. A second request, or one under
        the same key that was cut off, discards only what the first one has not.
        """
        # What dies while this goes on is not what the caller has seen.
        meant = replace(asked, until_at=min(self._clock.now(), asked.until_at or self._clock.now()))
        if expected is not None:
            check_count(self.count(caller, meant), expected)
        done = 0

        def decide(now: Instant) -> Draft:
            nonlocal done
            found = self._find(caller, meant, cursor=None, limit=MAX_DISCARDED)
            ids = [letter.key for letter in found.letters]
            for start in range(0, len(ids), MAX_AT_ONCE):
                if self._clock.now() - now >= DISCARDING:
                    break
                done += self._discard_some(caller, ids[start : start + MAX_AT_ONCE], reason)
            answer: Form = {"discarded": done, "more": found.cursor is not None or done < len(ids)}
            entry = audit(caller, self._ids.unique(), now, DISCARD, TENANT_SUBJECT, after=answer, reason=reason)
            return Draft([entry], Answer(answer))

        return self._changing.change(caller, once, decide)

    def _discard_some(self, caller: Caller, keys: Sequence[RunKey], reason: str) -> int:
        """One transaction; how many of them were letters still."""

        def decide(now: Instant) -> Draft:
            stored = [answer_of(partial(self._store.get_run, key)) for key in keys]
            rows = [row for row in stored if row is not None and is_letter(row)]
            return Draft(self._discarding(caller, rows, now, reason), Answer({"discarded": len(rows)}))

        return int(self._changing.change(caller, None, decide).form["discarded"])

    def _discarding(self, caller: Caller, rows: Sequence[Run], now: Instant, reason: str) -> list[Write]:
        """The rows, settled, and an audit entry for each of their schedules."""
        writes: list[Write] = [
            ReplaceRun(settled(row, How.DISCARDED, caller.actor, now, reason=reason)) for row in rows
        ]
        of: dict[str, list[str]] = {}
        for row in rows:
            of.setdefault(row.key.schedule_id, []).append(row.key.run_id)
        for schedule_id, run_ids in of.items():
            after: dict[str, Any] = {"run_ids": run_ids}
            filed = schedule_subject(schedule_id)
            writes.append(audit(caller, self._ids.unique(), now, DISCARD, filed, after=after, reason=reason))
        return writes


def check_count(counted: Counted, expected: int) -> None:
    """Raises `Miscounted` when there are not as many letters as `expected`, `Conflict` when they cannot be counted."""
    if not counted.is_complete:
        raise Conflict(
            f"there are more dead letters than can be counted at a time ({MAX_LOOKED_THROUGH:,}); ask for fewer of "
            "them, by time, or leave expected out"
        )
    if counted.count != expected:
        raise Miscounted(expected, counted.count, "dead letters")
