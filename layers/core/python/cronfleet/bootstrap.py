"""The only place that joins ports to adapters. One function per part; nothing is built, read or imported early.

Adapters are imported inside the functions, so that each Lambda loads only what it uses.
"""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cronfleet.adapters.system.clock import SystemClock, SystemIds, SystemSecrets
from cronfleet.domain.errand import ErrandMessage
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import LONG_QUEUE, RunMessage
from cronfleet.ports.queues import Tick
from cronfleet.settings import Oidc, Settings, metrics_namespace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from botocore.session import Session
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

    from cronfleet.adapters.cloudwatch.telemetry import CloudWatchTelemetry
    from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
    from cronfleet.adapters.dynamodb.restoring import Restoring
    from cronfleet.adapters.eventbridge.events import EventBridgeEvents
    from cronfleet.adapters.otel.tracing import OtelTracing
    from cronfleet.adapters.sqs.errand_queue import SqsErrandQueue
    from cronfleet.adapters.sqs.run_queue import SqsRunQueue
    from cronfleet.adapters.targets.tenant_roles import TenantRoles
    from cronfleet.domain.attempt_log import LogPlace
    from cronfleet.domain.operation import Kind
    from cronfleet.domain.run_spans import Delivery
    from cronfleet.ports.errands import Doer
    from cronfleet.ports.protection import Protection
    from cronfleet.ports.shift import Shift
    from cronfleet.ports.tokens import Tokens
    from cronfleet.services.access import Access
    from cronfleet.services.admission import Admission
    from cronfleet.services.api_keys import ApiKeys
    from cronfleet.services.attempt_tracing import AttemptTracing
    from cronfleet.services.audit_log import AuditLog
    from cronfleet.services.backfills import Backfills
    from cronfleet.services.breakers import Breakers
    from cronfleet.services.bulk import Bulk
    from cronfleet.services.calendars import Calendars
    from cronfleet.services.channels import Channels
    from cronfleet.services.clerk import Clerk
    from cronfleet.services.dead_letters import DeadLetters
    from cronfleet.services.deletions import Deletions
    from cronfleet.services.dispatcher import Dispatcher
    from cronfleet.services.door import Door
    from cronfleet.services.first_key import FirstKey
    from cronfleet.services.following import Following
    from cronfleet.services.forecasts import Forecasts
    from cronfleet.services.freezing import Freezing
    from cronfleet.services.health import Health
    from cronfleet.services.heartbeats import Heartbeats
    from cronfleet.services.holds import Holds
    from cronfleet.services.imports import Imports
    from cronfleet.services.incidents import Incidents
    from cronfleet.services.ledger import Ledger
    from cronfleet.services.lineage import Lineage
    from cronfleet.services.lint import LintService
    from cronfleet.services.long_worker import LongWorker, Tell
    from cronfleet.services.noticeboard import Noticeboard
    from cronfleet.services.noticing import Noticing
    from cronfleet.services.objectives import ScheduleObjectives
    from cronfleet.services.operation_doer import OperationDoer
    from cronfleet.services.operation_sources import Source
    from cronfleet.services.operations import Operations
    from cronfleet.services.redrives import Redrives
    from cronfleet.services.reruns import Reruns
    from cronfleet.services.retiming import Retimings, Step
    from cronfleet.services.runs import Runs
    from cronfleet.services.schedules import Schedules
    from cronfleet.services.shadow import Shadows
    from cronfleet.services.sweeper import Sweeper
    from cronfleet.services.target_roles import TargetRoles
    from cronfleet.services.telling import Telling
    from cronfleet.services.tenant_life import TenantLife
    from cronfleet.services.tenants import Tenants
    from cronfleet.services.ticker import Ticker
    from cronfleet.services.transfer import Transfer
    from cronfleet.services.undelivered import Undelivered
    from cronfleet.services.versions import Versions
    from cronfleet.services.watching import Watching
    from cronfleet.services.worker import Worker
    from cronfleet.services.zone_data import ZoneData


@dataclass(frozen=True, slots=True)
class LongTask:
    """What a long worker knows of where it runs.

    That is its `place` among those that share the file `shared`, whom it tells that it is alive, and of ECS, where that
    is there, the addresses of the agent and of the container's metadata. `protection_minutes` is how long a job keeps
    its task from being stopped at most.
    """

    shared: Path
    place: int
    tell: "Tell"
    agent: str = ""
    metadata: str = ""
    protection_minutes: int = 150


def deadline_at(time_left_ms: int, margin_ms: int) -> Instant:
    """When a function with `time_left_ms` to live must stop taking on work, `margin_ms` before its end."""
    return SystemClock().now() + time_left_ms - margin_ms


def now() -> Instant:
    """Now, by this process's clock."""
    return SystemClock().now()


def tick_of(body: str) -> Tick:
    """The tick in a tick queue's message; raises `Invalid`."""
    from cronfleet.adapters.sqs.messages import decode_tick

    return decode_tick(body)


def delivery_of(record: "Mapping[str, Any]") -> "Delivery":
    """How a message came that Lambda has received for us; what the record does not say is left out."""
    from cronfleet.domain.run_spans import Delivery

    attributes = record.get("attributes") or {}
    sent_at, receives = attributes.get("SentTimestamp", ""), attributes.get("ApproximateReceiveCount", "")
    return Delivery(
        now(),
        int(sent_at) if sent_at.isdecimal() else None,
        str(record.get("messageId", "")),
        int(receives) if receives.isdecimal() else 1,
    )


def run_message_of(body: str) -> RunMessage:
    """The run message in a run queue's message; raises `Invalid`."""
    from cronfleet.adapters.sqs.messages import decode_run

    return decode_run(body)


def is_run_queue(name: str) -> bool:
    """Whether the queue of this name, or the dead-letter queue, holds run messages, whatever prefix it has."""
    from cronfleet.adapters.sqs.queues import holds_runs

    return holds_runs(name)


def errand_message_of(body: str) -> ErrandMessage:
    """The errand in an errand queue's message; raises `Invalid`."""
    from cronfleet.adapters.sqs.messages import decode_errand

    return decode_errand(body)


@cache
def aws_session() -> "Session":
    """Whose credentials and region this process has; clients that share it renew credentials once."""
    from botocore.session import get_session

    return get_session()


def dynamodb_client() -> "DynamoDBClient":
    """The job store's client, for this process's region and credentials (and `AWS_ENDPOINT_URL`, where that is set)."""
    from cronfleet.adapters.aws import lean
    from cronfleet.adapters.dynamodb.job_store import CONFIG

    client: DynamoDBClient = lean.client("dynamodb", aws_session(), CONFIG)
    return client


def sqs_client() -> "SQSClient":
    """The client of all who send messages, likewise."""
    from cronfleet.adapters.aws import lean
    from cronfleet.adapters.sqs.run_queue import CONFIG

    client: SQSClient = lean.client("sqs", aws_session(), CONFIG)
    return client


def _store(settings: Settings, watch: "CloudWatchTelemetry | None" = None) -> "DynamoJobStore":
    from cronfleet.adapters.dynamodb.job_store import DynamoJobStore

    here, claiming = settings.here, settings.claiming
    return DynamoJobStore(
        settings.table_prefix, dynamodb_client(), SystemClock(), here, claiming=claiming, telemetry=watch
    )


def _run_queue(settings: Settings) -> "SqsRunQueue":
    from cronfleet.adapters.sqs.run_queue import SqsRunQueue

    ratio = None if settings.traces is None else settings.traces.keeping.ratio
    return SqsRunQueue(sqs_client(), settings.run_queue_urls or {}, ratio)


def _errand_queue(settings: Settings) -> "SqsErrandQueue":
    from cronfleet.adapters.sqs.errand_queue import SqsErrandQueue

    return SqsErrandQueue(sqs_client(), settings.errand_queue_url)


def _events(settings: Settings) -> "EventBridgeEvents | None":
    if not settings.event_bus:
        return None
    from cronfleet.adapters.eventbridge.events import EventBridgeEvents, events_client

    return EventBridgeEvents(events_client, settings.event_bus)


def _telling(settings: Settings) -> "Telling | None":
    """For callers' changes: whether their tenant wants to be told stands in its record, which they bring along."""
    from cronfleet.services.telling import Telling

    events = _events(settings)
    return None if events is None else Telling(events, telemetry("api"))


def telemetry(part: str) -> "CloudWatchTelemetry":
    """Log lines and metrics of a part."""
    from cronfleet.adapters.cloudwatch.telemetry import CloudWatchTelemetry

    return CloudWatchTelemetry(part, metrics_namespace(), SystemClock())


def ticker(settings: Settings) -> "Ticker":
    """Lays ticks on the tick queue."""
    from cronfleet.adapters.sqs.tick_queue import SqsTickQueue
    from cronfleet.services.ticker import Ticker

    return Ticker(
        tick_queue=SqsTickQueue(sqs_client(), settings.tick_queue_url),
        store=_store(settings),
        clock=SystemClock(),
        telemetry=telemetry("ticker"),
        shards=settings.shards,
    )


def raise_shards(settings: Settings, shards: int) -> int:
    """Have so many shards served; returns how many were. Raises `Invalid`."""
    from cronfleet.services import raising

    return raising.raise_shards(_store(settings), shards)


def dispatcher(settings: Settings) -> "Dispatcher":
    """Serves the ticks of a shard."""
    from cronfleet.adapters.system.side_by_side import Threads
    from cronfleet.services.dispatcher import Dispatcher

    watch = telemetry("dispatcher")
    return Dispatcher(
        store=_store(settings, watch),
        run_queue=_run_queue(settings),
        errand_queue=_errand_queue(settings),
        side_by_side=Threads(),
        clock=SystemClock(),
        ids=SystemIds(),
        telemetry=watch,
        shards=settings.shards,
        events=_events(settings),
    )


def clerk(settings: Settings) -> "Clerk":
    """Carries errands on."""
    from cronfleet.domain.errand import ErrandKind
    from cronfleet.services.clerk import Clerk

    store, watch = _store(settings), telemetry("clerk")
    doers: dict[ErrandKind, Doer] = {
        ErrandKind.OPERATION: operation_doer(settings, "clerk"),
        ErrandKind.WATCH: _watching(settings, watch),
        ErrandKind.NOTICE: _noticing(settings, watch),
        ErrandKind.EXECUTION: _following(settings, watch),
    }
    return Clerk(store=store, clock=SystemClock(), telemetry=watch, errands=doers)


def _watching(settings: Settings, watch: "CloudWatchTelemetry") -> "Watching":
    from cronfleet.services.watching import Watching

    return Watching(store=_store(settings), clock=SystemClock(), incidents=incidents(settings), telemetry=watch)


def _following(settings: Settings, watch: "CloudWatchTelemetry") -> "Following":
    from cronfleet.adapters.targets.executions import AllExecutions
    from cronfleet.services.attempt_report import AttemptReport
    from cronfleet.services.following import Following

    return Following(
        store=_store(settings),
        executions=AllExecutions(_tenant_roles(settings)),
        clock=SystemClock(),
        ids=SystemIds(),
        telemetry=watch,
        events=_events(settings),
        report=AttemptReport(watch, _attempt_tracing(settings, tracing(settings, "clerk", watch)), settings.lines),
    )


def _tenant_roles(settings: Settings) -> "TenantRoles":
    from cronfleet.adapters.targets.tenant_roles import TenantRoles, sts_client

    return TenantRoles(
        sts=sts_client,
        installation=settings.installation,
        clock=SystemClock(),
        tries_trust=settings.trust_is_enforced,
    )


def _noticing(settings: Settings, watch: "CloudWatchTelemetry") -> "Noticing":
    from cronfleet.adapters.targets.couriers import AllCouriers
    from cronfleet.services.noticing import Noticing

    clock = SystemClock()
    courier = AllCouriers(clock=clock, sender=settings.email_sender, allowed_networks=settings.webhook_allowed_networks)
    return Noticing(store=_store(settings), courier=courier, clock=clock, telemetry=watch, shards=settings.shards)


def sweeper(settings: Settings) -> "Sweeper":
    """Closes the books; serves ticks itself for shards that went quiet."""
    from cronfleet.adapters.system.side_by_side import Threads
    from cronfleet.services.dispatcher import Dispatcher
    from cronfleet.services.forecaster import Forecaster
    from cronfleet.services.letter_watch import LetterWatch
    from cronfleet.services.sealing import Sealer
    from cronfleet.services.self_watch import SelfWatch
    from cronfleet.services.shard_watch import ShardWatch
    from cronfleet.services.sweeper import Sweeper

    watch = telemetry("sweeper")
    store, run_queue = _store(settings, watch), _run_queue(settings)
    return Sweeper(
        store=store,
        run_queue=run_queue,
        dispatcher=Dispatcher(
            store=store,
            run_queue=run_queue,
            errand_queue=_errand_queue(settings),
            side_by_side=Threads(),
            clock=SystemClock(),
            ids=SystemIds(),
            telemetry=watch,
            shards=settings.shards,
            events=_events(settings),
        ),
        side_by_side=Threads(),
        clock=SystemClock(),
        telemetry=watch,
        shards=settings.shards,
        retimings=retimings(settings),
        sealer=Sealer(store=store, clock=SystemClock(), telemetry=watch),
        deletions=deletions(settings),
        shard_watch=ShardWatch(store=store, incidents=incidents(settings)),
        letter_watch=LetterWatch(store=store, incidents=incidents(settings), clock=SystemClock(), telemetry=watch),
        self_watch=SelfWatch(store=store, incidents=incidents(settings)),
        forecaster=Forecaster(store=store, clock=SystemClock()),
        events=_events(settings),
    )


def deletions(settings: Settings) -> "Deletions":
    """Removes what deleted tenants owned."""
    from cronfleet.services.deletions import Deletions

    return Deletions(store=_store(settings), clock=SystemClock(), ids=SystemIds(), telemetry=telemetry("sweeper"))


def retimings(settings: Settings) -> "Retimings":
    """Looks at schedules again after a change of the zone data or of a calendar."""
    from cronfleet.domain.retiming import Cause
    from cronfleet.services.calendar_step import CalendarStep
    from cronfleet.services.mending import MendStep
    from cronfleet.services.retiming import Retimings
    from cronfleet.services.zone_step import ZoneStep

    store, clock, watch = _store(settings), SystemClock(), telemetry("sweeper")
    steps: dict[Cause, Step] = {
        Cause.CALENDAR: CalendarStep(store),
        Cause.ZONE_DATA: ZoneStep(store),
        Cause.FAILOVER: MendStep(store, clock, watch),
    }
    return Retimings(store=store, clock=clock, ids=SystemIds(), telemetry=watch, steps=steps)


def worker(settings: Settings, handlers_package: str) -> "Worker":
    """Executes runs. The modules of `handlers_package` register the jobs that are written in Python."""
    from cronfleet.adapters.dynamodb.receipts import DynamoReceipts
    from cronfleet.adapters.targets.executions import AllExecutions
    from cronfleet.adapters.targets.targets import AllTargets
    from cronfleet.services.attempt_report import AttemptReport
    from cronfleet.services.handing_over import Elsewhere
    from cronfleet.services.worker import Worker

    clock, roles, watch = SystemClock(), _tenant_roles(settings), telemetry("worker")
    traces = tracing(settings, "worker", watch)
    return Worker(
        store=_store(settings),
        run_queue=_run_queue(settings),
        targets=AllTargets(
            receipts=DynamoReceipts(settings.table_prefix, dynamodb_client(), clock),
            clock=clock,
            handlers_package=handlers_package,
            allowed_networks=settings.webhook_allowed_networks,
            log_place=_log_place(settings),
            roles=roles,
            job_spans=traces,
        ),
        clock=clock,
        ids=SystemIds(),
        telemetry=watch,
        events=_events(settings),
        elsewhere=Elsewhere(AllExecutions(roles), settings.shards),
        report=AttemptReport(watch, _attempt_tracing(settings, traces), settings.lines),
    )


def _attempt_tracing(settings: Settings, tracing: "OtelTracing | None") -> "AttemptTracing":
    from cronfleet.services.attempt_tracing import AttemptTracing

    keeping = None if settings.traces is None else settings.traces.keeping
    return AttemptTracing(SystemClock(), tracing, keeping)


def tracing(settings: Settings, part: str, watch: "CloudWatchTelemetry") -> "OtelTracing | None":
    """Where spans go, if they go anywhere; OpenTelemetry is imported only then."""
    if settings.traces is None:
        return None
    from cronfleet.adapters.otel.tracing import OtelTracing
    from cronfleet.version import VERSION

    traces = settings.traces
    if not traces.region:
        return OtelTracing(traces.endpoint, part, VERSION, telemetry=watch)
    from cronfleet.adapters.otel.signing import Signature

    return OtelTracing(traces.endpoint, part, VERSION, telemetry=watch, sign=Signature(traces.region))


def long_worker(settings: Settings, handlers_package: str, task: LongTask) -> "LongWorker":
    """Takes long runs from their queue, and executes them as `worker` does."""
    from cronfleet.adapters.sqs.run_source import SqsRunSource, polling_client
    from cronfleet.services.long_worker import LongShift, LongWorker

    clock, watch = SystemClock(), telemetry("worker")
    source = SqsRunSource(polling_client(), (settings.run_queue_urls or {})[LONG_QUEUE], clock)
    shift = LongShift(source=source, protection=_protection(task), clock=clock, telemetry=watch, tell=task.tell)
    placed = settings if not task.metadata else _with_log_place(settings, task.metadata)
    carrying_out = _worker_of_long_runs(placed, handlers_package, shift, watch)
    return LongWorker(worker=carrying_out, shift=shift, source=source, telemetry=watch)


def _worker_of_long_runs(
    settings: Settings, handlers_package: str, shift: "Shift", watch: "CloudWatchTelemetry"
) -> "Worker":
    """As `worker`, for what keeps one busy for hours: it calls nothing in a tenant's account, and hands nothing on."""
    from cronfleet.adapters.dynamodb.receipts import DynamoReceipts
    from cronfleet.adapters.targets.long_targets import LongTargets
    from cronfleet.services.attempt_report import AttemptReport
    from cronfleet.services.worker import Worker

    clock, traces = SystemClock(), tracing(settings, "worker", watch)
    return Worker(
        store=_store(settings),
        run_queue=_run_queue(settings),
        targets=LongTargets(
            receipts=DynamoReceipts(settings.table_prefix, dynamodb_client(), clock),
            clock=clock,
            handlers_package=handlers_package,
            allowed_networks=settings.webhook_allowed_networks,
            log_place=_log_place(settings),
            job_spans=traces,
        ),
        clock=clock,
        ids=SystemIds(),
        telemetry=watch,
        events=_events(settings),
        report=AttemptReport(watch, _attempt_tracing(settings, traces), settings.lines),
        shift=shift,
    )


def _protection(task: LongTask) -> "Protection":
    from cronfleet.ports.protection import Unprotected

    if not task.agent:
        return Unprotected()
    from cronfleet.adapters.ecs.agent import TaskProtection

    return TaskProtection(
        agent=task.agent,
        shared=task.shared,
        place=task.place,
        longest_minutes=task.protection_minutes,
        clock=SystemClock(),
    )


def _with_log_place(settings: Settings, metadata: str) -> Settings:
    from cronfleet.adapters.ecs.agent import log_place

    found = log_place(metadata)
    if found is None:
        return settings
    return replace(settings, log_region=found.region, log_group=found.group, log_stream=found.stream)


def dead_letters(settings: Settings) -> "DeadLetters":
    """What operators see of dead letters, and do to them."""
    from cronfleet.services.dead_letters import DeadLetters

    return DeadLetters(store=_store(settings), clock=SystemClock(), ids=SystemIds())


def redrives(settings: Settings) -> "Redrives":
    """Redrives as callers ask for them."""
    from cronfleet.services.redrives import Redrives

    return Redrives(store=_store(settings), clock=SystemClock(), ids=SystemIds(), shards=settings.shards)


def undelivered(settings: Settings) -> "Undelivered":
    """Takes what came to dead-letter queues."""
    from cronfleet.services.arrivals import Arrivals
    from cronfleet.services.undelivered import Undelivered

    watch = telemetry("dead_letters")
    arrivals = Arrivals(incidents=incidents(settings), clock=SystemClock(), telemetry=watch)
    return Undelivered(
        store=_store(settings), clock=SystemClock(), telemetry=watch, arrivals=arrivals, events=_events(settings)
    )


def _log_place(settings: Settings) -> "LogPlace | None":
    from cronfleet.domain.attempt_log import LogPlace

    if not settings.log_region or not settings.log_group:
        return None
    return LogPlace(settings.log_region, settings.log_group, settings.log_stream)


def schedules(settings: Settings) -> "Schedules":
    """What callers do with schedules."""
    from cronfleet.services.schedules import Schedules

    return Schedules(
        store=_store(settings),
        clock=SystemClock(),
        ids=SystemIds(),
        shards=settings.shards,
        telling=_telling(settings),
    )


def versions(settings: Settings) -> "Versions":
    """What schedules have said over time."""
    from cronfleet.services.versions import Versions

    return Versions(store=_store(settings), clock=SystemClock())


def tenants(settings: Settings) -> "Tenants":
    """Tenants' records, and what they use of their quotas."""
    from cronfleet.services.tenants import Tenants

    return Tenants(store=_store(settings), clock=SystemClock(), ids=SystemIds())


def imports(settings: Settings) -> "Imports":
    """What other schedulers' files become."""
    from cronfleet.services.imports import Imports

    return Imports(schedules=schedules(settings), store=_store(settings), clock=SystemClock())


def tenant_life(settings: Settings) -> "TenantLife":
    """Tenants suspended, resumed and deleted."""
    from cronfleet.services.tenant_life import TenantLife

    return TenantLife(store=_store(settings), clock=SystemClock(), ids=SystemIds())


def transfer(settings: Settings) -> "Transfer":
    """A tenant's schedules and calendars as a document, and such a document applied."""
    from cronfleet.services.transfer import Transfer

    return Transfer(store=_store(settings), calendars=calendars(settings), clock=SystemClock())


def bulk(settings: Settings) -> "Bulk":
    """What callers do with many schedules at once."""
    from cronfleet.services.bulk import Bulk

    return Bulk(schedules=schedules(settings), store=_store(settings), clock=SystemClock(), ids=SystemIds())


def calendars(settings: Settings) -> "Calendars":
    """What callers do with calendars."""
    from cronfleet.services.calendars import Calendars

    return Calendars(store=_store(settings), clock=SystemClock(), ids=SystemIds())


def heartbeats(settings: Settings) -> "Heartbeats":
    """Heartbeat URLs and their pings."""
    from cronfleet.services.heartbeats import Heartbeats

    return Heartbeats(store=_store(settings), clock=SystemClock(), ids=SystemIds(), secrets=SystemSecrets())


def audit_log(settings: Settings) -> "AuditLog":
    """Who changed what, and whether anybody has changed that since."""
    from cronfleet.services.audit_log import AuditLog

    return AuditLog(store=_store(settings), clock=SystemClock())


def objectives(settings: Settings) -> "ScheduleObjectives":
    """What is expected of schedules, and how it stands."""
    from cronfleet.services.objectives import ScheduleObjectives

    return ScheduleObjectives(store=_store(settings), clock=SystemClock())


def lineage(settings: Settings) -> "Lineage":
    """What schedules run after, and what runs after them."""
    from cronfleet.services.lineage import Lineage

    return Lineage(store=_store(settings), clock=SystemClock())


def shadows(settings: Settings) -> "Shadows":
    """What held schedules would have fired, beside the pings of the old system."""
    from cronfleet.services.shadow import Shadows

    return Shadows(store=_store(settings), clock=SystemClock())


def runs(settings: Settings) -> "Runs":
    """What callers see of runs, and their cancellation."""
    from cronfleet.services.runs import Runs

    return Runs(store=_store(settings), clock=SystemClock(), ids=SystemIds(), telling=_telling(settings))


def _sources(settings: Settings) -> "Mapping[Kind, Source]":
    from cronfleet.domain.operation import Kind
    from cronfleet.services.backfill_source import BackfillSource
    from cronfleet.services.redrive_source import RedriveSource
    from cronfleet.services.rerun_source import RerunSource

    store = _store(settings)
    return {
        Kind.BACKFILL: BackfillSource(store),
        Kind.RERUN: RerunSource(store),
        Kind.REDRIVE: RedriveSource(store),
    }


def operations(settings: Settings) -> "Operations":
    """What callers see of backfills, re-runs and redrives, and do to them."""
    from cronfleet.services.operations import Operations

    return Operations(
        store=_store(settings),
        clock=SystemClock(),
        ids=SystemIds(),
        shards=settings.shards,
        sources=_sources(settings),
    )


def backfills(settings: Settings) -> "Backfills":
    """Backfills as callers ask for them."""
    from cronfleet.services.backfills import Backfills

    return Backfills(store=_store(settings), clock=SystemClock(), ids=SystemIds(), shards=settings.shards)


def reruns(settings: Settings) -> "Reruns":
    """Re-runs of one run, and of all that a filter takes."""
    from cronfleet.services.reruns import Reruns

    return Reruns(store=_store(settings), clock=SystemClock(), ids=SystemIds(), shards=settings.shards)


def operation_doer(settings: Settings, part: str) -> "OperationDoer":
    """Carries operations on, for the function `part`."""
    from cronfleet.services.operation_doer import OperationDoer

    return OperationDoer(
        store=_store(settings),
        clock=SystemClock(),
        ids=SystemIds(),
        telemetry=telemetry(part),
        sources=_sources(settings),
        events=_events(settings),
    )


def freezing(settings: Settings) -> "Freezing":
    """What callers do with freezes."""
    from cronfleet.services.freezing import Freezing

    return Freezing(store=_store(settings), clock=SystemClock(), ids=SystemIds())


def holds(settings: Settings) -> "Holds":
    """How this installation is held and released."""
    from cronfleet.services.holds import Holds

    return Holds(store=_store(settings), clock=SystemClock(), ids=SystemIds(), shards=settings.shards)


def noticeboard(settings: Settings) -> "Noticeboard":
    """What every process has to know, by reads at most a second old."""
    from cronfleet.services.noticeboard import Noticeboard

    return Noticeboard(_store(settings), SystemClock(), consistent=False)


def breakers(settings: Settings) -> "Breakers":
    """What callers do with breakers."""
    from cronfleet.services.breakers import Breakers

    return Breakers(store=_store(settings), clock=SystemClock(), ids=SystemIds(), schedules=schedules(settings))


def channels(settings: Settings) -> "Channels":
    """Where tenants are told of incidents."""
    from cronfleet.services.channels import Channels

    return Channels(store=_store(settings), clock=SystemClock(), ids=SystemIds(), shards=settings.shards)


def incidents(settings: Settings) -> "Incidents":
    """What is, or was, broken."""
    from cronfleet.services.incidents import Incidents

    return Incidents(store=_store(settings), clock=SystemClock(), ids=SystemIds(), shards=settings.shards)


def ledger(settings: Settings) -> "Ledger":
    """Why a schedule ran or did not."""
    from cronfleet.services.ledger import Ledger

    return Ledger(store=_store(settings), clock=SystemClock())


def forecasts(settings: Settings) -> "Forecasts":
    """What is due in the next days."""
    from cronfleet.services.forecasts import Forecasts

    return Forecasts(store=_store(settings), clock=SystemClock())


def lint(settings: Settings) -> "LintService":
    """A tenant's schedules looked over."""
    from cronfleet.services.lint import LintService

    return LintService(store=_store(settings), clock=SystemClock())


def zone_data(settings: Settings) -> "ZoneData":
    """Which zone data is at work, and how far retiming has come."""
    from cronfleet.services.zone_data import ZoneData

    return ZoneData(store=_store(settings))


def target_roles(settings: Settings) -> "TargetRoles":
    """What tenants' roles must say."""
    from cronfleet.services.target_roles import TargetRoles

    return TargetRoles(store=_store(settings), installation=settings.installation, callers=settings.target_callers)


def health(settings: Settings) -> "Health":
    """Whether the API and its store are up."""
    from cronfleet.services.health import Health

    return Health(store=_store(settings), clock=SystemClock())


def api_keys(settings: Settings) -> "ApiKeys":
    """What tenants' administrators do with API keys."""
    from cronfleet.services.api_keys import ApiKeys

    return ApiKeys(store=_store(settings), clock=SystemClock(), ids=SystemIds(), secrets=SystemSecrets())


def restoring(table_prefix: str, into: str) -> "Restoring":
    """Restores an installation's tables beside those that are there."""
    import time

    from cronfleet.adapters.dynamodb.restoring import Restoring, restoring_client

    return Restoring(restoring_client(), table_prefix, into, time.sleep)


def first_key(settings: Settings) -> "FirstKey":
    """The first key of an installation."""
    from cronfleet.services.first_key import FirstKey

    return FirstKey(store=_store(settings), clock=SystemClock(), ids=SystemIds(), secrets=SystemSecrets())


def admission(settings: Settings) -> "Admission":
    """In which tenant requests are heard, and how often."""
    from cronfleet.services.admission import Admission

    return Admission(store=_store(settings), clock=SystemClock())


def access(settings: Settings) -> "Access":
    """As whom a credential lets its bearer in."""
    from cronfleet.domain.token_claims import ClaimNames
    from cronfleet.services.access import Access

    oidc = settings.oidc
    if oidc is None:
        return Access(store=_store(settings), clock=SystemClock())
    names = ClaimNames(oidc.tenant_claim, oidc.role_claim)
    return Access(store=_store(settings), clock=SystemClock(), tokens=lambda: _tokens(oidc), names=names)


def door(settings: Settings) -> "Door | None":
    """Whether requests come through the installation's edge; None where there is none."""
    if not settings.edge_secret:
        return None
    from cronfleet.adapters.edge.secret import SecretsManagerEdgeSecret
    from cronfleet.services.door import Door

    return Door(SecretsManagerEdgeSecret(settings.edge_secret, SystemClock()))


def _tokens(oidc: Oidc) -> "Tokens":
    """Imported when the first token comes: who has a key does not wait for it."""
    from cronfleet.adapters.oidc.tokens import OidcTokens

    return OidcTokens(oidc, SystemClock())
