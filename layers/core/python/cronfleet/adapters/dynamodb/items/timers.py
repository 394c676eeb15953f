"""Timers of schedules and of runs, as items of the table `schedules`."""

import json
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from math import floor
from typing import Any, Final

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.backlogs import backlog_json, backlog_of
from cronfleet.adapters.dynamodb.items.errands import errand_of
from cronfleet.adapters.dynamodb.items.packing import packed_hashes, packed_instants, unpacked_hashes, unpacked_instants
from cronfleet.adapters.dynamodb.items.policies import (
    Timing,
    breaker_json,
    breaker_of,
    is_spread,
    timing_json,
    timing_of,
)
from cronfleet.adapters.dynamodb.items.reasons import reason_json, reason_of
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.records import RunTimerRecord, TimerRecord
from cronfleet.domain import trigger as triggers
from cronfleet.domain.backlog import first_of
from cronfleet.domain.claim import DueItem, RunTimer, TimerKind, Unreadable
from cronfleet.domain.errors import CronfleetError, Invalid
from cronfleet.domain.instant import DAY, SECOND, Instant
from cronfleet.domain.schedule import BreakerPolicy, Hold, Pause, Shadow, Status, Timer
from cronfleet.domain.trace import read_traceparent, written_traceparent
from cronfleet.domain.trigger import Trigger
from cronfleet.domain.zone_stamp import ZoneStamp
from cronfleet.ports.job_store import Damaged

RETIRED_LIFE: Final = 20 * DAY
"""How long a retired timer is kept, so that a batch can still recognise its own claim: as long as batches are."""

MAX_WHY_CHARACTERS: Final = 300

TEXTS_KEPT: Final = 4_096
"""Stored texts of triggers, and as many of policies, whose meaning a process keeps: many schedules have the same."""
STAMPS_KEPT: Final = 256
"""Stamps of the zone data: a release and an offset make one."""

_CRON: Final = '{"c":'

_UNREADABLE: Final = (CronfleetError, ValueError, KeyError, TypeError, AttributeError)


def timer_item(timer: Timer) -> Item:
    """A schedule's timer as an item."""
    waits = timer.due_at is not None
    bare, calendar = apart(triggers.to_record(timer.trigger))
    return written(
        TimerRecord,
        keys.schedule(timer.tenant, timer.schedule_id),
        keys.TIMER,
        schedule_id=timer.schedule_id,
        list_tenant=None if timer.status is Status.CANCELLED else timer.tenant,
        tier=timer.tier,
        shard=timer.shard,
        due_shard=keys.due_shard(timer.shard) if waits else None,
        status=timer.status.value,
        trigger=bare,
        calendar=calendar,
        policies=_policies_json(timer),
        timeout_seconds=timer.timeout_seconds,
        version=timer.version,
        epoch=timer.epoch,
        epoch_starts=packed_instants(timer.epoch_starts),
        born_epoch=timer.born_epoch,
        rev=timer.rev,
        nominal_at=timer.nominal_at,
        due_at=timer.due_at,
        start_at=timer.start_at,
        end_at=timer.end_at,
        pause=_pause_json(timer.pause),
        hold=_hold_json(timer.hold),
        parked=reason_json(timer.parked),
        deferred=reason_json(timer.deferred),
        reserved_at=timer.reserved_at,
        backlog=backlog_json(timer.backlog),
        backlog_at=first_of(timer.backlog),
        kept=timer.caught_up_from,
        tz=None if timer.zone_data is None else str(timer.zone_data),
        labels=packed_hashes(timer.labels),
        claim_batch=timer.claim_batch,
        counted=1 if timer.is_counted else None,
        feeds=1 if timer.feeds else None,
        watched=1 if timer.is_watched else None,
        change_id=timer.change_id or None,
        created_at=timer.created_at,
        updated_at=timer.updated_at,
    )


def timer_of(item: Item) -> Timer:
    """The timer in `item`, which may come from the due index; raises `Damaged`."""
    record = read(TimerRecord, item)
    try:
        return _timer(record)
    except _UNREADABLE as error:
        raise damaged(item, error) from error


def _timer(record: TimerRecord) -> Timer:
    tenant, schedule_id = keys.parse_schedule(record.pk)
    (misfire, after_pause, overlap, jitter_seconds, concurrency_key), breaker, spread = _policies_of(record.policies)
    return Timer(
        tenant,
        schedule_id,
        record.tier,
        shard=int(record.due_shard) if record.shard is None else record.shard,
        status=Status(record.status),
        trigger=_trigger_of(record.trigger, record.calendar),
        misfire=misfire,
        overlap=overlap,
        jitter_seconds=jitter_seconds,
        timeout_seconds=record.timeout_seconds,
        version=record.version,
        epoch=record.epoch,
        epoch_starts=unpacked_instants(record.epoch_starts or ""),
        born_epoch=record.born_epoch or 0,
        rev=record.rev,
        nominal_at=record.nominal_at,
        due_at=record.due_at,
        start_at=record.start_at,
        end_at=record.end_at,
        pause=_pause_of(record.pause),
        hold=_hold_of(record.hold),
        parked=reason_of(record.parked),
        deferred=reason_of(record.deferred),
        reserved_at=record.reserved_at,
        backlog=backlog_of(record.backlog, record.backlog_at),
        caught_up_from=record.kept,
        zone_data=None if record.tz is None else _stamp_of(record.tz),
        after_pause=after_pause,
        labels=unpacked_hashes(record.labels),
        claim_batch=record.claim_batch,
        concurrency_key=concurrency_key,
        breaker=breaker,
        is_spread=spread,
        is_counted=record.counted is not None,
        feeds=record.feeds is not None,
        is_watched=record.watched is not None,
        change_id=record.change_id or "",
        created_at=record.created_at or 0,
        updated_at=record.updated_at or 0,
    )


def _trigger_of(text: str, calendar: str | None) -> Trigger:
    """The trigger in a stored text. Only those of crons are kept: intervals and one-shots have an instant of their own,
    and what a one-shot means depends on the zone data at work.
    """
    return _cron_of(text, calendar) if text.startswith(_CRON) else _parsed(text, calendar)


def _parsed(text: str, calendar: str | None) -> Trigger:
    return trigger_of(together(json.loads(text), calendar))


_cron_of: Final = lru_cache(maxsize=TEXTS_KEPT)(_parsed)


@lru_cache(maxsize=TEXTS_KEPT)
def _policies_of(text: str) -> tuple[Timing, BreakerPolicy | None, bool]:
    stored = json.loads(text)
    return timing_of(stored), breaker_of(stored), is_spread(stored)


_stamp_of: Final = lru_cache(maxsize=STAMPS_KEPT)(ZoneStamp.parse)


def apart(stored: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """A stored trigger without the name of its calendar, and that: an index sorts by it, and it is kept once."""
    if "k" not in stored:
        return dict(stored), None
    name, *rest = stored["k"]
    return {**stored, "k": rest}, name


def together(stored: Mapping[str, Any], calendar: str | None) -> Mapping[str, Any]:
    """The reverse of `apart`."""
    return stored if calendar is None or "k" not in stored else {**stored, "k": [calendar, *stored["k"]]}


def trigger_of(stored: Mapping[str, Any]) -> Trigger:
    """A stored trigger; raises `Invalid` when it cannot even be shown."""
    try:
        return triggers.from_record(stored)
    except Invalid:
        # An expression or zone that is none any more (zones leave the package): the timer is still shown and edited,
        # and whoever asks the trigger for its next fire is told what is wrong, and parks it.
        if isinstance(stored.get("c"), str) and isinstance(stored.get("z"), str):
            return triggers.unchecked_cron(stored)
        raise


def _policies_json(timer: Timer) -> dict[str, Any]:
    timing = timing_json(
        timer.misfire,
        timer.after_pause,
        timer.overlap,
        timer.jitter_seconds,
        timer.concurrency_key,
        is_spread=timer.is_spread,
    )
    return timing | breaker_json(timer.breaker)


def _pause_json(pause: Pause | None) -> dict[str, Any] | None:
    if pause is None:
        return None
    stored: dict[str, Any] = {"by": pause.by, "at": pause.at}
    if pause.reason:
        stored["reason"] = pause.reason
    if pause.until is not None:
        stored["until"] = pause.until
    return stored


def _pause_of(stored: Mapping[str, Any] | None) -> Pause | None:
    if stored is None:
        return None
    return Pause(stored["by"], stored["at"], stored.get("reason", ""), stored.get("until"))


def _hold_json(hold: Hold | None) -> list[Any] | None:
    """Positions, not names: it stands in the due index too."""
    if hold is None:
        return None
    shadow = hold.shadow
    return [hold.by, hold.at] if shadow is None else [hold.by, hold.at, shadow.by, shadow.at]


def _hold_of(stored: list[Any] | None) -> Hold | None:
    if stored is None:
        return None
    by, at, *shadow = stored
    return Hold(by, at, Shadow(*shadow) if shadow else None)


def run_timer_item(timer: RunTimer) -> Item:
    """A run's timer as an item. One that is claimed has left the index."""
    retired = timer.claim_batch is not None
    return written(
        RunTimerRecord,
        keys.schedule(timer.key.tenant, timer.key.schedule_id),
        keys.run_timer(timer.key, timer.attempt),
        kind=timer.kind.value,
        tier=timer.tier,
        shard=timer.shard,
        due_shard=None if retired else keys.due_shard(timer.shard),
        due_at=timer.due_at,
        version=timer.version,
        timeout_seconds=timer.timeout_seconds,
        reserved_at=timer.reserved_at,
        deferred=reason_json(timer.deferred),
        claim_batch=timer.claim_batch,
        trace=written_traceparent(timer.trace),
        expires_at=expiry_of_retired(timer.due_at) if retired else None,
    )


def expiry_of_retired(now: Instant) -> int:
    """When a timer that is retired at `now` may be forgotten, in whole seconds."""
    return (now + RETIRED_LIFE) // SECOND


def run_timer_of(item: Item) -> RunTimer:
    """The run's timer in `item`, which may come from the due index; raises `Damaged`."""
    record = read(RunTimerRecord, item)
    try:
        key, attempt = keys.parse_run_timer(record.pk, record.sk)
        return RunTimer(
            key,
            TimerKind(record.kind),
            attempt,
            record.due_at,
            record.tier,
            shard=int(record.due_shard) if record.shard is None else record.shard,
            version=record.version,
            timeout_seconds=record.timeout_seconds,
            claim_batch=record.claim_batch,
            reserved_at=record.reserved_at,
            deferred=reason_of(record.deferred),
            trace=read_traceparent(record.trace),
        )
    except _UNREADABLE as error:
        raise damaged(item, error) from error


def due_item_of(item: Item) -> DueItem:
    """Whatever waits in the due index under `item`; what cannot be read becomes `Unreadable`, never an exception."""
    partition, sort = item["pk"]["S"], item["sk"]["S"]
    try:
        if keys.is_errand(sort):
            return errand_of(item)
        return run_timer_of(item) if keys.is_run_timer(sort) else timer_of(item)
    except Damaged as error:
        return Unreadable(partition, sort, floor(Decimal(item["due_at"]["N"])), str(error)[:MAX_WHY_CHARACTERS])
