"""Quotas: how much a tenant may have and do. A tier has defaults; a tenant's record may say otherwise, one by one."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any, Final

from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import DAY
from cronfleet.domain.run import ROW_LIFE_DAYS
from cronfleet.domain.tenant import DEFAULT_TIER, Overrides, Tenant


@dataclass(frozen=True, slots=True)
class Quotas:
    """The limits of a tenant. `concurrent_runs` alone may be `None`: no limit, and no cost of counting."""

    schedules: int
    """Schedules that are there, whatever their status; what was deleted does not count."""
    concurrent_runs: int | None
    """Attempts under way at the same time."""
    fires_per_second: int
    """Fires that become runs, over any stretch of time longer than the burst."""
    burst: int
    """Fires that may become runs at once, after a quiet stretch."""
    payload_bytes: int
    """The payload of a schedule, as compact JSON in UTF-8."""
    retention_days: int
    """How far back history can be read."""
    backfill_fires: int
    """Fires of one backfill."""
    requests_per_second: int
    """Requests to the API, per key."""


STANDARD: Final = Quotas(10_000, None, 100, 2_500, 32_768, 30, 10_000, 50)
PRIORITY: Final = Quotas(100_000, None, 500, 10_000, 49_152, 90, 100_000, 200)

DEFAULTS: Final[Mapping[str, Quotas]] = {"standard": STANDARD, "priority": PRIORITY}
"""The quotas of a tenant whose record says nothing else, by tier."""

QUOTAS_KEPT: Final = 1_024
"""Ways in which tenants differ from their tiers whose limits a process keeps."""

NAMES: Final = tuple(field.name for field in fields(Quotas))

BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "schedules": (0, 10_000_000),
    "concurrent_runs": (1, 1_000),
    "fires_per_second": (1, 10_000),
    "burst": (1, 100_000),
    "payload_bytes": (256, 49_152),
    "retention_days": (1, 3_650),
    "backfill_fires": (0, 1_000_000),
    "requests_per_second": (1, 10_000),
}
"""The least and the most that each may be set to. A payload has to fit into a request's body with all else."""


def quotas_of(tenant: Tenant) -> Quotas:
    """The limits in force for `tenant`: its tier's, with what its record says otherwise."""
    return _quotas(tenant.tier, tenant.quotas)


@lru_cache(maxsize=QUOTAS_KEPT)
def _quotas(tier: str, overrides: Overrides) -> Quotas:
    """Asked for with each message, and the same for most tenants."""
    defaults = DEFAULTS.get(tier, DEFAULTS[DEFAULT_TIER])
    said: dict[str, Any] = dict(overrides)
    return replace(defaults, **{name: limit for name, limit in said.items() if name in NAMES})


def overridden(overrides: Overrides, patch: Mapping[str, int | None]) -> Overrides:
    """`overrides` after `patch`, in which `None` means: back to the tier's default. Raises `Invalid`."""
    said: dict[str, int] = dict(overrides)
    for name, limit in patch.items():
        if name not in BOUNDS:
            raise Invalid(name, f"is no quota; known are {', '.join(NAMES)}")
        if limit is None:
            said.pop(name, None)
            continue
        least, most = BOUNDS[name]
        if not least <= limit <= most:
            raise Invalid(name, f"must be from {least:,} to {most:,}, not {limit:,}")
        said[name] = limit
    return tuple(sorted(said.items()))


def kept_days(tenant: Tenant) -> int:
    """How long rows of the tenant's runs are kept: its retention, and what the scheduler itself needs."""
    return max(quotas_of(tenant).retention_days, ROW_LIFE_DAYS)


def retention_of(tenant: Tenant) -> int:
    """How far back, in milliseconds, the tenant is shown what has happened."""
    return quotas_of(tenant).retention_days * DAY


def payload_bytes(payload: Any) -> int:
    """The size of `payload` as the quota counts it: compact JSON in UTF-8."""
    return len(json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def limits(quotas: Quotas) -> dict[str, int | None]:
    """Each limit by its name; `None` means that there is none."""
    return asdict(quotas)
