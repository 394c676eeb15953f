"""Compare: what each part's role allows, and what its code needs, in both directions."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Final

from cronfleet import settings
from permissions.atoms import Request
from permissions.flow import Flow
from permissions.needs import Need, of_code, of_key, of_platform
from permissions.source import Program, digest, read
from permissions.templates import Part, Statement, Templates

ROOT: Final = Path(__file__).resolve().parent.parent

SPANS: Final = "spans are delivered by HTTPS, with a signature and without a client of AWS"

KEPT: Final[Mapping[tuple[str, str, str], str]] = {
    (
        "long-worker",
        "ecs:UpdateTaskProtection",
        "-long-workers/*",
    ): "asked by HTTP of the agent inside the task, which does it with the role of the task",
    **{
        (part, "xray:PutTraceSegments", "*"): SPANS
        for part in ("api", "clerk", "long-worker", *(f"worker-{name}" for name in settings.FUNCTION_QUEUES))
    },
}
"""(part, action, end of the ARN) → why it is granted although the code that is read makes no such request."""


NEVER: Final[Mapping[tuple[str, str, str], str]] = {}
"""(part, action, table) → why that request is never made although reading the code finds a way to it."""


@dataclass(frozen=True)
class Verdict:
    """What is wrong with one part's role; each line says what to do."""

    part: str
    missing: Sequence[str] = ()
    unused: Sequence[str] = ()
    needs: Sequence[Need] = field(default=(), repr=False)


class Code:
    """The code of a checkout, walked once per folder; what a walk found is kept in `cache`, by what the code says."""

    def __init__(self, root: Path = ROOT, cache: Path | None = None) -> None:
        self._root = root
        self._cache = cache
        self._walked: dict[str, Mapping[Request, str]] = {}

    @cached_property
    def _program(self) -> Program:
        return read(self._root)

    @cached_property
    def _digest(self) -> str:
        return digest(self._root, Path(__file__).parent)

    def requests(self, folder: str) -> Mapping[Request, str]:
        """What the function in `functions/<folder>` asks AWS for, each with the way to it."""
        if folder not in self._walked:
            self._walked[folder] = self._kept(folder) if self._cache else self._walk(folder)
        return self._walked[folder]

    def _kept(self, folder: str) -> Mapping[Request, str]:
        assert self._cache is not None  # noqa: S101 - asked for only where there is one
        file = self._cache / f"{self._digest}-{folder}.json"
        if file.is_file():
            return {Request(*said): way for *said, way in json.loads(file.read_text(encoding="utf-8"))}
        found = self._walk(folder)
        self._cache.mkdir(parents=True, exist_ok=True)
        # Others may write the same at the same time.
        own = file.with_suffix(f".{os.getpid()}")
        own.write_text(json.dumps([[*astuple(one), way] for one, way in found.items()]), encoding="utf-8")
        own.replace(file)
        return found

    def _walk(self, folder: str) -> Mapping[Request, str]:
        room = f"functions.{folder}"
        entries = [
            module for name, module in self._program.modules.items() if name == room or name.startswith(f"{room}.")
        ]
        if not entries:
            raise ValueError(f"functions/{folder} is not there: whose code runs in that function?")
        return Flow(self._program).run(entries)


def verdicts(templates: Templates, code: Code, prefix: str) -> Iterator[Verdict]:
    """A verdict for each function and container of an installation."""
    roles = templates.roles()
    for part in templates.parts(prefix):
        needs = [*of_code(part, code.requests(part.folder), prefix, NEVER), *of_platform(templates, part)]
        needs += of_key(templates, needs)
        yield judged(part, needs, roles[part.role].statements)


def judged(part: Part, needs: Sequence[Need], statements: Sequence[Statement]) -> Verdict:
    """The verdict on one role."""
    granted = [(action, place) for one in statements for action in one.actions for place in one.resources]
    missing = [
        f"{part.name} may not do {need.action} on {' or '.join(map(_short, places))}, which its code does: {need.why}. "
        f"Grant it in infra/constructs/{part.folder}.py"
        for need in needs
        for places in (((place,) for place in need.places) if need.every else (need.places,))
        if not any(_allows(one, need.action, place) for one in granted for place in places)
    ]
    unused = [
        f"{part.name} may do {action} on {_short(place)}, which its code never does. Take it out of "
        f"infra/constructs/{part.folder}.py, or give the reason in permissions/compare.py, KEPT"
        for action, place in dict.fromkeys(granted)
        if not any(need.covers(action, place) for need in needs) and not _is_kept(part.name, action, place)
    ]
    return Verdict(part.name, missing, unused, needs)


def _allows(granted: tuple[str, str], action: str, place: str) -> bool:
    return granted[0] == action and (fnmatchcase(place, granted[1]) or fnmatchcase(granted[1], place))


def _is_kept(part: str, action: str, place: str) -> bool:
    return any((part, action) == key[:2] and place.endswith(key[2]) for key in KEPT)


def _short(arn: str) -> str:
    """`table/cronfleet-runs` of its ARN."""
    return arn.split(":", 5)[-1]
