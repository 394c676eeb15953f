"""JSON of the AWS CLI: one answer, an array of them, or several one after the other, as a loop prints them."""

import json
import re
from typing import Final

from cronfleet.domain import eventbridge
from cronfleet.domain.errors import Invalid

from .reading import check_value, parse

MAX_ENTRIES: Final = 5_000
_NAME: Final = re.compile(r'"Name"\s*:\s*("(?:[^"\\]|\\.)*")')
_BLANKS: Final = re.compile(r"[\s,]*")


def schedules_of(text: str) -> tuple[list[tuple[int, object]], tuple[str, ...]]:
    """Each schedule of `text` with the line of its name, and what is to be said of the whole; raises `Invalid`."""
    found: list[object] = []
    notes: tuple[str, ...] = ()
    for part in _values(text.removeprefix("\ufeff")):
        value = parse(part)
        check_value(value, ())
        entries, more = eventbridge.entries_of(value)
        found += entries
        notes += more
    if not found and not text.strip():
        raise Invalid("body", "is missing: send what `aws scheduler get-schedule` answers, as JSON")
    if len(found) > MAX_ENTRIES:
        raise Invalid("body", f"holds {len(found)} schedules; {MAX_ENTRIES} are read at a time")
    return list(zip(_lines(text, found), found, strict=True)), notes


def _values(text: str) -> list[str]:
    """The JSON values that stand in `text` one after the other, each as text; what is none is left whole."""
    decoder = json.JSONDecoder()
    values: list[str] = []
    at = _end_of_blanks(text, 0)
    while at < len(text):
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return [*values, text[at:]] if values else [text]
        values.append(text[at:end])
        at = _end_of_blanks(text, end)
    return values


def _end_of_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return at if match is None else match.end()


def _lines(text: str, entries: list[object]) -> list[int]:
    """Where each entry's name stands, from the one before on; where it is written otherwise, the line before."""
    names = _names(text)
    lines: list[int] = []
    at, line = 0, 1
    for entry in entries:
        name = entry.get("Name") if isinstance(entry, dict) else None
        found = next((index for index in range(at, len(names)) if names[index][0] == name), None)
        if found is not None:
            at, line = found + 1, names[found][1]
        lines.append(line)
    return lines


def _names(text: str) -> list[tuple[object, int]]:
    """Every value of a `Name` in `text`, however it is escaped, and its line."""
    found: list[tuple[object, int]] = []
    at, line = 0, 1
    for match in _NAME.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        try:
            found.append((json.loads(match[1]), line))
        except ValueError:
            continue
    return found
