"""YAML as of version 1.2: `on` is a word, `06:30` is text, and a date stays as it is written.

PyYAML reads the rules of 1.1, under which the key `on` of a dependency would become `true`.
"""

import re
from collections.abc import Hashable
from typing import Any, Final

import yaml

from cronfleet_cli.errors import WrongUse

MAX_BYTES: Final = 4 * 1024 * 1024
"""Of one file; the API takes no larger document either."""

_TEXT: Final = "tag:yaml.org,2002:str"
_PLAIN: Final = (
    ("tag:yaml.org,2002:null", re.compile(r"(?:~|null|Null|NULL|)$"), ("~", "n", "N", "")),
    ("tag:yaml.org,2002:bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"), tuple("tTfF")),
    ("tag:yaml.org,2002:int", re.compile(r"[-+]?(?:0|[1-9][0-9]*)$"), tuple("-+0123456789")),
    (
        "tag:yaml.org,2002:float",
        re.compile(r"[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)$"),
        tuple("-+.0123456789"),
    ),
)


class _Loader(yaml.SafeLoader):
    """The safe loader, with the plain values of YAML 1.2, without aliases, and no name twice in one mapping."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            parser: Any = self
            event = parser.peek_event()
            raise yaml.composer.ComposerError(
                None, None, "aliases (*name) are not read; write it out", event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != _TEXT:
                raise _wrong("a name must be text: put it in quotes", key)
            if key.value in seen:
                raise _wrong(f"{key.value!r} stands here twice", key)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _wrong(sentence: str, node: Any) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, sentence, node.start_mark)


class _Dumper(yaml.SafeDumper):
    """Writes what both YAML 1.1 and 1.2 read as the same: what either would take for no text is quoted."""

    def ignore_aliases(self, data: Any) -> bool:
        del data  # Whatever it is, it is written out.
        return True


_Loader.yaml_implicit_resolvers = {}


def _write_text(dumper: Any, value: str) -> Any:
    # PyYAML reads these back as a blank unless they are escaped.
    style = '"' if any(mark in value for mark in "\x85\u2028\u2029\ufeff") else None
    return dumper.represent_scalar(_TEXT, value, style=style)


_Dumper.add_representer(str, _write_text)
for _tag, _pattern, _first in _PLAIN:
    _Loader.add_implicit_resolver(_tag, _pattern, _first)
    _Dumper.add_implicit_resolver(_tag, _pattern, _first)


def read(content: str, where: str) -> list[Any]:
    """The documents of a file; raises `WrongUse` that names the file and the line. JSON is YAML too."""
    if len(content.encode()) > MAX_BYTES:
        raise WrongUse(f"{where}: has more than {MAX_BYTES // 1024**2} MB")
    try:
        return [document for document in yaml.load_all(content, _Loader) if document is not None]
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f":{error.problem_mark.line + 1}"
        raise WrongUse(f"{where}{line}: {error.problem or error}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise WrongUse(f"{where}: is no YAML ({error})") from error


def write(data: Any) -> str:
    """`data` as a document, names in their order."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=100)
