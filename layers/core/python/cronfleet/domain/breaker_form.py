"""The form in which callers see breakers."""

from cronfleet.domain.breaker import Breaker, State
from cronfleet.domain.instant import SECOND, to_text


def breaker_form(breaker: Breaker) -> dict[str, object]:
    """What it guards and where it stands; instants as RFC 3339 text."""
    is_open = breaker.state is not State.CLOSED
    return {
        "id": breaker.guarded.breaker_id,
        "kind": breaker.guarded.kind.value,
        "target": breaker.guarded.name,
        "state": breaker.state.value,
        "failures": breaker.failures,
        "error": breaker.error or None,
        "failed_at": to_text(breaker.failed_at) if breaker.failures else None,
        "opened_at": to_text(breaker.opened_at) if is_open else None,
        "try_at": to_text(breaker.try_at) if breaker.state is State.OPEN else None,
        "cooldown_seconds": breaker.cooldown // SECOND if is_open else None,
        "probe": breaker.probe or None,
        "permits": breaker.permits if breaker.state is State.RECOVERING else None,
    }
