"""Imported: what a file of another scheduler says, in the words of a schedule, and what it says that cannot be kept.

A reader of a format (`crontab.py`, `eventbridge.py`, `kubernetes.py`) turns a file into a `Sheet`. It judges no
expression, zone or target: that is done where every schedule is judged, so that the words are the same.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from cronfleet.domain.errors import Invalid
from cronfleet.domain.time_text import interval_text

IMPORT_LABEL: Final = "import"
"""Each imported schedule has it: what it came with."""
OFF_LABEL: Final = "import-state"
OFF: Final = "off"
"""What was switched off in the old system says so, and is not turned on with the rest."""
DEFAULT_ZONE: Final = "UTC"
"""Where neither the file nor the caller names a zone; the answer says so."""
NATURAL_ANCHOR: Final = "1970-01-01T00:00:00Z"
"""Where an interval counts from that says nothing of it: so `5m` falls on the clock's full five minutes."""

LONGEST_TEXT: Final = 1_000
"""Characters of a line that a refusal shows."""
LONGEST_DESCRIPTION: Final = 2_000
_SLUG: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_SLUG: Final = 50
_LONGEST_LABEL: Final = 128
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# Bounded: without, a long run of digits would be tried again from each of them, and for each of its ends.
_DURATION: Final = re.compile(r"(\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(ns|us|µs|ms|s|m|h)", re.ASCII)
_SECONDS: Final = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}
_TEMPLATE: Final = re.compile(
    r"""\{%|%\}                                # Jinja's control lines
      | <%(?:(?!<%).)*?%>                                # ERB, EPP
      | \{\{[-~]?\s*(?![.}])(?!(json|range|printf|println|index|len|join|upper|lower|title|end|else|if|with)\b)
        \w[^{}]*\}\}                           # a variable of Jinja or Mustache; not a format of Go, such as {{.Name}}
      | \{\{[-~]?\s*(\$?\.(Values|Release|Chart|Capabilities|Template|Files)\b|include\b|template\b|toYaml\b) # Helm
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job of the old system as a schedule that could be.

    `trigger`, `policies` and `target` are in the API's form; `target` is None where the file names none that can be
    called. `identity` is what stays the same when the file is imported again; `name` is its readable part.
    `notes` say what could not be carried over as it stood.
    """

    line: int
    text: str
    name: str
    identity: tuple[str, ...]
    trigger: Mapping[str, object]
    payload: Any
    description: str = ""
    policies: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    target: Mapping[str, Any] | None = None
    start_at: str | None = None
    end_at: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line, or an entry that begins there, that becomes no schedule, and why."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """A file that was read: every line or entry of it is a candidate, refused, ignored (it is none of a scheduler) or
    in the `counts`.
    """

    candidates: tuple[Candidate, ...]
    refusals: tuple[Refusal, ...]
    counts: Mapping[str, int]
    notes: tuple[str, ...] = ()
    ignored: tuple[Refusal, ...] = ()


class Marked(dict[str, Any]):
    """A mapping of a file, and the line where it begins."""

    line: int = 1


def schedule_id(kind: str, source: str, candidate: Candidate) -> str:
    """The id that the same job of the same source has in every import: a readable part and a hash of its identity."""
    said = json.dumps([kind, source, *candidate.identity])
    digest = hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
    return f"{slug(candidate.name) or kind}-{digest}"


def slug(text: str) -> str:
    """`text` with what an id may hold, cut to a length that leaves room for more."""
    return _SLUG.sub("-", text).strip("-._")[:_LONGEST_SLUG].strip("-._")


def shown(text: str) -> str:
    """`text` as a refusal shows it."""
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def description_of(text: str) -> str:
    """`text` as a description may be."""
    cleaned = _CONTROL.sub(" ", text).strip()
    return cleaned if len(cleaned) <= LONGEST_DESCRIPTION else f"{cleaned[: LONGEST_DESCRIPTION - 1]}…"


def label_of(text: object) -> str | None:
    """`text` as the value of a label, if it can be one."""
    value = str(text).strip()
    return value if value and len(value) <= _LONGEST_LABEL and value.isprintable() else None


def template_in(text: str) -> str | None:
    """The placeholder of a template engine that stands in `text`, if one does: such a file is not finished."""
    match = _TEMPLATE.search(text)
    return None if match is None else match[0][:40]


def every_of(duration: str) -> str:
    """Go's duration (`1h30m`), as robfig's `@every` takes it, as an interval; it drops what is less than a second."""
    parts = _DURATION.findall(duration)
    if not parts or "".join(number + unit for number, unit in parts) != duration:
        raise Invalid("every", f"{duration[:64]!r} is no duration; write it as in 1h30m")
    seconds = int(sum((Fraction(number) * _SECONDS[unit] for number, unit in parts), Fraction()))
    return interval_text(max(1, seconds))


def mapping_of(value: object) -> Mapping[str, Any]:
    """`value` if it is a mapping, else an empty one: what is missing in it is told when it is asked for."""
    return value if isinstance(value, dict) else {}


def whole_of(value: object, field: str) -> int:
    """`value` as a whole number from 0; raises `Invalid` for anything else, true and false included."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Invalid(field, f"has {field} {value!r}, which is no whole number from 0")
    return value
