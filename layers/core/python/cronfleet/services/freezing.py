"""Freezing: a label, a tenant or a tier is frozen and thawed by callers, in one write however many schedules it holds.

Each change returns once everybody has read it, so that nothing starts after a freeze has returned, and everything is
on again when a thaw has.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from cronfleet.domain.audit import subject
from cronfleet.domain.errors import Conflict, Invalid, NotFound
from cronfleet.domain.form import Form
from cronfleet.domain.freeze import (
    OBEYED_AFTER,
    Freeze,
    LabelScope,
    Scope,
    TenantScope,
    Thaw,
    TierScope,
    with_freeze,
    with_tier_freeze,
)
from cronfleet.domain.freeze_form import answered_freeze, freeze_form
from cronfleet.domain.instant import Instant, ceil_second, to_text
from cronfleet.domain.role import Role
from cronfleet.ports.clock import Ids, WaitingClock
from cronfleet.ports.freezes import PutFreezeDirectory, PutFreezeList
from cronfleet.ports.job_store import JobStore, Write
from cronfleet.services.access import Caller
from cronfleet.services.changing import Answer, Changing, Draft, Once, answer_of, audit

FREEZE: Final = "freeze"
THAW: Final = "thaw"
EDIT: Final = "edit_freeze"
"""The actions, as the audit log names them."""


@dataclass(frozen=True, slots=True)
class WholeTenant:
    """Asked for: every schedule of the caller's tenant."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Asked for: those of the caller's tenant that have all of these labels."""

    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WholeTier:
    """Asked for: every schedule of every tenant of a tier."""

    tier: str


Asked: TypeAlias = WholeTenant | Labels | WholeTier


@dataclass(frozen=True, slots=True)
class FreezePatch:
    """What is to change: the reason (`None`: it stays) and, if it `moves_end`, the end: to `until` (`None`: away)."""

    reason: str | None = None
    moves_end: bool = False
    until: Instant | None = None


class Freezing:
    """The service behind /v1/freezes."""

    def __init__(self, *, store: JobStore, clock: WaitingClock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._changing = Changing(store, clock)

    # --- reading -------------------------------------------------------------------------------------------------

    def list(self, caller: Caller) -> Sequence[Form]:
        """The freezes of the caller's tenant and tier, oldest first, those that have lately ended too."""
        now = self._clock.now()
        return [answered_freeze(freeze, now) for freeze in sorted(self._known(caller), key=lambda one: one.at)]

    def get(self, caller: Caller, freeze_id: str) -> Form:
        """One of them; `NotFound` when there is none of that id, it is another tenant's, or it ended long ago."""
        return answered_freeze(self._require(caller, freeze_id), self._clock.now())

    def _known(self, caller: Caller) -> tuple[Freeze, ...]:
        """What holds the caller's schedules; a platform admin sees the freezes of all tiers."""
        tenant = caller.tenant
        tiers = answer_of(self._store.get_freeze_directory).tiers
        seen = caller.role.allows(Role.PLATFORM_ADMIN)
        shown = (freeze for freeze in tiers if seen or freeze.scope == TierScope(tenant.tier))
        return (*shown, *answer_of(lambda: self._store.get_freeze_list(tenant.tenant_id)).freezes)

    def _require(self, caller: Caller, freeze_id: str) -> Freeze:
        found = next((freeze for freeze in self._known(caller) if freeze.freeze_id == freeze_id), None)
        if found is None:
            raise NotFound("freeze", freeze_id)
        return found

    # --- changing ------------------------------------------------------------------------------------------------

    def freeze(
        self, caller: Caller, asked: Asked, *, reason: str, until: Instant | None = None, once: Once | None = None
    ) -> Answer:
        """Nothing of what is frozen starts after this has returned, until it is thawed or `until` has come.

        What runs goes on to its end. `Forbidden` where a tier is asked for by anybody but a platform admin, `Conflict`
        when too many freezes are in force.
        """
        scope = _scope_of(caller, asked)

        def decide(now: Instant) -> Draft:
            _check_until(until, now)
            end = None if until is None else ceil_second(until)
            freeze = Freeze(self._ids.unique(), scope, caller.actor, now, reason, end)
            return self._draft(caller, None, freeze, FREEZE, reason, now)

        return self._obeyed(caller, decide, once)

    def edit(self, caller: Caller, freeze_id: str, patch: FreezePatch) -> Answer:
        """Another end, or none, or another reason, for a freeze that is in force; `Conflict` for any other."""

        def decide(now: Instant) -> Draft:
            before = self._changeable(caller, freeze_id, now)
            after = before if patch.reason is None else replace(before, reason=patch.reason)
            if patch.moves_end:
                _check_until(patch.until, now)
                after = replace(after, until=None if patch.until is None else ceil_second(patch.until))
            if after == before:
                return Draft((), Answer(answered_freeze(before, now)))
            return self._draft(caller, before, after, EDIT, after.reason, now)

        return self._obeyed(caller, decide)

    def thaw(self, caller: Caller, freeze_id: str, reason: str = "") -> Answer:
        """What it held is on again when this returns: from the next regular time, and of what it held back what each
        schedule's own `after_pause` wants. A freeze that has ended stays as it is.
        """

        def decide(now: Instant) -> Draft:
            found = self._require(caller, freeze_id)
            if found.has_ended(now) or found.thawed is not None:
                return Draft((), Answer(answered_freeze(found, now)))
            before = self._changeable(caller, freeze_id, now)
            after = before.thawed_by(Thaw(caller.actor, now, reason))
            return self._draft(caller, before, after, THAW, reason, now)

        return self._obeyed(caller, decide)

    def _changeable(self, caller: Caller, freeze_id: str, now: Instant) -> Freeze:
        freeze = self._require(caller, freeze_id)
        if isinstance(freeze.scope, TierScope):
            caller.require(Role.PLATFORM_ADMIN)
        if freeze.suspends:
            raise Conflict("this freeze suspends the tenant: it ends when a platform admin resumes the tenant")
        if freeze.has_ended(now) or freeze.thawed is not None:
            raise Conflict(f"the freeze ended at {to_text(freeze.until or now)}; make a new one")
        return freeze

    def _draft(
        self, caller: Caller, before: Freeze | None, after: Freeze, action: str, reason: str, now: Instant
    ) -> Draft:
        change_id = self._ids.unique()
        said = {"before": None if before is None else freeze_form(before), "after": freeze_form(after)}
        entry = audit(caller, change_id, now, action, subject("freeze", after.freeze_id), reason=reason, **said)
        writes = [*self._put(after, now, change_id), entry]
        return Draft(writes, Answer(answered_freeze(after, now), created=before is None))

    def _put(self, freeze: Freeze, now: Instant, change_id: str) -> Sequence[Write]:
        directory = answer_of(self._store.get_freeze_directory)
        if isinstance(freeze.scope, TierScope):
            return [PutFreezeDirectory(with_tier_freeze(directory, freeze, now=now, change_id=change_id))]
        tenant = freeze.scope.tenant
        kept = answer_of(lambda: self._store.get_freeze_list(tenant))
        after, marked = with_freeze(kept, directory, freeze, now=now, change_id=change_id)
        return [PutFreezeList(after), PutFreezeDirectory(marked)]

    def _obeyed(self, caller: Caller, decide: Callable[[Instant], Draft], once: Once | None = None) -> Answer:
        """The answer, once everybody has read what is frozen now, and a thaw's moment has come."""
        answer = self._changing.change(caller, once, decide)
        self._clock.wait_until(ceil_second(self._clock.now() + OBEYED_AFTER))
        form = answer.form
        return answer if form["thawed"] is None else replace(answer, form={**form, "status": "ended"})


def _scope_of(caller: Caller, asked: Asked) -> Scope:
    match asked:
        case WholeTier(tier):
            caller.require(Role.PLATFORM_ADMIN)
            return TierScope(tier)
        case Labels(labels):
            return LabelScope(caller.tenant.tenant_id, tuple(sorted(labels.items())))
    return TenantScope(caller.tenant.tenant_id)


def _check_until(until: Instant | None, now: Instant) -> None:
    if until is not None and until <= now + OBEYED_AFTER:
        raise Invalid("until", "is past, or about to come; write a later time, leave it out, or thaw with DELETE")
