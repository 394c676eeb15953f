"""Policies, as stored in timers (what the dispatcher needs) and definitions (all of them)."""

from collections.abc import Mapping
from typing import Any

from cronfleet.domain.misfire import DEFAULT_GRACE_SECONDS, DEFAULT_PER_MINUTE, NONE_AFTER_PAUSE, Misfire, MisfirePolicy
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.retry import Backoff, BackoffKind, Retry


def timing_json(misfire: Misfire, after_pause: Misfire, overlap: Overlap, jitter_seconds: int) -> dict[str, Any]:
    """What decides when a schedule fires. In a timer, so its names are short and defaults are left out."""
    stored = _misfire_json(misfire)
    if after_pause != NONE_AFTER_PAUSE:
        stored["after"] = _misfire_json(after_pause)
    if overlap is not Overlap.ALLOW:
        stored["overlap"] = overlap.value
    if jitter_seconds:
        stored["jitter"] = jitter_seconds
    return stored


def timing_of(stored: Mapping[str, Any]) -> tuple[Misfire, Misfire, Overlap, int]:
    """The reverse of `timing_json`; raises `ValueError`, `KeyError`, `TypeError`, `AttributeError`."""
    after = stored.get("after")
    return (
        _misfire_of(stored),
        NONE_AFTER_PAUSE if after is None else _misfire_of(after),
        Overlap(stored.get("overlap", Overlap.ALLOW)),
        _whole(stored.get("jitter", 0)),
    )


def _misfire_json(misfire: Misfire) -> dict[str, Any]:
    stored: dict[str, Any] = {"misfire": misfire.policy.value}
    if misfire.max != 1:
        stored["max"] = misfire.max
    if misfire.grace_seconds != DEFAULT_GRACE_SECONDS:
        stored["grace"] = misfire.grace_seconds
    if misfire.window_seconds is not None:
        stored["window"] = misfire.window_seconds
    if misfire.per_minute != DEFAULT_PER_MINUTE:
        stored["pace"] = misfire.per_minute
    return stored


def _misfire_of(stored: Mapping[str, Any]) -> Misfire:
    window = stored.get("window")
    return Misfire(
        MisfirePolicy(stored["misfire"]),
        _whole(stored.get("max", 1)),
        _whole(stored.get("grace", DEFAULT_GRACE_SECONDS)),
        None if window is None else _whole(window),
        _whole(stored.get("pace", DEFAULT_PER_MINUTE)),
    )


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
