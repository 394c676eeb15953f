"""Workers of long jobs on Fargate: whether there are any, how large and how many, and how they reach the world."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Final

from infra.config.context import Context

SIZES: Final = {
    256: (512, 1024, 2048),
    512: tuple(range(1024, 4096 + 1, 1024)),
    1024: tuple(range(2048, 8192 + 1, 1024)),
    2048: tuple(range(4096, 16384 + 1, 1024)),
    4096: tuple(range(8192, 30720 + 1, 1024)),
    8192: tuple(range(16384, 61440 + 1, 4096)),
    16384: tuple(range(32768, 122880 + 1, 8192)),
}
"""CPU units of a Fargate task (1,024 are one processor), and the megabytes of memory that each may have."""

ECR_IMAGE: Final = re.compile(r"(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/([a-z0-9._/-]+)[:@].+")
"""An image in ECR, with the account, the region and the name of its repository."""

ENDPOINTS, PUBLIC, NAT, EXISTING = "endpoints", "public", "nat", "existing"
NETWORKS: Final = (ENDPOINTS, PUBLIC, NAT, EXISTING)
"""How tasks reach AWS, and what else they reach: `endpoints` nothing else, the others the internet, or what is there.
"""

MOST_TASKS: Final = 5_000
MOST_JOBS_AT_ONCE: Final = 16
LONGEST_STOP_SECONDS: Final = 120
SHORTEST_STOP_SECONDS: Final = 30
LONGEST_PROTECTION_MINUTES: Final = 2_880

DEFAULT_CIDR: Final = "10.83.0.0/22"
LARGEST_VPC: Final = 16
SMALLEST_VPC: Final = 26
"""How long the prefix of a VPC may be: AWS takes none shorter, and four subnets fit in none longer."""


@dataclass(frozen=True, slots=True)
class Network:
    """Where tasks run. What is not `existing` gets a VPC of its own, with `cidr`."""

    kind: str
    cidr: str
    vpc_id: str
    subnet_ids: tuple[str, ...]
    availability_zones: tuple[str, ...]
    security_group_ids: tuple[str, ...]
    has_public_addresses: bool


@dataclass(frozen=True, slots=True)
class LongWorkers:
    """`image` is a URI; empty: it is built from the Dockerfile at deployment. `load_percent` is how much work, running
    and waiting, a place is to have: above it tasks are started, below it they are let go.
    """

    enabled: bool
    image: str
    cpu: int
    memory_mb: int
    jobs_at_once: int
    min_tasks: int
    max_tasks: int
    load_percent: int
    stop_seconds: int
    protection_minutes: int
    has_spot: bool
    on_demand_tasks: int
    network: Network


def long_workers_of(context: Context, *, local: bool) -> LongWorkers:
    """The choices under `long_workers`. On the local stack they are on, as processes beside the emulator."""
    network, image = _network(context), context.text("long_workers.image")
    if image and network.kind == ENDPOINTS:
        _check_image(context, image)
    minimum = context.number("long_workers.min_tasks", 1, 1, MOST_TASKS)
    cpu = context.number("long_workers.cpu", 1024, min(SIZES), max(SIZES))
    return LongWorkers(
        enabled=context.flag("long_workers.enabled", default=local),
        image=image,
        cpu=cpu,
        memory_mb=_memory_mb(context, cpu),
        jobs_at_once=context.number("long_workers.jobs_at_once", 1, 1, MOST_JOBS_AT_ONCE),
        min_tasks=minimum,
        max_tasks=context.number("long_workers.max_tasks", max(10, minimum), minimum, MOST_TASKS),
        load_percent=context.number("long_workers.load_percent", 100, 10, 1_000),
        stop_seconds=context.number(
            "long_workers.stop_seconds",
            LONGEST_STOP_SECONDS,
            SHORTEST_STOP_SECONDS,
            LONGEST_STOP_SECONDS,
            "which is what Fargate waits between SIGTERM and SIGKILL at most",
        ),
        protection_minutes=context.number("long_workers.protection_minutes", 150, 1, LONGEST_PROTECTION_MINUTES),
        has_spot=context.flag("long_workers.spot"),
        on_demand_tasks=context.number("long_workers.on_demand_tasks", 1, 0, MOST_TASKS),
        network=network,
    )


def _check_image(context: Context, image: str) -> None:
    """Whether it can be pulled without a way to the internet."""
    found, region = ECR_IMAGE.fullmatch(image), context.text("region")
    if found is None:
        instead = "an image in ECR with its tag or digest: without a way to the internet no other can be pulled"
        context.refuse("long_workers.image", image, instead)
    if region and found.group(2) != region:
        instead = f"an image in {region}: endpoints reach no other region"
        context.refuse("long_workers.image", image, instead)


def _memory_mb(context: Context, cpu: int) -> int:
    if cpu not in SIZES:
        context.refuse("long_workers.cpu", cpu, f"one of {', '.join(map(str, SIZES))}, which is what Fargate has")
    fitting = SIZES[cpu]
    found = context.number("long_workers.memory_mb", fitting[0], fitting[0], fitting[-1], f"for {cpu} CPU units")
    if found not in fitting:
        shown = ", ".join(map(str, fitting))
        context.refuse(
            "long_workers.memory_mb", found, f"one of {shown}, which is what Fargate has for {cpu} CPU units"
        )
    return found


def _network(context: Context) -> Network:
    kind = context.one_of("long_workers.network.kind", ENDPOINTS, NETWORKS)
    network = Network(
        kind,
        cidr=context.text("long_workers.network.cidr", DEFAULT_CIDR),
        vpc_id=context.text("long_workers.network.vpc_id"),
        subnet_ids=context.texts("long_workers.network.subnet_ids"),
        availability_zones=context.texts("long_workers.network.availability_zones"),
        security_group_ids=context.texts("long_workers.network.security_group_ids"),
        has_public_addresses=context.flag("long_workers.network.public_addresses", default=kind == PUBLIC),
    )
    _check(context, network)
    return network


def _check(context: Context, network: Network) -> None:
    if network.kind != EXISTING:
        _check_new(context, network)
        return
    if not re.fullmatch(r"vpc-[0-9a-f]{8,17}", network.vpc_id):
        context.refuse("long_workers.network.vpc_id", network.vpc_id, "the id of the VPC that is there: vpc-0123456789")
    if not network.subnet_ids or len(network.subnet_ids) != len(network.availability_zones):
        context.refuse(
            "long_workers.network.subnet_ids",
            list(network.subnet_ids),
            "the subnets for the tasks, and in availability_zones the zone of each, in the same order",
        )
    for name, found, kind in (
        ("subnet_ids", network.subnet_ids, "subnet"),
        ("security_group_ids", network.security_group_ids, "sg"),
    ):
        for one in found:
            if not re.fullmatch(rf"{kind}-[0-9a-f]{{8,17}}", one):
                context.refuse(f"long_workers.network.{name}", one, f"ids such as {kind}-0123456789")
    for zone in network.availability_zones:
        if not re.fullmatch(r"[a-z]{2}(-[a-z0-9]+)+[a-z]", zone):
            context.refuse("long_workers.network.availability_zones", zone, "zones such as eu-central-1a")


def _check_new(context: Context, network: Network) -> None:
    """Of a VPC that is made: nothing in it is there yet, and its subnets say who has an address."""
    key = "long_workers.network"
    if network.vpc_id or network.subnet_ids:
        instead = "existing, or leave vpc_id and subnet_ids out: a VPC of its own is made"
        context.refuse(f"{key}.kind", network.kind, instead)
    for name, found in (
        ("security_group_ids", network.security_group_ids),
        ("availability_zones", network.availability_zones),
    ):
        if found:
            context.refuse(f"{key}.{name}", list(found), f"them with {key}.kind: existing; others are not in this VPC")
    if network.has_public_addresses != (network.kind == PUBLIC):
        # With one where nothing leads out, or without one where nothing else does, no task could even start.
        context.refuse(
            f"{key}.public_addresses", network.has_public_addresses, f"nothing: {key}.kind {network.kind} says it"
        )
    _check_cidr(context, f"{key}.cidr", network.cidr)


def _check_cidr(context: Context, key: str, cidr: str) -> None:
    try:
        length = IPv4Network(cidr).prefixlen
    except ValueError:
        length = 0
    if "/" not in cidr or not LARGEST_VPC <= length <= SMALLEST_VPC:
        context.refuse(
            key,
            cidr,
            f"a range such as {DEFAULT_CIDR}, /{LARGEST_VPC} to /{SMALLEST_VPC}, its first address first",
        )
