"""Channels: where a tenant is told of incidents, as its administrators set them up."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from cronfleet.domain.audit import subject
from cronfleet.domain.channel import MAX_CHANNELS, Channel, channel_form, check_channel
from cronfleet.domain.errors import Conflict, NotFound
from cronfleet.domain.form import Form
from cronfleet.domain.instant import Instant
from cronfleet.domain.notice import Edge, Notice, notice_form, notice_id_of
from cronfleet.ports.alerts import PutAlert
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import JobStore
from cronfleet.services.access import Caller
from cronfleet.services.changing import Answer, Changing, Draft, Once, answer_of, audit
from cronfleet.services.incidents import owing, owner_of

PUT: Final = "put_channel"
DELETE: Final = "delete_channel"
TEST: Final = "test_channel"
"""The actions, as the audit log names them."""


class Channels:
    """The service behind /v1/channels and /v1/notices; `shards` is the installation's number of them."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids, shards: int) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._shards = shards
        self._changing = Changing(store, clock)

    def list(self, caller: Caller, *, platform: bool) -> Sequence[Form]:
        """All channels, by name."""
        owner = owner_of(caller, platform=platform)
        return [channel_form(one) for one in answer_of(lambda: self._store.list_channels(owner))]

    def get(self, caller: Caller, name: str, *, platform: bool) -> Form:
        """One channel; `NotFound`."""
        return channel_form(self._require(owner_of(caller, platform=platform), name))

    def put(self, caller: Caller, name: str, make: Callable[[str], Channel], *, platform: bool, reason: str) -> Answer:
        """Make the channel, or replace it. `make` builds it for its owner; raises `Invalid`, and `Conflict` when there
        are too many. An equal one changes nothing.
        """
        owner = owner_of(caller, platform=platform)

        def decide(now: Instant) -> Draft:
            wanted = make(owner)
            check_channel(wanted)
            stored = answer_of(lambda: self._store.get_channel(owner, name))
            before = None if stored is None or stored.is_deleted else stored
            if before is None:
                self._check_number(owner)
            change_id = self._ids.unique()
            after = replace(
                wanted,
                created_at=now if before is None else before.created_at,
                updated_at=now,
                rev=1 if stored is None else stored.rev + 1,
                change_id=change_id,
            )
            if before is not None and _said(before) == _said(after):
                return Draft((), Answer(channel_form(before)))
            said = {"before": None if before is None else channel_form(before), "after": channel_form(after)}
            entry = audit(caller, change_id, now, PUT, subject("channel", name), reason=reason, **said)
            return Draft([PutAlert(after), entry], Answer(channel_form(after), created=before is None))

        return self._changing.change(caller, None, decide)

    def _check_number(self, owner: str) -> None:
        there = answer_of(lambda: self._store.list_channels(owner))
        if len(there) >= MAX_CHANNELS:
            raise Conflict(f"there are {MAX_CHANNELS} channels, which is as many as there may be; delete one first")

    def delete(self, caller: Caller, name: str, *, platform: bool, reason: str) -> None:
        """Nothing is told to it any more; notices that are owed to it are dropped."""
        owner = owner_of(caller, platform=platform)

        def decide(now: Instant) -> Draft:
            before = self._require(owner, name)
            change_id = self._ids.unique()
            after = replace(before, is_deleted=True, updated_at=now, rev=before.rev + 1, change_id=change_id)
            said = {"before": channel_form(before), "after": None, "reason": reason}
            entry = audit(caller, change_id, now, DELETE, subject("channel", name), **said)
            return Draft([PutAlert(after), entry], Answer({}))

        self._changing.change(caller, None, decide)

    def test(self, caller: Caller, name: str, *, platform: bool, once: Once | None = None) -> Answer:
        """Owe a message that says it is a test; the clerk delivers it in a few seconds, in quiet hours too."""
        owner = owner_of(caller, platform=platform)

        def decide(now: Instant) -> Draft:
            self._require(owner, name)
            change_id = self._ids.unique()
            notice = Notice(owner, notice_id_of(change_id, Edge.TEST, name), Edge.TEST, name, now)
            entry = audit(caller, change_id, now, TEST, subject("channel", name))
            return Draft([*owing(notice, now, self._shards), entry], Answer(notice_form(notice), created=True))

        return self._changing.change(caller, once, decide)

    def notice(self, caller: Caller, notice_id: str, *, platform: bool) -> Form:
        """What became of a message; `NotFound`."""
        owner = owner_of(caller, platform=platform)
        found = answer_of(partial(self._store.get_notice, owner, notice_id))
        if found is None:
            raise NotFound("notice", notice_id)
        return notice_form(found)

    def _require(self, owner: str, name: str) -> Channel:
        found = answer_of(lambda: self._store.get_channel(owner, name))
        if found is None or found.is_deleted:
            raise NotFound("channel", name)
        return found


def _said(channel: Channel) -> Channel:
    """What its owner wrote of it."""
    return replace(channel, created_at=0, updated_at=0, rev=1, change_id="")
