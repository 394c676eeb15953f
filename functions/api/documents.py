"""Documents: bodies that are files of another format. Each reaches its route as a field of a JSON object.

So a route declares a body as any other does, and what surrounds all routes (validation, Idempotency-Key) stays as it
is. Which paths take which documents stands in `DOCUMENTS`; everywhere else a body is JSON.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

TEXT_PLAIN: Final = "text/plain"
BYTES: Final = "application/octet-stream"
JSON: Final = "application/json"
CALENDAR: Final = "text/calendar"
YAML: Final = ("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml")

MAX_DOCUMENT_BYTES: Final = 512 * 1024
MAX_EXPORT_BYTES: Final = 4 * 1024 * 1024
"""A function is called with six megabytes at most, in which the body stands as JSON text inside JSON."""


@dataclass(frozen=True, slots=True)
class Document:
    """Requests of `method` to `path` may have a body of one of `media_types`; the route finds its text in `field`.

    With `or_json`, a body that is JSON is read as JSON is elsewhere; without, the document is all that may be sent.
    With `any_bytes`, a line that is not UTF-8 is read as Latin-1, and `not_utf8` holds the numbers of such lines.
    """

    method: str
    path: str
    media_types: tuple[str, ...]
    field: str = "document"
    max_bytes: int = MAX_DOCUMENT_BYTES
    any_bytes: bool = False
    or_json: bool = False

    @property
    def allowed(self) -> tuple[str, ...]:
        """Every media type that the request may have."""
        return (JSON, *self.media_types) if self.or_json else self.media_types

    def is_in(self, headers: Mapping[str, str]) -> bool:
        """Whether the request carries the document, by its media type; where it names none, JSON goes first."""
        written = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
        media_type = written.partition(";")[0].strip().lower()
        return media_type in self.media_types or not (media_type or self.or_json)

    def fields(self, content: bytes) -> dict[str, Any]:
        """The JSON object that the route gets; raises UnicodeDecodeError."""
        if not self.any_bytes:
            return {self.field: content.decode()}
        text, not_utf8 = _lenient(content)
        return {self.field: text, "not_utf8": not_utf8}


DOCUMENTS: Final = (
    Document("POST", "/v1/imports/crontab", (TEXT_PLAIN, BYTES), any_bytes=True),
    Document("POST", "/v1/imports/eventbridge", (JSON, TEXT_PLAIN, BYTES)),
    Document("POST", "/v1/imports/kubernetes", (*YAML, JSON, TEXT_PLAIN, BYTES)),
    Document("POST", "/v1/imports/cronfleet", (JSON, TEXT_PLAIN, BYTES), max_bytes=MAX_EXPORT_BYTES),
    Document("PUT", "/v1/calendars/{name}", (CALENDAR,), field="ical", or_json=True),
)


def document_of(method: str, path: str) -> Document | None:
    """The document that a request of `method` to `path` may carry."""
    return next((one for one in DOCUMENTS if one.method == method and _matches(one.path, path)), None)


def _matches(pattern: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(pattern)), path) is not None


def _lenient(content: bytes) -> tuple[str, list[int]]:
    try:
        return content.decode(), []
    except UnicodeDecodeError:
        lines, not_utf8 = [], []
        for number, line in enumerate(content.split(b"\n"), 1):
            try:
                lines.append(line.decode())
            except UnicodeDecodeError:
                lines.append(line.decode("latin-1"))
                not_utf8.append(number)
        return "\n".join(lines), not_utf8
