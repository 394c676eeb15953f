"""`Tracing` and `JobSpans` with OpenTelemetry: spans in its own form, delivered as OTLP/HTTP.

There is no batch processor and no thread: a worker forks a process for each attempt, and Lambda stands still between
two events. What is to be kept is delivered by `flush`, at the end of the event.
"""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from opentelemetry.sdk.resources import Resource

from cronfleet.adapters.otel.delivery import RESTING, Delivery, Failed, Sign
from cronfleet.adapters.otel.encoding import encoded, readable
from cronfleet.adapters.otel.jobs import job_spans
from cronfleet.domain.instant import HOUR
from cronfleet.domain.span import Span
from cronfleet.domain.trace import TraceContext
from cronfleet.ports.telemetry import Telemetry

MAX_WAITING: Final = 2_000
"""Spans, and pieces of jobs' spans, that wait for a flush; later ones are lost."""

MAX_BODY_BYTES: Final = 4 * 1024 * 1024
"""Of a request; CloudWatch's endpoint takes 5 MB."""

LONGEST_STRETCH: Final = 20 * HOUR
"""Between the beginnings of two spans of a request; CloudWatch's endpoint takes 24 hours between any two."""

MAX_STRETCHES: Final = 4
"""Requests that one flush makes; what is older than they hold is left out."""

logger = logging.getLogger(__name__)


class OtelTracing:
    """Delivers to `endpoint` what `part`, and the parts whose spans it draws, did."""

    def __init__(
        self, endpoint: str, part: str, version: str, *, telemetry: Telemetry, sign: Sign | None = None
    ) -> None:
        self._delivery = Delivery(endpoint, sign)
        self._part = part
        self._version = version
        self._telemetry = telemetry
        self._waiting: list[Span] = []
        self._relayed: list[Mapping[str, Any]] = []
        self._kept: list[Mapping[str, Any]] = []
        self._resources: dict[str, Resource] = {}

    # --- Tracing ---------------------------------------------------------------------------------------------

    def keep(self, spans: Sequence[Span]) -> None:
        """See `Tracing.keep`."""
        room = MAX_WAITING - len(self._waiting)
        self._waiting += spans[:room]
        self._lost(len(spans) - room, "full")
        self._kept, self._relayed = [*self._kept, *self._relayed], []

    def flush(self) -> None:
        """See `Tracing.flush`."""
        spans, pieces = self._waiting, self._kept
        self._waiting, self._kept, self._relayed = [], [], []
        if not spans and not pieces:
            return
        stretches = _stretches(spans)
        # What a job made belongs to the attempt that has just ended, and so to the newest.
        for place, stretch in enumerate(stretches, start=1):
            self._deliver(stretch, pieces if place == len(stretches) else ())

    def _deliver(self, spans: Sequence[Span], pieces: Sequence[Mapping[str, Any]]) -> None:
        count = len(spans) + sum(map(_count, pieces))
        try:
            self._delivery.post(self._body(spans, pieces))
        except Failed as failed:
            self._lost(count, failed.why)
        except Exception:
            # Whatever is wrong with a span, the run that it tells of is over and well.
            logger.exception("spans_not_delivered")
            self._lost(count, "broken")

    def _body(self, spans: Sequence[Span], pieces: Sequence[Mapping[str, Any]]) -> bytes:
        own = encoded([readable(span, self._resource(span.part)) for span in spans])
        body = _json(own, pieces)
        if len(body) > MAX_BODY_BYTES:
            self._lost(sum(map(_count, pieces)), "too_large")
            body = _json(own, ())
        return body

    def _lost(self, count: int, why: str) -> None:
        if count <= 0:
            return
        self._telemetry.count("spans_lost", count)
        if why != RESTING:  # Of that the failure before has told.
            self._telemetry.event("spans_lost", reason=why, spans=count)

    def _resource(self, part: str) -> Resource:
        if part not in self._resources:
            self._resources[part] = Resource(self._about(part))
        return self._resources[part]

    def _about(self, part: str) -> dict[str, str]:
        about = {
            "service.name": f"cronfleet-{part}",
            "service.namespace": "cronfleet",
            "service.version": self._version,
            "telemetry.sdk.language": "python",
            "telemetry.sdk.name": "opentelemetry",
        }
        function = os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "")
        if function and part == self._part:
            about |= {
                "cloud.provider": "aws",
                "cloud.platform": "aws_lambda",
                "cloud.region": os.environ.get("AWS_REGION", ""),
                "faas.name": function,
                "faas.version": os.environ.get("AWS_LAMBDA_FUNCTION_VERSION", ""),
                "faas.instance": os.environ.get("AWS_LAMBDA_LOG_STREAM_NAME", ""),
            }
        return about

    # --- JobSpans --------------------------------------------------------------------------------------------

    def inside(self, context: TraceContext) -> AbstractContextManager[Sequence[Mapping[str, Any]]]:
        """See `JobSpans.inside`."""
        return job_spans(context, self._resource("job"))

    def relay(self, piece: Mapping[str, Any]) -> None:
        """See `JobSpans.relay`."""
        if len(self._relayed) < MAX_WAITING:
            self._relayed.append(piece)


def _stretches(spans: Sequence[Span]) -> list[list[Span]]:
    """`spans` by when they began, apart where a request could not hold them all: a run may have waited for days."""
    stretches: list[list[Span]] = [[]]
    for span in sorted(spans, key=lambda one: one.began_at):
        if stretches[-1] and span.began_at - stretches[-1][0].began_at > LONGEST_STRETCH:
            stretches.append([])
        stretches[-1].append(span)
    return stretches[-MAX_STRETCHES:]


def _json(own: Sequence[Mapping[str, Any]], pieces: Sequence[Mapping[str, Any]]) -> bytes:
    relayed = [one for piece in pieces for one in piece.get("resourceSpans", ())]
    return json.dumps({"resourceSpans": [*own, *relayed]}, separators=(",", ":")).encode()


def _count(piece: Mapping[str, Any]) -> int:
    scopes = [scope for one in piece.get("resourceSpans", ()) for scope in one.get("scopeSpans", ())]
    return sum(len(scope.get("spans", ())) for scope in scopes)
