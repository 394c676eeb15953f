"""Policies, as stored in timers (what the dispatcher needs) and definitions (all of them)."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from cronfleet.domain.misfire import DEFAULT_PER_MINUTE, NONE_AFTER_PAUSE, Misfire, MisfirePolicy
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.schedule import BreakerPolicy
from cronfleet.domain.spread import Spread

Timing: TypeAlias = tuple[Misfire, Misfire, Overlap, int, str]
"""Misfire after an outage and after a pause, overlap, seconds of jitter, concurrency key."""

_LETTERS: Final = {MisfirePolicy.SKIP: "s", MisfirePolicy.FIRE_ONCE: "o", MisfirePolicy.CATCH_UP: "c"}
_POLICIES: Final = {letter: policy for policy, letter in _LETTERS.items()}


def timing_json(
    misfire: Misfire,
    after_pause: Misfire,
    overlap: Overlap,
    jitter_seconds: int,
    concurrency_key: str,
    *,
    is_spread: bool = False,
) -> dict[str, Any]:
    """What decides when a schedule fires. In a timer, so its names are short and defaults are left out.

    The offset of a spread one stands as `s`, in the place of the jitter: nothing gets larger for it.
    """
    stored: dict[str, Any] = {"misfire": misfire.policy.value, "grace": misfire.grace_seconds}
    if misfire.max != 1:
        stored["max"] = misfire.max
    if misfire.window_seconds is not None:
        stored["w"] = misfire.window_seconds
    if misfire.per_minute != DEFAULT_PER_MINUTE:
        stored["p"] = misfire.per_minute
    if after_pause != NONE_AFTER_PAUSE:
        stored["a"] = _packed(after_pause)
    if overlap is not Overlap.ALLOW:
        stored["overlap"] = overlap.value
    if is_spread:
        stored["s"] = jitter_seconds
    elif jitter_seconds:
        stored["jitter"] = jitter_seconds
    if concurrency_key:
        stored["key"] = concurrency_key
    return stored


def timing_of(stored: Mapping[str, Any]) -> Timing:
    """The reverse of `timing_json`; raises `ValueError`, `KeyError`, `TypeError`."""
    misfire = Misfire(
        MisfirePolicy(stored["misfire"]),
        _whole(stored.get("max", 1)),
        _whole(stored["grace"]),
        None if stored.get("w") is None else _whole(stored["w"]),
        _whole(stored.get("p", DEFAULT_PER_MINUTE)),
    )
    after_pause = _unpacked(stored["a"]) if "a" in stored else NONE_AFTER_PAUSE
    overlap = Overlap(stored.get("overlap", Overlap.ALLOW))
    jitter_seconds = _whole(stored.get("s", stored.get("jitter", 0)))
    return misfire, after_pause, overlap, jitter_seconds, str(stored.get("key", ""))


def is_spread(stored: Mapping[str, Any]) -> bool:
    """Whether the jitter in `stored` is the offset of a spread schedule."""
    return "s" in stored


def spread_json(spread: Spread | None) -> dict[str, Any]:
    """Where a definition is spread: its window and its offset, by position."""
    return {} if spread is None else {"spread": [spread.window_seconds, spread.offset_seconds]}


def spread_of(stored: Mapping[str, Any]) -> Spread | None:
    """The reverse of `spread_json`; raises `ValueError`, `TypeError`."""
    return Spread(*map(_whole, stored["spread"])) if "spread" in stored else None


def breaker_json(breaker: BreakerPolicy | None) -> dict[str, Any]:
    """A schedule's own breaker, by position, for those that have one."""
    return {} if breaker is None else {"b": [breaker.failures, breaker.cooldown_seconds]}


def breaker_of(stored: Mapping[str, Any]) -> BreakerPolicy | None:
    """The reverse of `breaker_json`; raises `ValueError`, `TypeError`."""
    return BreakerPolicy(*map(_whole, stored["b"])) if "b" in stored else None


def _packed(misfire: Misfire) -> list[Any]:
    """By position: the dispatcher never reads it, and every claim pays for it. No window is 0."""
    return [
        _LETTERS[misfire.policy],
        misfire.max,
        misfire.window_seconds or 0,
        misfire.per_minute,
        misfire.grace_seconds,
    ]


def _unpacked(stored: list[Any]) -> Misfire:
    letter, most, window, per_minute, grace = stored
    return Misfire(_POLICIES[letter], _whole(most), _whole(grace), _whole(window) or None, _whole(per_minute))


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
