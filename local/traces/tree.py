"""A trace as rows: each span below its parent, in the order in which they began, with its place on a bar."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from local.traces.store import Seen

NANOSECONDS: Final = 1_000_000_000
SLIVER: Final = 0.004
"""The least share of the bar that a span has, so that it is seen."""

WIDTH: Final = 40
NAME_WIDTH: Final = 40


@dataclass(frozen=True, slots=True)
class Row:
    """A span, how deep it stands, and from where to where it lies on a bar from 0 to 1."""

    span: Seen
    depth: int
    left: float
    width: float

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.span.ended - self.span.began) / NANOSECONDS


def rows(spans: Sequence[Seen]) -> list[Row]:
    """The rows of a trace. What has a parent that was not kept, or not yet, stands at the top."""
    if not spans:
        return []
    known = {span.span_id for span in spans}
    below: defaultdict[str, list[Seen]] = defaultdict(list)
    for span in sorted(spans, key=lambda one: (one.began, -one.ended, one.name)):
        below[span.parent_id if span.parent_id in known and span.parent_id != span.span_id else ""].append(span)
    began, ended = extent(spans)
    whole = max(ended - began, 1)
    placed = [
        Row(span, depth, (span.began - began) / whole, max((span.ended - span.began) / whole, SLIVER))
        for span, depth in _in_order(below)
    ]
    return [Row(one.span, one.depth, min(one.left, 1 - SLIVER), min(one.width, 1 - one.left)) for one in placed]


def _in_order(below: dict[str, list[Seen]]) -> Iterator[tuple[Seen, int]]:
    waiting = [(span, 0) for span in reversed(below.get("", []))]
    while waiting:
        span, depth = waiting.pop()
        yield span, depth
        waiting += [(one, depth + 1) for one in reversed(below.get(span.span_id, []))]


def extent(spans: Sequence[Seen]) -> tuple[int, int]:
    """From when to when."""
    return min(span.began for span in spans), max(span.ended for span in spans)


def title(spans: Sequence[Seen]) -> str:
    """What a trace is about: the run's schedule, else its first span."""
    for span in spans:
        schedule = span.attributes.get("cronfleet.schedule_id")
        if schedule:
            return f"{span.attributes.get('cronfleet.tenant', '')} / {schedule}"
    return min(spans, key=lambda one: one.began).name


def lasted(seconds: float) -> str:
    """`12 ms`, `1.25 s`, `3 min 20 s`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.2f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def moment(nanoseconds: int) -> str:
    """In UTC, to the millisecond."""
    return datetime.fromtimestamp(nanoseconds / NANOSECONDS, UTC).isoformat(" ", "milliseconds").replace("+00:00", "Z")


def text(spans: Sequence[Seen]) -> str:
    """A trace for a terminal."""
    began, ended = extent(spans)
    whole = lasted((ended - began) / NANOSECONDS)
    lines = [f"trace {spans[0].trace_id}  {title(spans)}", f"{moment(began)}, {whole} in all", ""]
    return "\n".join([*lines, *map(_line, rows(spans))]) + "\n"


def _line(row: Row) -> str:
    name = f"{'  ' * row.depth}{row.span.name}"
    shown = name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 1]}…"
    left = min(round(row.left * WIDTH), WIDTH - 1)
    bar = " " * left + "━" * max(1, round(row.width * WIDTH))
    wrong = f"  ✗ {row.span.error}" if row.span.is_error else ""
    part = row.span.service.removeprefix("cronfleet-")
    return f"{shown:<{NAME_WIDTH}} {part:<10} │{bar[:WIDTH]:<{WIDTH}}│ {lasted(row.seconds):>12}{wrong}"
