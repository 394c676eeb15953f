"""Policies, as stored in timers (what the dispatcher needs) and definitions (all of them)."""

from collections.abc import Mapping
from typing import Any

from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.retry import Backoff, BackoffKind, Retry


def timing_json(misfire: Misfire, overlap: Overlap, jitter_seconds: int) -> dict[str, Any]:
    """What decides when a schedule fires. In a timer, so its names are short."""
    stored: dict[str, Any] = {"misfire": misfire.policy.value, "grace": misfire.grace_seconds}
    if misfire.max != 1:
        stored["max"] = misfire.max
    if overlap is not Overlap.ALLOW:
        stored["overlap"] = overlap.value
    if jitter_seconds:
        stored["jitter"] = jitter_seconds
    return stored


def timing_of(stored: Mapping[str, Any]) -> tuple[Misfire, Overlap, int]:
    """The reverse of `timing_json`; raises `ValueError`, `KeyError`."""
    misfire = Misfire(MisfirePolicy(stored["misfire"]), _whole(stored.get("max", 1)), _whole(stored["grace"]))
    return misfire, Overlap(stored.get("overlap", Overlap.ALLOW)), _whole(stored.get("jitter", 0))


def _whole(stored: Any) -> int:
    # The dispatcher computes with these: a wrong type has to be found here, where it costs one item and no tick.
    if type(stored) is not int:
        raise ValueError(f"{stored!r} is not a whole number")
    return stored


def retry_json(retry: Retry) -> dict[str, Any]:
    """A retry policy as JSON."""
    backoff = retry.backoff
    return {
        "max_attempts": retry.max_attempts,
        "kind": backoff.kind.value,
        "base_seconds": backoff.base_seconds,
        "max_seconds": backoff.max_seconds,
    }


def retry_of(stored: Mapping[str, Any]) -> Retry:
    """The reverse of `retry_json`; raises `ValueError`, `KeyError`."""
    backoff = Backoff(BackoffKind(stored["kind"]), stored["base_seconds"], stored["max_seconds"])
    return Retry(stored["max_attempts"], backoff)
