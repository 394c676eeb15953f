"""Keys: how tenants, schedules, runs and batches become partition and sort keys, and back.

Ids hold neither `#` nor `~` (`domain.tenant.ID_PATTERN`), so what is joined here can be taken apart again.
"""

import zlib
from typing import Final

from cronfleet.adapters.dynamodb import schema
from cronfleet.domain.claim import BatchId
from cronfleet.domain.instant import Instant, from_compact, to_compact
from cronfleet.domain.run import RunKey

TIMER: Final = "TIMER"
GATE: Final = "GATE"
DEPENDANTS: Final = "DEPENDANTS"
DEPENDENCIES: Final = "DEPENDENCIES"
LEASE: Final = "LEASE"
BOOKS: Final = "BOOKS"
FORECAST: Final = "FORECAST"
"""The partition of what the sweeper counts ahead: of each shard, of all, and how far it has come."""
FORECAST_SHARD: Final = "SHARD#"
WHOLE: Final = "WHOLE"
WALK: Final = "WALK"
API_KEY: Final = "KEY"
TENANT: Final = "TENANT"
SCHEDULE_COUNT: Final = "COUNT#schedules"
"""How far a tenant's schedules are counted; the slices of the count follow it."""
DELETION: Final = "DELETION"
OPEN_DELETIONS: Final = "DELETIONS"
DIRECTORY: Final = "TENANTS"
"""The one partition of the index `directory`, which lists the tenants."""
OPEN_RETIMINGS: Final = "OPEN"
FINISHED_RETIMINGS: Final = "FINISHED"
ZONE_DATA: Final = "ZONE_DATA"
RELEASE: Final = "RELEASE"

FREEZES: Final = "FREEZES"
FREEZE_DIRECTORY: Final = "DIRECTORY"
_SHEET: Final = "SHEET#"
HOLD: Final = "HOLD#"
"""How the sort keys of switches begin, in the partition of the directory of freezes."""

_RUN_TIMER: Final = "RUN#"
_ERRANDS: Final = "~errands-"
"""No schedule's id begins so."""
_ERRAND: Final = "ERRAND#"
_BATCH: Final = "B#"


def schedule(tenant: str, schedule_id: str) -> str:
    """The partition of a schedule, in the tables `schedules`, `runs`, `attempts` and `receipts`."""
    return f"{tenant}#{schedule_id}"


def forecast(shard: int) -> str:
    """The sort key of what was counted of a shard."""
    return f"{FORECAST_SHARD}{shard:04}"


def parse_schedule(partition: str) -> tuple[str, str]:
    """Tenant and schedule id; raises `ValueError`."""
    tenant, separator, schedule_id = partition.partition("#")
    if not separator:
        raise ValueError(f"{partition!r} is not the partition of a schedule")
    return tenant, schedule_id


LAST_VERSION: Final = 999_999
"""The highest number whose sort key sorts as a number does."""


def version(number: int) -> str:
    """The sort key of a definition."""
    return f"V#{number:06}"


def run(key: RunKey) -> str:
    """The sort key of a ledger row: rows of one schedule in the order of their nominal times."""
    return f"{key.epoch:09}#{to_compact(key.nominal_at)}#{key.cause}"


def parse_run(partition: str, sort: str) -> RunKey:
    """The reverse of `schedule` and `run`; raises `ValueError`."""
    tenant, schedule_id = parse_schedule(partition)
    epoch, nominal, cause = sort.split("#")
    return RunKey(tenant, schedule_id, int(epoch), from_compact(nominal), cause)


def after_runs(epoch: int, nominal_at: Instant) -> str:
    """What sorts after every ledger row of this epoch and nominal, and before every later one."""
    return f"{epoch:09}#{to_compact(nominal_at)}~"


def run_timer(key: RunKey, attempt: int) -> str:
    """The sort key of the timer of a run's attempt."""
    return f"{_RUN_TIMER}{run(key)}#{attempt:03}"


def is_run_timer(sort: str) -> bool:
    """Whether `sort` was made by `run_timer`."""
    return sort.startswith(_RUN_TIMER)


def parse_run_timer(partition: str, sort: str) -> tuple[RunKey, int]:
    """The reverse of `schedule` and `run_timer`; raises `ValueError`."""
    run_sort, _, attempt = sort.removeprefix(_RUN_TIMER).rpartition("#")
    return parse_run(partition, run_sort), int(attempt)


ERRAND_SLICES: Final = 16
"""Partitions over which a tenant's errands are spread: many may move at one time."""


def errands(tenant: str, number: int) -> str:
    """One partition of a tenant's errands, in the table `schedules`."""
    return f"{tenant}#{_ERRANDS}{number:02}"


def errand(tenant: str, kind: str, errand_id: str) -> tuple[str, str]:
    """The partition and the sort key of an errand."""
    number = zlib.crc32(f"{kind}#{errand_id}".encode()) % ERRAND_SLICES
    return errands(tenant, number), f"{_ERRAND}{kind}#{errand_id}"


def is_errand(sort: str) -> bool:
    """Whether `sort` is that of an errand."""
    return sort.startswith(_ERRAND)


def parse_errand(partition: str, sort: str) -> tuple[str, str, str]:
    """Tenant, kind and id, the reverse of `errand`; raises `ValueError`."""
    kind, _, errand_id = sort.removeprefix(_ERRAND).partition("#")
    return partition.partition("#")[0], kind, errand_id


def attempt(key: RunKey, number: int) -> str:
    """The sort key of what is kept of an attempt."""
    return f"{run(key)}#{number:03}"


def receipt(key: RunKey, name: str) -> str:
    """The sort key of a receipt."""
    return f"{run(key)}#{name}"


def shard(number: int) -> str:
    """The partition of a shard's lease, log and books."""
    return f"SHARD#{number}"


def batch(batch_id: BatchId) -> str:
    """The sort key of a batch: those of one shard sort in the order in which they were announced."""
    return f"{_BATCH}{batch_id.fence:012}#{batch_id.number:06}"


def parse_batch(shard_number: int, sort: str) -> BatchId:
    """The reverse of `batch`; raises `ValueError`."""
    fence, _, number = sort.removeprefix(_BATCH).partition("#")
    return BatchId(shard_number, int(fence), int(number))


def due_shard(number: int) -> str:
    """The partition of the due index."""
    return f"{number:02}"


LINE: Final = "LINE"


def line(name: str) -> str:
    """The partition of a line that keeps a rate."""
    return f"RATE#{name}"


SLOTS: Final = "S#"


def slot(number: int) -> str:
    """The sort key of one of a tenant's slots."""
    return f"{SLOTS}{number:04}"


def group_gate(key: str) -> str:
    """The sort key of the gate of a concurrency key, beside the tenant's slots."""
    return f"G#{key}"


def parse_slot(sort: str) -> int:
    """The reverse of `slot`; raises `ValueError`."""
    return int(sort.removeprefix(SLOTS))


HEARTBEAT: Final = "URL"
_PING: Final = "P#"


def pings(instant: Instant) -> str:
    """How the sort keys of pings begin that were heard at `instant`; they sort by it."""
    return f"{_PING}{max(0, instant):014}"


def ping(at: Instant, ping_id: str) -> str:
    """The sort key of a ping."""
    return f"{pings(at)}#{ping_id}"


def parse_ping(sort: str) -> tuple[Instant, str]:
    """The reverse of `ping`; raises `ValueError`."""
    at, _, ping_id = sort.removeprefix(_PING).partition("#")
    return int(at), ping_id


def api_key(key_id: str) -> str:
    """The partition of an API key."""
    return f"KEY#{key_id}"


LISTED_KEY: Final = "KEY#"


def listed_key(key_id: str) -> str:
    """The sort key of a key in its tenant's list."""
    return f"{LISTED_KEY}{key_id}"


def chain(tenant_id: str, subject: str) -> str:
    """The partition of a subject's entries in the index `by_subject`."""
    return f"{tenant_id}#{subject}"


_HEAD: Final = "H#"
SEAL: Final = "S#"
"""How the sort keys of seals begin."""


def head(subject: str) -> str:
    """The sort key of the end of a chain."""
    return f"{_HEAD}{subject}"


def parse_head(sort: str) -> str:
    """The reverse of `head`."""
    return sort.removeprefix(_HEAD)


def seal(number: int) -> str:
    """The sort key of a seal: they sort by their numbers."""
    return f"{SEAL}{number:012}"


def tenant(tenant_id: str) -> str:
    """The partition of a tenant."""
    return f"TENANT#{tenant_id}"


def schedule_count(number: int) -> str:
    """The sort key of a slice of the count of a tenant's schedules."""
    return f"{SCHEDULE_COUNT}#{number:02}"


def calendar(tenant_id: str, name: str) -> str:
    """The partition of a calendar's versions; their sort keys are those of `version`."""
    return f"{tenant_id}#{name}"


def parse_calendar(partition: str) -> tuple[str, str]:
    """Tenant and name; raises `ValueError`."""
    tenant_id, separator, name = partition.partition("#")
    if not separator:
        raise ValueError(f"{partition!r} is not the partition of a calendar's versions")
    return tenant_id, name


def freezes(tenant_id: str) -> str:
    """The partition of a tenant's freezes."""
    return f"FREEZES#{tenant_id}"


def sheet(topic: str, number: int) -> str:
    """The sort key of a sheet of the noticeboard, which stands in the partition of the directory of freezes."""
    return f"{_SHEET}{topic}#{number:02}"


def parse_sheet(sort: str) -> tuple[str, int]:
    """The reverse of `sheet`; raises `ValueError`."""
    topic, _, number = sort.removeprefix(_SHEET).partition("#")
    return topic, int(number)


def hold(region: str) -> str:
    """The sort key of the switch that says how a region's installation is held."""
    return f"{HOLD}{region}"


INCIDENT: Final = "I#"
STANDING: Final = "S#"
CHANNEL: Final = "C#"
NOTICE: Final = "N#"
WATCH: Final = "W#"
"""How the sort keys of alerts begin, in their tenant's partition."""


def incident(incident_id: str) -> str:
    """The sort key of an incident: they sort by the time of opening."""
    return f"{INCIDENT}{incident_id}"


def standing(subject: str, kind: str) -> str:
    """The sort key of a subject's standing in a kind of incident."""
    return f"{STANDING}{subject}#{kind}"


def standings(subject: str) -> str:
    """How the sort keys of a subject's standings begin; of an empty one: of all of them."""
    return f"{STANDING}{subject}#" if subject else STANDING


def channel(name: str) -> str:
    """The sort key of a channel."""
    return f"{CHANNEL}{name}"


def notice(notice_id: str) -> str:
    """The sort key of a notice."""
    return f"{NOTICE}{notice_id}"


def watch(schedule_id: str) -> str:
    """The sort key of a schedule's watch."""
    return f"{WATCH}{schedule_id}"


def parse_alert(sort: str) -> tuple[str, str]:
    """How the key of an alert begins, and its name; raises `ValueError`."""
    begins, separator, name = sort.partition("#")
    if not separator:
        raise ValueError(f"{sort!r} is not the key of an alert")
    return begins + separator, name


def idempotency(tenant_id: str) -> str:
    """The partition of a tenant's idempotency records."""
    return f"IDEMPOTENCY#{tenant_id}"


def finished_retiming(finished_at: Instant, job_id: str) -> str:
    """The sort key of a finished job: by its end."""
    return f"{finished_at:015}#{job_id}"


UNREADABLE: Final = schema.UNREADABLE
"""The partition of messages that nobody can read."""


def unreadable(sent_at: Instant, message_id: str) -> str:
    """The sort key of one: by when it was sent."""
    return f"{sent_at:015}#{message_id}"
