"""The spans that the running stack has sent: the newest traces in memory, all of them in a file until it is full."""

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

MAX_TRACES: Final = 5_000
MAX_SPANS_OF_TRACE: Final = 2_000
FILE_BYTES: Final = 16 * 1024 * 1024
"""The file is begun anew past this size, with the traces that are in memory forgotten from it."""

RUN_ID: Final = "cronfleet.run_id"
ERROR: Final = 2
"""The code of a status that says so (OTLP)."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One span as it came; times in nanoseconds since the epoch."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    service: str
    began: int
    ended: int
    error: str = ""
    is_error: bool = False
    attributes: Mapping[str, Any] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    """The traces that it is linked to."""


class Store:
    """Takes spans in, and finds traces by their ids and by their runs'. For several threads."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._traces: OrderedDict[str, dict[str, Seen]] = OrderedDict()
        self._of_run: dict[str, str] = {}
        self._lock = threading.Lock()
        self._read()

    def take(self, request: Mapping[str, Any]) -> int:
        """Take in the spans of an OTLP request; how many there were. Raises `ValueError` and the like for another."""
        spans = list(seen(request))
        with self._lock:
            for span in spans:
                self._note(span)
            self._write(spans)
        return len(spans)

    def find(self, wanted: str) -> list[Seen]:
        """The spans of a trace, by its id or by the id of one of its runs; none, if nothing is known of it."""
        with self._lock:
            trace_id = self._of_run.get(wanted, wanted.lower())
            return list(self._traces.get(trace_id, {}).values())

    def latest(self, count: int) -> list[list[Seen]]:
        """The traces that were last heard of, newest first."""
        with self._lock:
            newest = list(reversed(self._traces.values()))[:count]
            return [list(spans.values()) for spans in newest]

    def _note(self, span: Seen) -> None:
        spans = self._traces.setdefault(span.trace_id, {})
        self._traces.move_to_end(span.trace_id)
        if len(spans) < MAX_SPANS_OF_TRACE:
            spans[span.span_id] = span
        run_id = span.attributes.get(RUN_ID)
        if run_id:
            self._of_run[run_id] = span.trace_id
        while len(self._traces) > MAX_TRACES:
            gone, _ = self._traces.popitem(last=False)
            self._of_run = {run: trace for run, trace in self._of_run.items() if trace != gone}

    def _write(self, spans: Sequence[Seen]) -> None:
        is_full = self._file.exists() and self._file.stat().st_size > FILE_BYTES
        with self._file.open("w" if is_full else "a", encoding="utf-8") as file:
            file.writelines(json.dumps(_fields(span)) + "\n" for span in spans)

    def _read(self) -> None:
        if not self._file.exists():
            return
        for line in self._file.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                fields = json.loads(line)
                self._note(Seen(**{**fields, "links": tuple(fields["links"])}))
            except (ValueError, TypeError, KeyError):
                continue  # The last line of a process that was killed.


def _fields(span: Seen) -> dict[str, Any]:
    return {name: getattr(span, name) for name in Seen.__dataclass_fields__}


def seen(request: Mapping[str, Any]) -> Iterator[Seen]:
    """The spans of an OTLP request in JSON."""
    for resource in request.get("resourceSpans", ()):
        about = _attributes(resource.get("resource", {}))
        for scope in resource.get("scopeSpans", ()):
            for span in scope.get("spans", ()):
                yield _seen(span, str(about.get("service.name", "?")))


def _seen(span: Mapping[str, Any], service: str) -> Seen:
    status = span.get("status") or {}
    return Seen(
        str(span["traceId"]).lower(),
        str(span["spanId"]).lower(),
        str(span.get("parentSpanId") or "").lower(),
        str(span.get("name", "")),
        service,
        int(span["startTimeUnixNano"]),
        int(span["endTimeUnixNano"]),
        str(status.get("message", "")),
        status.get("code") in (ERROR, "STATUS_CODE_ERROR"),
        _attributes(span),
        tuple(str(link["traceId"]).lower() for link in span.get("links", ())),
    )


def _attributes(holder: Mapping[str, Any]) -> dict[str, Any]:
    return {one["key"]: _value(one.get("value") or {}) for one in holder.get("attributes", ())}


def _value(value: Mapping[str, Any]) -> Any:
    for kind, held in value.items():
        return int(held) if kind == "intValue" else held
    return None
