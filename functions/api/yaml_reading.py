"""YAML: manifests as plain values, each mapping with the line where it begins, within named bounds.

PyYAML reads it, with libyaml where that is there; no tag makes an object. Plain words are read as Kubernetes reads
them: numbers, truth values and null; a date stays text. Each document of a file is read by itself, so that one that is
no YAML costs the others nothing.
"""

import functools
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from cronfleet.domain import imported
from cronfleet.domain.errors import Invalid
from cronfleet.domain.imported import Marked, Refusal

from .reading import check_value, parse

MAX_NODES: Final = 50_000
"""Of one document, each alias counted as what it stands for."""
MAX_DEPTH: Final = 64
MAX_DOCUMENTS: Final = 1_000
MAX_QUOTES: Final = 100

_BOUNDARY: Final = re.compile(r"^(?:---(?=\s|$)|\.\.\.(?=\s|$))", re.MULTILINE)
_BARE_SCHEDULE: Final = re.compile(r"[ \t-]*schedule:[ \t]*[*@]")
_TOO_LARGE: Final = f"has more than {MAX_NODES} values, aliases counted as what they stand for"


def read(text: str) -> tuple[list[object], list[Refusal]]:
    """The documents of `text` (None: an empty one), and those that are no YAML."""
    documents: list[object] = []
    refusals: list[Refusal] = []
    for line, part in _parts(text):
        try:
            documents.append(_document(part, line))
        except Invalid as error:
            refusals.append(Refusal(line, imported.shown(_first_line(part)), error.reason))
        if len(documents) + len(refusals) > MAX_DOCUMENTS:
            raise Invalid("body", f"has more than {MAX_DOCUMENTS} documents; send them in parts")
    return documents, refusals


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Each document with the line where it begins."""
    text = text.removeprefix("\ufeff")
    starts = [0, *(match.start() for match in _BOUNDARY.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:end]
        body = part.removeprefix("...")
        if start or body.strip():
            yield text.count("\n", 0, start) + 1, body


def _first_line(part: str) -> str:
    lines = (line.strip() for line in part.splitlines())
    return next((line for line in lines if line and not line.startswith(("---", "#"))), part.strip())


def _document(part: str, line: int) -> object:
    for _ in range(MAX_QUOTES):
        try:
            return _value(part, line)
        except Invalid as error:
            if part.lstrip().startswith("{") and (found := _json(part)) is not None:
                return found
            mended = _without_escaped_quote(part, error.__cause__)
            if mended is None:
                raise
            part = mended
    raise Invalid("body", f"has more than {MAX_QUOTES} escapes that YAML does not know")


def _json(part: str) -> Marked | None:
    """What `part` is as JSON, whose escapes of characters beyond 16 bits YAML does not know."""
    try:
        value = parse(part)
        check_value(value, ())
        return json.loads(part, object_hook=Marked) if isinstance(value, dict) else None
    except Invalid:
        return None


def _without_escaped_quote(part: str, error: BaseException | None) -> str | None:
    """`part` without the backslash of an `\\'` in double quotes: YAML has no such escape, but kubectl takes it."""
    mark = getattr(error, "problem_mark", None)
    if mark is None or "unknown escape" not in str(getattr(error, "problem", "")):
        return None
    lines = part.split("\n")
    text = lines[mark.line]
    at = text.find("\\'", max(0, mark.column - 1), mark.column + 2)
    if at < 0:
        return None
    lines[mark.line] = text[:at] + text[at + 1 :]
    return "\n".join(lines)


def _value(part: str, line: int) -> object:
    yaml, loader = _yaml()
    try:
        _check_shape(yaml, loader, part)
        reader = loader(part)
        reader.first_line = line
        try:
            node = reader.get_single_node()
            if node is None:
                return None
            _size(node, {}, frozenset())
            return reader.construct_document(node)
        finally:
            reader.dispose()
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise Invalid("body", _reason(error, part, line)) from error


def _reason(error: Exception, part: str, line: int) -> str:
    template = imported.template_in(part) or ("{{" if "{{" in part else None)
    if template:
        return f"is a template: `{template}` is to be filled in first (helm template, kustomize build); import that"
    mark = getattr(error, "problem_mark", None)
    where = f" in line {line + mark.line}, column {mark.column + 1}" if mark is not None else ""
    problem = getattr(error, "problem", None) or str(error)
    said = f"is no YAML that can be read: {str(problem).splitlines()[0][:200]}{where}"
    lines = part.split("\n")
    is_bare = mark is not None and mark.line < len(lines) and _BARE_SCHEDULE.match(lines[mark.line])
    return f"{said}; put the schedule in quotes" if is_bare else said


def _check_shape(yaml: Any, loader: Any, part: str) -> None:
    """Refuses what is nested too deeply, or too large, before it is put together."""
    depth = 0
    for nodes, event in enumerate(yaml.parse(part, Loader=loader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
        if nodes > 2 * MAX_NODES:
            raise ValueError(_TOO_LARGE)


def _size(node: Any, known: dict[int, int], above: frozenset[int]) -> int:
    """How many values `node` stands for; what an anchor names is counted wherever it is used."""
    if id(node) in known:
        return known[id(node)]
    if id(node) in above:
        raise ValueError("an alias stands for what it stands in")
    inside = above | {id(node)}
    children = node.value if isinstance(node.value, list) else ()
    size = 1
    for child in children:
        for one in child if isinstance(child, tuple) else (child,):
            size += _size(one, known, inside)
    if size > MAX_NODES:
        raise ValueError(_TOO_LARGE)
    known[id(node)] = size
    return size


@functools.cache
def _yaml() -> tuple[Any, Any]:
    """The library, loaded when it is first needed, and our reader."""
    import yaml  # noqa: PLC0415 - only one route needs it

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Reader(base):  # type: ignore[misc,valid-type] # whichever the library has
        """A safe loader for manifests."""

        first_line = 1

    Reader.yaml_implicit_resolvers = {}
    for tag, pattern, first in _PLAIN:
        Reader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), first)
    Reader.add_constructor("tag:yaml.org,2002:map", _mapping)
    for tag in ("binary", "timestamp", "set", "omap", "pairs"):
        Reader.add_constructor(f"tag:yaml.org,2002:{tag}", _no_value)
    return yaml, Reader


_PLAIN: Final = (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$", list("tTfFyYnNoO")),
    ("int", r"^[-+]?(?:0|[1-9][0-9]{0,17}|0[0-7]{1,12}|0x[0-9a-fA-F]{1,12})$", list("-+0123456789")),
    ("float", r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,2})?$", list("-+.0123456789")),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("merge", r"^<<$", ["<"]),
)
"""Which plain words are more than text: the types of JSON, with YAML 1.1's truth values and octal numbers (`0644`)."""


def _mapping(reader: Any, node: Any) -> Iterator[Marked]:
    marked = Marked()
    marked.line = reader.first_line + node.start_mark.line
    yield marked
    _check_names(reader, node)
    reader.flatten_mapping(node)
    for key, value in reader.construct_pairs(node, deep=True):
        if isinstance(key, dict | list):  # `{{ .Values.schedule }}` is one, to YAML
            raise TypeError("a name is a mapping or a list, not text")
        marked[key if isinstance(key, str) else json.dumps(key)] = value


def _check_names(reader: Any, node: Any) -> None:
    """Refuses a name that stands twice: which of the two counts is nothing to be guessed."""
    lines: dict[str, int] = {}
    for key, _ in node.value:
        if not isinstance(key.value, str) or key.tag.endswith(":merge"):
            continue
        line = reader.first_line + key.start_mark.line
        if key.value in lines:
            raise ValueError(f"`{key.value[:64]}` stands twice in one mapping, in lines {lines[key.value]} and {line}")
        lines[key.value] = line


def _no_value(_: Any, node: Any) -> object:
    raise ValueError(f"the tag `{node.tag}` makes no value of JSON")
