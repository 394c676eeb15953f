"""Where spans go, of which runs, and how much the functions' logs say of each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cronfleet import settings
from cronfleet.domain.span import DEFAULT_LATE_SECONDS, DEFAULT_RATIO
from infra.config.context import Context

TRACED: Final = frozenset({"api", "worker", "clerk"})
"""The parts that deliver spans: a run's are drawn by whoever sees an attempt end, the dispatcher's among them."""

SENDING: Final = frozenset({"dispatcher", "sweeper"})
"""The parts that send runs to their queues, and name their traces there."""

ENDING: Final = frozenset({"worker", "clerk"})
"""The parts that see attempts end."""

MOST_LATE_SECONDS: Final = 24 * 3600
_URL: Final = re.compile(r"https://[\w.-]+(:\d+)?/\S+|http://(127\.0\.0\.1|localhost)(:\d+)?/\S+")


@dataclass(frozen=True, slots=True)
class Traces:
    """`endpoint` is a URL that takes OTLP/HTTP as JSON, `cloudwatch` for that of the installation's own region, or
    empty: then no span leaves a function.

    `ratio` of all traces are kept, and each run that failed or started more than `late_seconds` late. Of successes
    `log_success_ratio` have a line in the log. `log_details`: errors' texts and payloads stand in it too.
    """

    endpoint: str
    ratio: float
    late_seconds: int
    log_success_ratio: float
    log_details: bool

    @property
    def goes_to_cloudwatch(self) -> bool:
        """Whether functions need the right to deliver spans."""
        return self.endpoint == settings.CLOUDWATCH

    def environment(self, part: str) -> Mapping[str, str]:
        """What the function of a part reads of it."""
        read: dict[str, str] = {}
        if part in TRACED | SENDING:
            read |= {settings.TRACES: self.endpoint, settings.TRACE_RATIO: str(self.ratio)}
        if part in ENDING:
            read |= {
                settings.LATE_SECONDS: str(self.late_seconds),
                settings.LOG_SUCCESS_RATIO: str(self.log_success_ratio),
                settings.LOG_DETAILS: str(self.log_details).lower(),
            }
        return read


def traces_of(context: Context, *, local: bool) -> Traces:
    """The choices under `traces`, and under `logs` those that say what stands in them."""
    return Traces(
        endpoint=_endpoint(context),
        ratio=_ratio(context, "traces.ratio", 1.0 if local else DEFAULT_RATIO),
        late_seconds=context.number("traces.late_seconds", DEFAULT_LATE_SECONDS, 0, MOST_LATE_SECONDS),
        log_success_ratio=_ratio(context, "logs.success_ratio", 1.0),
        log_details=context.flag("logs.details"),
    )


def _endpoint(context: Context) -> str:
    text = context.text("traces.endpoint")
    if text and text != settings.CLOUDWATCH and not _URL.fullmatch(text):
        context.refuse(
            "traces.endpoint", text, f"{settings.CLOUDWATCH}, or an https URL such as https://collector:4318/v1/traces"
        )
    return text


def _ratio(context: Context, name: str, default: float) -> float:
    text = context.text(name)
    if not text:
        return default
    if not re.fullmatch(r"0(\.\d{1,6})?|1(\.0{1,6})?", text):
        context.refuse(name, text, "a number from 0 to 1, such as 0.05")
    return float(text)
