"""Reasons, as stored in timers and rows: `[code, text, detail]`."""

from typing import Any

from cronfleet.domain.reason import Code, Reason


def reason_json(reason: Reason | None) -> list[Any] | None:
    """A reason as JSON."""
    if reason is None:
        return None
    stored: list[Any] = [reason.code.value, reason.text]
    return [*stored, dict(reason.detail)] if reason.detail else stored


def reason_of(stored: list[Any] | None) -> Reason | None:
    """The reverse of `reason_json`; raises `ValueError`."""
    if stored is None:
        return None
    code, text, *detail = stored
    return Reason(Code(code), text, detail[0] if detail else {})
