"""Audit: whether a package that is locked here has a known vulnerability, asked of those who keep the list.

An audit has three ends, and the third is not the first: nothing is known; something is known; or nobody could be
asked. A tool that cannot reach its list says "no known vulnerabilities found" all the same, hence this.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from supply.locks import LOCKS, NODE, ROOT, pins

CLEAN, VULNERABLE, UNASKED = 0, 1, 3
"""How the command exits."""

SERVICES: Final = ("osv", "pypi")
"""Keepers of the list for Python, asked in this order until one answers."""

BIN: Final = Path(sys.executable).parent

TIMEOUT_SECONDS: Final = 600

ACCEPTED: Final[Mapping[str, str]] = {}
"""A vulnerability's id → why it does not concern what is built here. Take it out with the version that has it."""


class Ran(NamedTuple):
    """What a tool said."""

    code: int
    out: str
    error: str


Run = Callable[[Sequence[str]], Ran]


@dataclass(frozen=True, slots=True)
class Known:
    """One vulnerability of one locked package."""

    lock: str
    package: str
    version: str
    ident: str
    fixed_in: str

    def __str__(self) -> str:
        """A line for people."""
        mend = f"fixed in {self.fixed_in}" if self.fixed_in else "no version mends it yet"
        return f"{self.lock}: {self.package} {self.version} has {self.ident}; {mend}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of one lock, how many packages were looked up, and what could not be, with the reason."""

    lock: str
    looked_up: int = 0
    known: tuple[Known, ...] = ()
    unasked: str = ""


def run(command: Sequence[str]) -> Ran:
    """Run a tool in the checkout; npm finds its Node beside the Python that runs this."""
    paths = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(
        command, cwd=ROOT, env=paths, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def audit(runner: Run = run) -> Sequence[Answer]:
    """An answer for each lock. Where nobody answers for the first, the others are not asked about."""
    answers: list[Answer] = []
    for lock in LOCKS:
        silent = bool(answers) and answers[0].unasked and not answers[0].looked_up
        answers.append(Answer(lock, unasked=answers[0].unasked) if silent else of_python(lock, runner))
    return [*answers, *(of_node(runner, folder) for folder in NODE)]


def of_python(lock: str, runner: Run = run, options: Sequence[str] = ()) -> Answer:
    """What is known of the packages of a lock of Python."""
    answer = Answer(lock, unasked="nobody was asked")
    for service in SERVICES:
        command = [sys.executable, "-m", "pip_audit", "--requirement", lock, "--disable-pip", "--require-hashes"]
        command += ["--vulnerability-service", service, "--format", "json", "--progress-spinner", "off", *options]
        answer = _read_python(lock, runner(command))
        if answer.looked_up:
            return answer
    return answer


def _read_python(lock: str, ran: Ran) -> Answer:
    try:
        dependencies: list[dict[str, Any]] = json.loads(ran.out)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Answer(lock, unasked=_last_line(ran.error) or f"the tool ended with {ran.code} and said nothing")
    asked = [one for one in dependencies if "skip_reason" not in one]
    skipped = sorted(str(one["name"]) for one in dependencies if "skip_reason" in one)
    expected = len({pin.name for pin in pins(ROOT / lock)})
    known = tuple(
        Known(lock, str(one["name"]), str(one["version"]), str(found["id"]), ", ".join(found.get("fix_versions", ())))
        for one in asked
        for found in one.get("vulns", ())
    )
    lost = f"could not be looked up: {', '.join(skipped)}" if skipped else ""
    if skipped and not asked:
        lost = "none of its packages could be looked up"
    if not skipped and len(asked) < expected:
        lost = f"{expected - len(asked)} packages of the lock were not looked up"
    return Answer(lock, len(asked), known, lost)


def of_node(runner: Run = run, folder: str = NODE[0]) -> Answer:
    """What is known of the packages of a folder's `package-lock.json`."""
    lock = f"{folder}/package-lock.json"
    ran = runner([str(BIN / "npm"), "audit", "--prefix", folder, "--package-lock-only", "--json"])
    try:
        said = json.loads(ran.out)
        found, counted = said["vulnerabilities"], said["metadata"]["dependencies"]["total"]
    except (ValueError, KeyError, TypeError):
        return Answer(lock, unasked=_refused(ran) or f"npm ended with {ran.code} and said nothing")
    known = tuple(
        Known(lock, name, str(one.get("range", "")), ident, _mend(one.get("fixAvailable")))
        for name, one in sorted(found.items())
        for ident in _idents(name, one.get("via", ()))
    )
    return Answer(lock, int(counted), known)


def _refused(ran: Ran) -> str:
    try:
        return str(json.loads(ran.out)["message"]).partition(" - ")[0]
    except (ValueError, KeyError, TypeError):
        return _last_line(ran.error)


def _idents(name: str, via: Iterable[Any]) -> Sequence[str]:
    """An advisory by its address's last part; a package that only has it by another is not told again."""
    return [str(one.get("url", name)).rpartition("/")[2] for one in via if isinstance(one, dict)]


def _mend(fix: Any) -> str:
    if isinstance(fix, dict):
        return f"{fix.get('name')} {fix.get('version')}"
    return "an update within its range" if fix else ""


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def report(answers: Sequence[Answer]) -> tuple[int, Sequence[str]]:
    """How the command exits, and what it says."""
    known = [one for answer in answers for one in answer.known]
    lines = [str(one) for one in known if one.ident not in ACCEPTED]
    accepted = [f"{one} – accepted: {ACCEPTED[one.ident]}" for one in known if one.ident in ACCEPTED]
    if lines:
        return VULNERABLE, [*lines, *accepted]
    lost = [answer for answer in answers if answer.unasked]
    if lost:
        return UNASKED, [*_banner(lost), *accepted]
    looked_up = sum(answer.looked_up for answer in answers)
    return CLEAN, [f"{looked_up} locked packages looked up: no known vulnerability.", *accepted]


def _banner(lost: Sequence[Answer]) -> Sequence[str]:
    rule = "!" * 78
    what = "NOTHING WAS AUDITED" if not any(one.looked_up for one in lost) else "NOT EVERYTHING WAS AUDITED"
    by_reason: dict[str, list[str]] = {}
    for one in lost:
        by_reason.setdefault(one.unasked, []).append(one.lock)
    said = [f"{', '.join(locks)}: {reason}" for reason, locks in by_reason.items()]
    return [rule, f"!! {what}: whether a locked package has a known vulnerability is NOT KNOWN.", *said, rule]
