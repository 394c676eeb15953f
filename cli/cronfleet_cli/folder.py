"""The folder of schedules that `apply` reads and `export` writes: YAML or JSON, one schedule or several a file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from cronfleet_cli import yaml_text
from cronfleet_cli.errors import WrongUse
from cronfleet_cli.inputs import file_text
from cronfleet_cli.plan import STATE

SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
MAX_FILES: Final = 10_000
MAX_SCHEDULES: Final = 20_000

Entry = tuple[str, dict[str, Any]]


def read(paths: list[Path]) -> list[Entry]:
    """Every schedule of the files, and of the folders however deep, with its place; raises `WrongUse` for what is no
    schedule, has no id, or stands there twice.
    """
    entries: list[Entry] = []
    places: dict[str, str] = {}
    for file in _files(paths):
        for place, document in _schedules_of(file):
            name = document.get("id")
            if not isinstance(name, str) or not name:
                raise WrongUse(f"{place}: id is missing; write which schedule this is")
            if name in places:
                raise WrongUse(f"{place}: {name!r} stands in {places[name]} too")
            places[name] = place
            entries.append((place, document))
    if len(entries) > MAX_SCHEDULES:
        raise WrongUse(f"{len(entries)} schedules; {MAX_SCHEDULES} at most are applied at a time")
    return entries


def _files(paths: list[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and _is_plain(file, path))
        elif str(path) == "-" or path.exists():
            found.append(path)
        else:
            raise WrongUse(f"{path}: there is no such file or folder")
    if len(found) > MAX_FILES:
        raise WrongUse(f"{len(found)} files; {MAX_FILES} at most are read")
    return found


def _is_plain(file: Path, folder: Path) -> bool:
    """Whether it is a file, and neither it nor a folder above it is hidden."""
    return file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts)


def _schedules_of(file: Path) -> Iterator[Entry]:
    documents = yaml_text.read(file_text(file), str(file))
    for number, document in enumerate(documents, 1):
        place = str(file) if len(documents) == 1 else f"{file}#{number}"
        if isinstance(document, list):
            yield from (
                (f"{place}[{index}]", _mapping(each, f"{place}[{index}]")) for index, each in enumerate(document)
            )
        else:
            yield place, _mapping(document, place)


def _mapping(document: Any, place: str) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise WrongUse(f"{place}: is no schedule; write names and values, with id, trigger and target")
    if str(document.get("format", "")).startswith("cronfleet-tenant/"):
        raise WrongUse(f"{place}: is the export of a tenant; use `cronfleet import cronfleet -f {place}`")
    return document


def write(folder: Path, schedules: list[Mapping[str, Any]]) -> list[Path]:
    """Write each schedule to a file of its own, without what only tells of its state; the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for schedule in schedules:
        file = folder / f"{schedule['id']}.yaml"
        file.write_text(yaml_text.write(_said(schedule)), encoding="utf-8")
        written.append(file)
    return written


def _said(schedule: Mapping[str, Any]) -> dict[str, Any]:
    said = {name: value for name, value in schedule.items() if name not in STATE and value is not None}
    return {"id": schedule["id"], **{name: value for name, value in said.items() if name != "id"}}
