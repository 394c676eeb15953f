"""Inputs: what a caller writes on the command line or in a file, read into JSON values."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cronfleet_cli import yaml_text
from cronfleet_cli.errors import WrongUse


def labels_of(texts: Iterable[str], option: str = "--label") -> dict[str, str]:
    """`team=billing` of each text; raises `WrongUse` for one without a name or without `=`."""
    labels: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise WrongUse(f"{option} {text!r}: write NAME=VALUE, as in team=billing")
        if labels.get(name, value) != value:
            raise WrongUse(f"{option}: {name!r} is given two values, {labels[name]!r} and {value!r}")
        labels[name] = value
    return labels


def json_of(text: str, option: str) -> Any:
    """The JSON of `text`, or of the file that it names as `@file`; raises `WrongUse`."""
    written = file_text(Path(text[1:])) if text.startswith("@") else text
    try:
        return json.loads(written)
    except ValueError as error:
        raise WrongUse(f"{option}: is no JSON ({error}); write JSON, or @FILE for a file of it") from error


def file_text(path: Path) -> str:
    """The text of a file, `-` being standard input; raises `WrongUse` if there is none."""
    return decoded(file_bytes(path), path)


def file_bytes(path: Path) -> bytes:
    """The bytes of a file, `-` being standard input."""
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise WrongUse(f"{path}: cannot be read ({error.strerror})") from error


def decoded(content: bytes, path: Path) -> str:
    """`content` as text; raises `WrongUse` if it is no UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise WrongUse(f"{path}: is no UTF-8 text ({error.reason} at byte {error.start})") from error


def document_of(path: Path) -> dict[str, Any]:
    """The one object, as YAML or JSON, that a file holds; raises `WrongUse`."""
    documents = yaml_text.read(file_text(path), str(path))
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise WrongUse(f"{path}: must hold exactly one object")
    return dict(documents[0])


def given(**values: Any) -> dict[str, Any]:
    """The fields of a body that were given: what is None, empty text or an empty list is left to the server."""
    return {
        name.rstrip("_"): value for name, value in values.items() if value is not None and value not in ("", [], {})
    }
