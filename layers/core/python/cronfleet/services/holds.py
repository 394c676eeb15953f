"""Holds: this region's installation, or another's that shares the tables, is held and released by platform admins.

A hold that has returned is obeyed by whoever reads, because everybody has read it by then; and by whoever sleeps and
reads nothing, because each shard was shut: whoever does not know of the hold can announce nothing more there.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from cronfleet.domain.audit import subject
from cronfleet.domain.errors import Conflict, Invalid
from cronfleet.domain.form import Form
from cronfleet.domain.freeze import OBEYED_AFTER
from cronfleet.domain.hold import DEPLOYMENT, MAY_LACK, TAKEOVER, Here, Hold, Mode, Switch, held, released
from cronfleet.domain.hold_form import switch_form
from cronfleet.domain.instant import SECOND, Instant, ceil_second
from cronfleet.domain.retiming import Cause, Retiming, for_failover
from cronfleet.domain.role import Role
from cronfleet.ports.clock import Ids, WaitingClock
from cronfleet.ports.job_store import Damaged, InsertRetiming, JobStore
from cronfleet.ports.noticeboard import PutSwitch
from cronfleet.services.access import Caller
from cronfleet.services.changing import Answer, Changing, Draft, Once, answer_of, audit
from cronfleet.services.draining import Draining, served_shards

HOLD: Final = "hold"
RELEASE: Final = "release"
MEND: Final = "mend"
"""The actions, as the audit log names them."""


MAX_JOBS: Final = 100
"""Jobs of the past that are looked through for that of a fail-over."""


class Holds:
    """The service behind /v1/hold."""

    def __init__(self, *, store: JobStore, clock: WaitingClock, ids: Ids, shards: int) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._shards = shards
        self._changing = Changing(store, clock)
        self._draining = Draining(store=store, clock=clock, shards=shards)

    def read(self, region: str | None = None) -> Form:
        """How an installation is held and lately was; of this region's own also how far it has come to rest, and what
        is known of others.
        """
        switch = self._switch(region)
        form = switch_form(switch, self._store.here)
        if switch.region != self._store.here.region:
            return {**form, "going_on": None, "elsewhere": []}
        elsewhere = [switch_form(one, Here(one.region)) for one in answer_of(self._store.get_notices).elsewhere]
        return {**form, "going_on": self._going_on(switch), "elsewhere": elsewhere}

    def _going_on(self, switch: Switch) -> Form | None:
        """What is left to finish under a hold; nothing is known of that in a standby which has never run."""
        hold = switch.in_force(self._store.here)
        if hold is None or hold.by == DEPLOYMENT:
            return None
        return answer_of(lambda: self._draining.count(switch.rev)).form()

    def hold(
        self, caller: Caller, mode: Mode, *, reason: str, region: str | None = None, once: Once | None = None
    ) -> Answer:
        """Nothing is claimed in `region` (`None`: here) after this has returned, until it is released.

        Of another region's that is true once its copy of the tables has it, and no shard of it is shut. `Conflict`
        where a standby is to be drained.
        """
        caller.require(Role.PLATFORM_ADMIN)

        def decide(now: Instant) -> Draft:
            before = self._switch(region)
            change_id = self._ids.unique()
            hold = Hold(change_id, mode, caller.actor, now, reason)
            after = held(before, self._there(before), hold, change_id=change_id)
            return self._draft(caller, before, after, HOLD, reason, now)

        answer = self._changing.change(caller, once, decide)
        self._shut(region)
        return self._obeyed(answer, region)

    def mend(self, caller: Caller, *, reason: str, once: Once | None = None) -> Answer:
        """Look once more for what was lost on the way to this region, now that what the other wrote has come after all.

        `Conflict` where no standby was ever released here, or it is one.
        """
        caller.require(Role.PLATFORM_ADMIN)

        def decide(now: Instant) -> Draft:
            switch = self._switch(None)
            taken = [hold.until or 0 for hold in switch.ended if hold.is_standby]
            if not taken or switch.in_force(self._store.here) is not None:
                raise Conflict("there is nothing to mend: no standby was released here, or it is one now")
            change_id, region = self._ids.unique(), switch.region or "here"
            job = for_failover(change_id, region, self._lacks_since(taken[-1]), taken[-1])
            about, form = subject("hold", region), switch_form(switch, self._store.here)
            entry = audit(caller, change_id, now, MEND, about, reason=reason, before=form, after=form)
            return Draft([InsertRetiming(job), entry], Answer(form))

        return replace(self._changing.change(caller, once, decide), form=self.read())

    def _lacks_since(self, released_at: Instant) -> Instant:
        """Since when the copy may have lacked something, as the jobs say that mended it first."""
        jobs = [*answer_of(lambda: self._store.finished_retimings(MAX_JOBS)), *self._open_jobs()]
        own = [job for job in jobs if job.cause is Cause.FAILOVER and job.started_at == released_at]
        return min((job.version * SECOND for job in own), default=released_at - MAY_LACK)

    def _open_jobs(self) -> Sequence[Retiming]:
        return answer_of(lambda: self._store.open_retimings(MAX_JOBS))

    def release(self, caller: Caller, *, reason: str, region: str | None = None) -> Answer:
        """Claiming goes on in `region` (`None`: here), within a second or two; what came due meanwhile is missed time,
        of which each schedule's misfire policy decides. Nothing to do where nothing is held.

        A standby takes over: what its copy of the tables lacks is made up for by the sweeper.
        """
        caller.require(Role.PLATFORM_ADMIN)

        def decide(now: Instant) -> Draft:
            before = self._switch(region)
            found = before.in_force(self._there(before))
            if found is None:
                return Draft((), Answer(switch_form(before, self._store.here)))
            change_id = self._ids.unique()
            after = released(before, self._there(before), by=caller.actor, now=now, reason=reason, change_id=change_id)
            draft = self._draft(caller, before, after, RELEASE, reason, now)
            if not found.is_standby or before.region != self._store.here.region:
                return draft
            job = for_failover(change_id, after.region or "here", self._take_over(after.rev, now), now)
            return replace(draft, writes=[*draft.writes, InsertRetiming(job)])

        return self._obeyed(self._changing.change(caller, None, decide), region)

    def _switch(self, region: str | None) -> Switch:
        wanted = self._store.here.region if region is None else region
        try:
            return answer_of(lambda: self._store.get_switch(wanted))
        except Damaged as error:
            raise Invalid("region", f"has a switch that cannot be read: {error}") from error

    def _there(self, switch: Switch) -> Here:
        """The installation whose switch it is; as what another region's was deployed is not known here."""
        return self._store.here if switch.region == self._store.here.region else Here(switch.region)

    def _draft(self, caller: Caller, before: Switch, after: Switch, action: str, reason: str, now: Instant) -> Draft:
        said = {"before": switch_form(before, self._store.here), "after": switch_form(after, self._store.here)}
        about = subject("hold", after.region or "here")
        entry = audit(caller, after.change_id, now, action, about, reason=reason, **said)
        return Draft([PutSwitch(after), entry], Answer(said["after"]))

    def _shut(self, region: str | None) -> None:
        """Keep every shard of this region from whoever has not read the hold, however long it sleeps."""
        if region not in (None, self._store.here.region):
            return
        rev = self._switch(region).rev
        for shard in range(answer_of(lambda: served_shards(self._store, self._shards))):
            answer_of(partial(self._store.shut, shard, rev))

    def _take_over(self, rev: int, now: Instant) -> Instant:
        """Raise the fences past the other region's, before anybody claims here; since when something may lack."""
        arrived_at = now
        for shard in range(answer_of(lambda: served_shards(self._store, self._shards))):
            lease = answer_of(partial(self._store.get_lease, shard))
            arrived_at = min(arrived_at, lease.slot_at) if lease is not None and lease.slot_at > 0 else arrived_at
            answer_of(partial(self._store.shut, shard, rev, TAKEOVER))
        return arrived_at - MAY_LACK

    def _obeyed(self, answer: Answer, region: str | None) -> Answer:
        """The answer, once everybody has read what was written."""
        self._clock.wait_until(ceil_second(self._clock.now() + OBEYED_AFTER))
        return replace(answer, form=self.read(region))
