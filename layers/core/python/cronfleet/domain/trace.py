"""Traces: under which ids a run can be followed through every part. Pure, and without chance: ids are digests.

A trace context is W3C's (Trace Context, level 1): it travels as `traceparent` in HTTP, and as `AWSTraceHeader` in
X-Ray's way of writing through SQS. A run's ids are computed from its run id: each copy of a message, each part and
each reader of the ledger arrives at the same, and nothing has to be stored.
"""

import re
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

TRACEPARENT: Final = "traceparent"
"""The header."""

_TRACE_DIGITS: Final = 32
_SPAN_DIGITS: Final = 16
_EPOCH_DIGITS: Final = 8
"""Of a trace id, by X-Ray's way of writing, what stands before the second dash."""
_SAMPLED: Final = 0x01
_RATIO_BITS: Final = 64

_TRACEPARENT: Final = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(?P<more>-.*)?"
)
_VERSION: Final = "00"
_NO_VERSION: Final = "ff"


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A span and its trace, both in lower-case hexadecimal (32 and 16 digits); `sampled`: whoever made it keeps it."""

    trace_id: str
    span_id: str
    sampled: bool = False

    @property
    def traceparent(self) -> str:
        """The header's value."""
        return f"{_VERSION}-{self.trace_id}-{self.span_id}-{int(self.sampled):02x}"

    @property
    def xray_header(self) -> str:
        """The same as `AWSTraceHeader` takes it."""
        epoch, rest = self.trace_id[:_EPOCH_DIGITS], self.trace_id[_EPOCH_DIGITS:]
        return f"Root=1-{epoch}-{rest};Parent={self.span_id};Sampled={int(self.sampled)}"

    def child(self, *names: object) -> "TraceContext":
        """The span below this one that `names` tell from others: the same names, the same span."""
        return replace(self, span_id=span_id_of(self.trace_id, self.span_id, *names))


def parse_traceparent(text: str) -> TraceContext | None:
    """The context in a header's value; `None` for whatever is none, as the standard wants: the caller begins anew."""
    match = _TRACEPARENT.fullmatch(text.strip(" \t"))
    if match is None or match["version"] == _NO_VERSION:
        return None
    if match["more"] is not None and match["version"] == _VERSION:
        return None
    trace_id, span_id = match["trace"], match["span"]
    if not int(trace_id, 16) or not int(span_id, 16):
        return None
    return TraceContext(trace_id, span_id, bool(int(match["flags"], 16) & _SAMPLED))


def read_traceparent(stored: object) -> TraceContext | None:
    """The context that was kept as text; `None` where there is none, or none that can be read: no run fails for it."""
    return parse_traceparent(stored) if isinstance(stored, str) else None


def written_traceparent(context: TraceContext | None) -> str | None:
    """The reverse of `read_traceparent`."""
    return None if context is None else context.traceparent


def trace_id_of(*names: object) -> str:
    """The trace id that `names` are digested to."""
    return _digest(_TRACE_DIGITS, "trace", *names)


def span_id_of(*names: object) -> str:
    """The span id that `names` are digested to."""
    return _digest(_SPAN_DIGITS, "span", *names)


def _digest(digits: int, *names: object) -> str:
    # Zero, which the standard forbids, is one digest in 2 to the 64.
    return blake2b("\x1f".join(map(str, names)).encode(), digest_size=digits // 2).hexdigest()


def is_sampled(trace_id: str, ratio: float) -> bool:
    """Whether a trace is among the share `ratio` (0 to 1), as OpenTelemetry's TraceIdRatioBased decides it: every part
    that knows the ratio says the same.
    """
    return int(trace_id[-_RATIO_BITS // 4 :], 16) < round(ratio * float(1 << _RATIO_BITS))
