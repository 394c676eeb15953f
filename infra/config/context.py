"""Where the choices of an installation are read from: the CDK context, and in it the entry of one environment.

`-c NAME=VALUE` on the command line wins over the environment's entry in `cdk.json`, which wins over the defaults.
Inside an entry names are nested, on the command line they have dots: `-c tables.recovery_days=7`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, NoReturn

ENVIRONMENT: Final = "environment"
ENVIRONMENTS: Final = "environments"
NOT_OURS: Final = re.compile(r"@|.*:|cli-")
"""How names look in the context that are the CDK's own."""


class ConfigError(ValueError):
    """A choice is wrong; the message names it and says what to write instead."""


class Context:
    """The choices of one installation by their dotted names, and which of them anybody has asked for.

    `values` are those of the context as it was given, by names with dots.
    """

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values
        self._read: set[str] = {ENVIRONMENT, ENVIRONMENTS}
        self.environment = str(values.get(ENVIRONMENT) or "")
        self._entry = self._entry_of(self.environment)

    def _entry_of(self, environment: str) -> Mapping[str, object]:
        if not environment:
            return {}
        known = self._values.get(ENVIRONMENTS)
        entries = known if isinstance(known, Mapping) else {}
        if environment not in entries:
            there = ", ".join(sorted(entries)) or "none"
            raise ConfigError(
                f"context 'environment' is {environment!r}: write one that cdk.json has an entry for ({there}), "
                f"or give it one under context.environments"
            )
        entry = entries[environment]
        if not isinstance(entry, Mapping):
            raise ConfigError(f"context 'environments.{environment}' is {entry!r}: write an object, {{}} for defaults")
        return entry

    def value(self, name: str) -> object:
        """What stands there, or None. Empty text counts as nothing: so the command line takes an entry's value back."""
        self._read.add(name)
        given = self._values.get(name)
        return _nested(self._entry, name) if given is None else given

    def text(self, name: str, default: str = "") -> str:
        """A piece of text."""
        value = self.value(name)
        if value is None or value == "":
            return default
        if isinstance(value, Mapping | list | bool):
            self.refuse(name, value, "text")
        return str(value)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Yes or no."""
        value = self.value(name)
        text = str(default if value is None or value == "" else value).lower()
        if text not in {"true", "false"}:
            self.refuse(name, value, "true or false")
        return text == "true"

    def number(self, name: str, default: int, least: int, most: int, why: str = "") -> int:
        """A whole number from `least` to `most`; `why` says in the error where these come from."""
        found = self.maybe_number(name, least, most, why)
        return default if found is None else found

    def maybe_number(self, name: str, least: int, most: int, why: str = "") -> int | None:
        """A whole number from `least` to `most`, or None where none is given."""
        value = self.value(name)
        if value is None or value == "":
            return None
        text = str(value)
        if not (text.isascii() and text.isdecimal()) or not least <= int(text) <= most:
            reason = f", {why}" if why else ""
            self.refuse(name, value, f"a whole number from {least} to {most}{reason}")
        return int(text)

    def one_of(self, name: str, default: str, choices: Sequence[str]) -> str:
        """One of a few words."""
        text = self.text(name) or default
        if text not in choices:
            self.refuse(name, text, f"{', '.join(choices[:-1])} or {choices[-1]}")
        return text

    def texts(self, name: str, default: Sequence[str] = ()) -> tuple[str, ...]:
        """A list, in an entry as such and on the command line with commas."""
        value = self.value(name)
        if value is None:
            return tuple(default)
        if isinstance(value, Mapping):
            self.refuse(name, value, "a list, or text with commas")
        parts = value if isinstance(value, list) else str(value).split(",")
        return tuple(str(part).strip() for part in parts if str(part).strip())

    def names_in(self, name: str) -> tuple[str, ...]:
        """The names that stand below `name`, in the entry or on the command line, for what people name themselves."""
        self._read.add(name)
        value = _nested(self._entry, name) or {}
        whole = self._values.get(name)
        if whole or not isinstance(value, Mapping):
            self.refuse(name, whole or value, f"an object in the environment's entry, or {name}.NAME")
        given = (key.removeprefix(f"{name}.") for key in self._values if key.startswith(f"{name}."))
        return tuple(dict.fromkeys((*value, *given)))

    @property
    def asked_for(self) -> frozenset[str]:
        """Every name that anybody has asked for."""
        return frozenset(self._read)

    def refuse(self, name: str, value: object, instead: str) -> NoReturn:
        """Raise the error of a value that cannot be."""
        shown = value if isinstance(value, Mapping | list) else str(value)
        raise ConfigError(f"context {name!r} is {shown!r}: write {instead}")

    def require_all_read(self) -> None:
        """Raise for a name in the entry, or in the context itself, that nothing here knows."""
        dotted = next((name for name in _keys(self._entry) if "." in name), None)
        if dotted is not None:
            raise ConfigError(
                f"context {dotted!r} in the environment {self.environment!r} has a dot: write an object in an object, "
                f"as inside an entry names are nested"
            )
        given = [name for name in self._values if not NOT_OURS.match(name)]
        unknown = sorted({*given, *_leaves(self._entry)} - self._read)
        if unknown:
            where = f" in the environment {self.environment!r}" if self.environment else ""
            near = get_close_matches(unknown[0], self._read, n=3, cutoff=0.5)
            meant = f"write {' or '.join(near)}, or what else " if near else "write what "
            raise ConfigError(f"context {unknown[0]!r}{where} is not known: {meant}docs/deploy.md names")


def _nested(entry: Mapping[str, object], name: str) -> object:
    found: object = entry
    for part in name.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found


def _keys(entry: Mapping[str, object]) -> Iterator[str]:
    for name, value in entry.items():
        yield name
        if isinstance(value, Mapping):
            yield from _keys(value)


def _leaves(entry: Mapping[str, object], before: str = "") -> Iterator[str]:
    for name, value in entry.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}"
