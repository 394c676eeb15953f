"""The records of the job store as PynamoDB models: which attributes an item has, their types, and which it may lack.

`recording.py` reads and writes by them; requests go through the one client of a process, because PynamoDB 6.1 cannot
return the stored item of a failed update. `items/` turns domain values into records and back.
"""

import json
from typing import Any

from pynamodb.attributes import Attribute, BinaryAttribute, BooleanAttribute, UnicodeAttribute
from pynamodb.constants import NUMBER, STRING
from pynamodb.models import Model

from cronfleet.adapters.dynamodb import schema


class WholeAttribute(Attribute[int]):
    """A whole number: versions, counters, and instants in milliseconds."""

    attr_type = NUMBER

    def serialize(self, value: int) -> str:
        return str(int(value))

    def deserialize(self, value: str) -> int:
        return int(value)


class JsonAttribute(Attribute[Any]):
    """Any JSON as compact text, which a person can read in the console and a float survives."""

    attr_type = STRING

    def serialize(self, value: Any) -> str:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        try:
            text.encode()
        except UnicodeEncodeError:
            # JSON may name half of a surrogate pair, which no encoding can carry; its escape can be.
            return json.dumps(value, separators=(",", ":"))
        return text

    def deserialize(self, value: str) -> Any:
        return json.loads(value)


class JsonTextAttribute(JsonAttribute):
    """The same, read as the text it is: whoever asks keeps what each text means, since many items have the same."""

    def deserialize(self, value: str) -> str:
        return value


class TimerRecord(Model):
    """A schedule's hot item. Every claim pays for its size: it stays under 1 KB.

    `due_shard` is there while it waits, `list_tenant` while it is no tombstone; `tz` is the stamp of the zone data.
    """

    class Meta:
        table_name = schema.SCHEDULES.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    schedule_id = UnicodeAttribute()
    list_tenant = UnicodeAttribute(null=True)
    tier = UnicodeAttribute()
    shard = WholeAttribute(null=True)
    due_shard = UnicodeAttribute(null=True)
    status = UnicodeAttribute()
    trigger = JsonTextAttribute()
    calendar = UnicodeAttribute(null=True)
    policies = JsonTextAttribute()
    timeout_seconds = WholeAttribute()
    version = WholeAttribute()
    epoch = WholeAttribute()
    epoch_starts = UnicodeAttribute(null=True)
    born_epoch = WholeAttribute(null=True)
    rev = WholeAttribute()
    nominal_at = WholeAttribute(null=True)
    due_at = WholeAttribute(null=True)
    start_at = WholeAttribute(null=True)
    end_at = WholeAttribute(null=True)
    pause = JsonAttribute(null=True)
    hold = JsonAttribute(null=True)
    parked = JsonAttribute(null=True)
    deferred = JsonAttribute(null=True)
    reserved_at = WholeAttribute(null=True)
    backlog = JsonAttribute(null=True)
    backlog_at = WholeAttribute(null=True)
    kept = WholeAttribute(null=True)
    tz = UnicodeAttribute(null=True)
    labels = UnicodeAttribute(null=True)
    claim_batch = UnicodeAttribute(null=True)
    counted = WholeAttribute(null=True)
    feeds = WholeAttribute(null=True)
    watched = WholeAttribute(null=True)
    change_id = UnicodeAttribute(null=True)
    created_at = WholeAttribute(null=True)
    updated_at = WholeAttribute(null=True)


class RunTimerRecord(Model):
    """The timer of a run's attempt; run and attempt stand in its key. Retired, it expires."""

    class Meta:
        table_name = schema.SCHEDULES.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    kind = UnicodeAttribute()
    tier = UnicodeAttribute()
    shard = WholeAttribute(null=True)
    due_shard = UnicodeAttribute(null=True)
    due_at = WholeAttribute()
    version = WholeAttribute()
    timeout_seconds = WholeAttribute()
    reserved_at = WholeAttribute(null=True)
    deferred = JsonAttribute(null=True)
    claim_batch = UnicodeAttribute(null=True)
    # Under a name that the due index projects for schedules' timers: it takes no further one.
    trace = UnicodeAttribute(null=True, attr_name="labels")
    expires_at = WholeAttribute(null=True)


class ErrandRecord(Model):
    """An errand; tenant, kind and id stand in its key."""

    class Meta:
        table_name = schema.SCHEDULES.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    due_shard = UnicodeAttribute()
    due_at = WholeAttribute()
    rev = WholeAttribute()
    failures = WholeAttribute(null=True)


class DefinitionRecord(Model):
    """One immutable version of a schedule."""

    class Meta:
        table_name = schema.SCHEDULES.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    version = WholeAttribute()
    spec = JsonAttribute()
    author = UnicodeAttribute()
    created_at = WholeAttribute()
    reason = UnicodeAttribute()


class GateRecord(Model):
    """The gate of a schedule or of a concurrency key: who holds it, or held it until `ended_at`, and who waits."""

    class Meta:
        table_name = schema.SCHEDULES.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    holder = UnicodeAttribute()
    ended_at = WholeAttribute(null=True)
    line = JsonAttribute(null=True)
    rev = WholeAttribute(null=True)
    expires_at = WholeAttribute(null=True)


class RunRecord(Model):
    """A row of the ledger; the run's identity stands in its key. Ordinarily under 1 KB."""

    class Meta:
        table_name = schema.RUNS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    status = UnicodeAttribute()
    due_at = WholeAttribute()
    tier = UnicodeAttribute()
    rev = WholeAttribute()
    version = WholeAttribute()
    batch = UnicodeAttribute(null=True)
    claimed_at = WholeAttribute(null=True)
    fence = WholeAttribute()
    attempts = JsonAttribute(null=True)
    lease_until = WholeAttribute(null=True)
    retry_at = WholeAttribute(null=True)
    started_at = WholeAttribute(null=True)
    finished_at = WholeAttribute(null=True)
    lag_ms = WholeAttribute(null=True)
    reason = JsonAttribute(null=True)
    until_nominal_at = WholeAttribute(null=True)
    resent_at = WholeAttribute(null=True)
    late = JsonAttribute(null=True)
    payload = JsonAttribute(null=True)
    kept_days = WholeAttribute(null=True)
    ancestor = UnicodeAttribute(null=True)
    operation = UnicodeAttribute(null=True)
    flows_on = WholeAttribute(null=True)
    joined = JsonAttribute(null=True)
    is_pinned = BooleanAttribute(null=True)
    signature = JsonAttribute(null=True)
    settled = JsonAttribute(null=True)
    cancel = JsonAttribute(null=True)
    progress = JsonAttribute(null=True)
    origin = UnicodeAttribute(null=True)
    failed_tenant = UnicodeAttribute(null=True)
    expires_at = WholeAttribute()


class LetterRecord(Model):
    """What the index of dead letters shows of a row."""

    class Meta:
        table_name = schema.RUNS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    status = UnicodeAttribute()
    finished_at = WholeAttribute()
    signature = JsonAttribute(null=True)
    reason = JsonAttribute(null=True)
    expires_at = WholeAttribute()


class UnreadableRecord(Model):
    """A message of a dead-letter queue that nobody can read."""

    class Meta:
        table_name = schema.SHARDS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    queue = UnicodeAttribute()
    body = UnicodeAttribute()
    why = UnicodeAttribute()
    receives = WholeAttribute()
    sent_at = WholeAttribute()
    came_at = WholeAttribute()
    expires_at = WholeAttribute()
    settled = JsonAttribute(null=True)


class LeaseRecord(Model):
    """The lease of a shard. Batches are kept as sort keys of the log, so that conditions can compare them."""

    class Meta:
        table_name = schema.SHARDS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    owner = UnicodeAttribute()
    fence = WholeAttribute()
    until = WholeAttribute()
    slot_at = WholeAttribute()
    open_batch = UnicodeAttribute(null=True)
    last_batch = UnicodeAttribute(null=True)
    last_losers = JsonAttribute(null=True)
    shards = WholeAttribute(null=True)
    shut_rev = WholeAttribute(null=True)
    shut_in = UnicodeAttribute(null=True)


class BatchRecord(Model):
    """A batch of the dispatch log; `claims` is packed, because every batch pays for its size."""

    class Meta:
        table_name = schema.SHARDS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    previous = UnicodeAttribute(null=True)
    previous_losers = JsonAttribute(null=True)
    claimed_at = WholeAttribute()
    claims = BinaryAttribute(legacy_encoding=False)
    expires_at = WholeAttribute()


class AttemptLogRecord(Model):
    """The end of an attempt's log; `lines` is packed, because a write pays for its size."""

    class Meta:
        table_name = schema.ATTEMPTS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    kept_at = WholeAttribute()
    lines = BinaryAttribute(legacy_encoding=False)
    is_cut = BooleanAttribute(null=True)
    place = JsonAttribute(null=True)
    kept_days = WholeAttribute()
    expires_at = WholeAttribute()


class BooksRecord(Model):
    """How far the sweeper has closed a shard's books; `owed` is packed."""

    class Meta:
        table_name = schema.SHARDS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    rev = WholeAttribute()
    closed_through = UnicodeAttribute(null=True)
    owed = BinaryAttribute(legacy_encoding=False)


class ForecastRecord(Model):
    """What is due of a shard, or of all; or how far the walk is that counts it. `body` is packed."""

    class Meta:
        table_name = schema.SHARDS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    rev = WholeAttribute(null=True)
    body = BinaryAttribute(legacy_encoding=False)
    expires_at = WholeAttribute()


class HeartbeatRecord(Model):
    """A heartbeat URL, by the digest of its token."""

    class Meta:
        table_name = schema.HEARTBEATS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    tenant = UnicodeAttribute()
    schedule_id = UnicodeAttribute()
    born_epoch = WholeAttribute()
    digest = UnicodeAttribute()
    made_by = UnicodeAttribute()
    made_at = WholeAttribute()
    since = WholeAttribute()
    change_id = UnicodeAttribute()
    minute = WholeAttribute()
    pings = WholeAttribute()


class PingRecord(Model):
    """A ping; when it was heard stands in its key."""

    class Meta:
        table_name = schema.HEARTBEATS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    tenant = UnicodeAttribute()
    schedule_id = UnicodeAttribute()
    state = UnicodeAttribute()
    exit_code = WholeAttribute(null=True)
    message = UnicodeAttribute(null=True)
    expires_at = WholeAttribute()


class ReceiptRecord(Model):
    """An effect that was done once. `call` tells the call that recorded it from its repeats."""

    class Meta:
        table_name = schema.RECEIPTS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    fence = WholeAttribute()
    call = UnicodeAttribute()
    value = JsonAttribute()
    recorded_at = WholeAttribute()
    expires_at = WholeAttribute()


class RetimingRecord(Model):
    """A job that looks at schedules again; its id stands in its key while it is open."""

    class Meta:
        table_name = schema.RETIMINGS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    job_id = UnicodeAttribute()
    cause = UnicodeAttribute()
    tenant = UnicodeAttribute(null=True)
    subject = UnicodeAttribute()
    version = WholeAttribute()
    started_at = WholeAttribute()
    cursor = UnicodeAttribute(null=True)
    walked = WholeAttribute()
    postponed = JsonAttribute(null=True)
    seen = WholeAttribute()
    changed = WholeAttribute()
    failed = WholeAttribute()
    finished_at = WholeAttribute(null=True)
    rev = WholeAttribute()
    expires_at = WholeAttribute(null=True)


class OperationRecord(Model):
    """A backfill, re-run or redrive; its tenant and id stand in its key."""

    class Meta:
        table_name = schema.OPERATIONS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    kind = UnicodeAttribute()
    asked = JsonAttribute()
    created_by = UnicodeAttribute()
    created_at = WholeAttribute()
    change_id = UnicodeAttribute()
    reason = UnicodeAttribute(null=True)
    total = WholeAttribute(null=True)
    max_concurrent = WholeAttribute()
    rate_per_minute = WholeAttribute(null=True)
    status = UnicodeAttribute()
    cursor = UnicodeAttribute(null=True)
    is_drawn = BooleanAttribute(null=True)
    open = JsonAttribute(null=True)
    counts = JsonAttribute(null=True)
    recent = JsonAttribute(null=True)
    excluded = JsonAttribute(null=True)
    line_at = WholeAttribute()
    stopped = JsonAttribute(null=True)
    changed_at = WholeAttribute()
    ended_at = WholeAttribute(null=True)
    rev = WholeAttribute()
    origin = UnicodeAttribute(null=True)
    expires_at = WholeAttribute(null=True)


class ZoneReleaseRecord(Model):
    """The zone release in force, and the one that is coming."""

    class Meta:
        table_name = schema.RETIMINGS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    release = UnicodeAttribute(null=True)
    since = WholeAttribute()
    coming = UnicodeAttribute(null=True)
    coming_since = WholeAttribute(null=True)
    rev = WholeAttribute()


class CalendarHeadRecord(Model):
    """What stands first of a calendar: its newest version."""

    class Meta:
        table_name = schema.CALENDARS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    version = WholeAttribute()
    covers_until = WholeAttribute()
    description = UnicodeAttribute()
    updated_at = WholeAttribute()
    change_id = UnicodeAttribute()
    is_deleted = WholeAttribute(null=True)


class CalendarRecord(Model):
    """One immutable version of a calendar."""

    class Meta:
        table_name = schema.CALENDARS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    version = WholeAttribute()
    content = BinaryAttribute(legacy_encoding=False)
    author = UnicodeAttribute()
    created_at = WholeAttribute()
    reason = UnicodeAttribute()
