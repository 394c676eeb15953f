"""The job store's tables and indexes as data: the CDK app, the tests and the local stack all read this file.

Nothing here talks to AWS. Key shapes (how a tenant, a schedule or a run becomes a key) live in `keys.py`.
"""

from dataclasses import dataclass
from typing import Final, Literal

KeyType = Literal["S", "N"]


@dataclass(frozen=True, slots=True)
class Key:
    """One key attribute: its name and DynamoDB type."""

    name: str
    type: KeyType = "S"


@dataclass(frozen=True, slots=True)
class Index:
    """A global secondary index; `projected` names the attributes it copies besides the keys."""

    name: str
    partition: Key
    sort: Key
    projected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `name` is the part after the installation's prefix, `ttl` the attribute that expires items."""

    name: str
    partition: Key
    sort: Key | None
    indexes: tuple[Index, ...] = ()
    ttl: str | None = None


TTL_ATTRIBUTE: Final = "expires_at"
"""Whole seconds since the epoch, as DynamoDB wants them."""

# Everything a claim needs, so that a claim costs no read; at most 20 names, which is what DynamoDB takes per index.
# Tenant, run and attempt stand in the keys, the shard in `due_shard`. `claim_batch` is not here on purpose: only the
# base item may say who claimed what. Neither are `pause`, `parked`, `deferred` and the like: what acts on them reads
# the base item first.
DUE_PROJECTION: Final = (
    "kind",
    "schedule_id",
    "tier",
    "status",
    "trigger",
    "calendar",
    "version",
    "epoch",
    "rev",
    "nominal_at",
    "policies",
    "timeout_seconds",
    "start_at",
    "end_at",
    "backlog",
    "backlog_at",
    "tz",
    "hold",
    "reserved_at",
    "labels",
)

# Sparse: only an item that waits to fire carries `due_shard`.
DUE: Final = Index("due", Key("due_shard"), Key("due_at", "N"), DUE_PROJECTION)
# Only TIMER items carry `list_tenant`; nothing projected here changes when a schedule fires.
BY_TENANT: Final = Index("by_tenant", Key("list_tenant"), Key("schedule_id"), ("status", "version"))
# Sparse: only the TIMER of a schedule that uses a calendar carries its name. Keys alone, none of which a claim changes.
BY_CALENDAR: Final = Index("by_calendar", Key("list_tenant"), Key("calendar"), ())
# Sparse: a row carries `failed_tenant` only while it is a dead letter. It projects what the view shows of many.
DEAD_LETTERS: Final = Index(
    "dead_letters",
    Key("failed_tenant"),
    Key("finished_at", "N"),
    ("status", "signature", "reason", "expires_at"),
)
# Sparse: only tenants' records carry `directory`. Keys alone, none of which a change of the record changes.
DIRECTORY: Final = Index("directory", Key("directory"), Key("tenant_id"), ())
# A subject's entries by their ids, with what a list filters by; what they hold is read from the table.
BY_SUBJECT: Final = Index("by_subject", Key("chain"), Key("sk"), ("at", "actor", "action"))
# Sparse: the end of a chain carries `unsealed` until a seal holds it. Keys alone; a tenant's stand side by side.
UNSEALED: Final = Index("unsealed", Key("unsealed"), Key("pk"), ())
# A tenant's operations by when they were asked for. Keys alone, none of which changes.
BY_CREATION: Final = Index("by_creation", Key("pk"), Key("created_at", "N"), ())

FIRST_SHARD: Final = "SHARD#0"
"""The partition of the table `shards` whose lease says how many shards are served."""
SHARD_PARTITIONS: Final = "SHARD#*"
"""All of them, as a policy names them."""

UNREADABLE: Final = "UNREADABLE"
"""The partition of the table `shards` that holds messages which nobody can read."""

SCHEDULES: Final = Table(
    name="schedules",
    partition=Key("pk"),
    sort=Key("sk"),
    indexes=(DUE, BY_TENANT, BY_CALENDAR),
    ttl=TTL_ATTRIBUTE,
)
"""One item collection per schedule: TIMER, V#n, GATE, and timers of its runs."""

RUNS: Final = Table(
    name="runs",
    partition=Key("pk"),
    sort=Key("sk"),
    indexes=(DEAD_LETTERS,),
    ttl=TTL_ATTRIBUTE,
)
"""The ledger: one row per run, skip or range, newest first within its schedule."""

SHARDS: Final = Table(
    name="shards",
    partition=Key("pk"),
    sort=Key("sk"),
    ttl=TTL_ATTRIBUTE,
)
"""Shard leases, dispatch log, the sweeper's books."""

AUDIT: Final = Table(
    name="audit",
    partition=Key("pk"),
    sort=Key("sk"),
    indexes=(BY_SUBJECT,),
)
"""Who changed what, when, before and after, and why."""

CHAINS: Final = Table(
    name="chains",
    partition=Key("pk"),
    sort=Key("sk"),
    indexes=(UNSEALED,),
)
"""Of each tenant's audit log the end of every subject's chain, and the seals that tie them together."""

TENANTS: Final = Table(
    name="tenants",
    partition=Key("pk"),
    sort=Key("sk"),
    indexes=(DIRECTORY,),
    ttl=TTL_ATTRIBUTE,
)
"""Tenants, hashed API keys, idempotency records."""

RECEIPTS: Final = Table(
    name="receipts",
    partition=Key("pk"),
    sort=Key("sk"),
    ttl=TTL_ATTRIBUTE,
)
"""Effects that a handler did once, guarded by the fence of its run."""

RETIMINGS: Final = Table(
    name="retimings",
    partition=Key("pk"),
    sort=Key("sk"),
    ttl=TTL_ATTRIBUTE,
)
"""Jobs that look at schedules again, open and finished, and the zone release in force."""

CALENDARS: Final = Table(
    name="calendars",
    partition=Key("pk"),
    sort=Key("sk"),
)
"""What stands first of each calendar of a tenant, and in partitions of their own the versions, which never change."""

HEARTBEATS: Final = Table(
    name="heartbeats",
    partition=Key("pk"),
    sort=Key("sk"),
    ttl=TTL_ATTRIBUTE,
)
"""One item collection per heartbeat URL: the URL by the digest of its token, and its pings."""

SLOTS: Final = Table(
    name="slots",
    partition=Key("pk"),
    sort=Key("sk"),
    ttl=TTL_ATTRIBUTE,
)
"""How many runs of a tenant go on at once: one item per slot, only where a tenant has a limit."""

OPERATIONS: Final = Table(
    name="operations",
    partition=Key("pk"),
    sort=Key("sk"),
    indexes=(BY_CREATION,),
    ttl=TTL_ATTRIBUTE,
)
"""Backfills, re-runs and redrives by tenant and id; what is over expires after its runs have."""

ALERTS: Final = Table(
    name="alerts",
    partition=Key("pk"),
    sort=Key("sk"),
    ttl=TTL_ATTRIBUTE,
)
"""Of each tenant, and of the installation: incidents, channels, notices, and how far schedules are watched."""

BREAKERS: Final = Table(
    name="breakers",
    partition=Key("pk"),
    sort=Key("sk"),
    ttl=TTL_ATTRIBUTE,
)
"""Breakers of targets by tenant and id; those that nobody has tried for long expire."""

ATTEMPTS: Final = Table(
    name="attempts",
    partition=Key("pk"),
    sort=Key("sk"),
    ttl=TTL_ATTRIBUTE,
)
"""The end of what each attempt logged, where it logged anything; kept as long as its run's row."""

TABLES: Final = (
    SCHEDULES,
    RUNS,
    SHARDS,
    AUDIT,
    CHAINS,
    TENANTS,
    RECEIPTS,
    RETIMINGS,
    CALENDARS,
    HEARTBEATS,
    SLOTS,
    OPERATIONS,
    ALERTS,
    BREAKERS,
    ATTEMPTS,
)

OWNED: Final = tuple(table for table in TABLES if table is not SHARDS)
"""Every table that holds something of a tenant; the lines of the dispatch log expire."""
