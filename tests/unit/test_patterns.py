"""No pattern can be made to take long: each, given what it repeats, takes time in proportion to the text.

Every pattern of the package and the functions is found by reading their code. It is given long runs of characters that
its repetitions take, with an end that it does not: where a pattern tries again and again, four times the text takes
sixteen times as long, and more. Patterns of request fields (`pattern=`) are pydantic's, whose engine never tries again.
"""

import ast
import importlib
import re
import string
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FEW, MANY = 1_024, 4_096
"""Characters. A run of a pattern that is in proportion to the larger takes a twentieth of a millisecond."""
SUSPICIOUS_SECONDS = 0.008
TIMES_AS_LONG = 8
"""How many times as long four times the text may take: four, and as much again for the machine."""

USES = ("search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split")


class Found:
    """A pattern, where it stands, and whether it is looked for from each place of the text or from its start alone."""

    def __init__(self, module: str, line: int, text: str, flags: int, *, from_start: bool) -> None:
        self.module, self.line, self.text, self.flags, self.from_start = module, line, text, flags, from_start
        self.pattern = re.compile(text, flags)

    def __str__(self) -> str:
        return f"{self.module}:{self.line}"

    def takes(self, text: str) -> float:
        begun = time.process_time()
        if self.from_start:
            self.pattern.fullmatch(text)
            self.pattern.match(text)
        else:
            self.pattern.sub("", text)
        return time.process_time() - begun


def _modules() -> Iterator[tuple[str, Path]]:
    for root, package in ((ROOT / "layers/core/python", "cronfleet"), (ROOT, "functions")):
        for path in sorted((root / package).rglob("*.py")):
            yield ".".join(path.relative_to(root).with_suffix("").parts), path


def _found() -> Iterator[Found]:
    for name, path in _modules():
        text = path.read_text(encoding="utf-8")
        if "re." not in text:
            continue
        tree = ast.parse(text)
        searched = {
            node.func.value.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in USES
            and node.func.attr not in ("match", "fullmatch")
            and isinstance(node.func.value, ast.Name)
        }
        owners = {
            id(node.value): node.target.id
            for node in tree.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        for node in ast.walk(tree):
            if _is_pattern(node):
                yield from _read(name, node, owners.get(id(node)), searched)


def _is_pattern(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in (*USES, "compile")
    )


def _read(module: str, node: ast.Call, owner: str | None, searched: set[str]) -> Iterator[Found]:
    verb = node.func.attr
    from_start = verb in ("match", "fullmatch") or (verb == "compile" and owner is not None and owner not in searched)
    if owner is not None:
        made = getattr(importlib.import_module(module), owner)
        yield Found(module, node.lineno, made.pattern, made.flags, from_start=from_start)
    elif isinstance(node.args[0], ast.Constant):
        yield Found(module, node.lineno, node.args[0].value, 0, from_start=from_start)


PATTERNS = list(_found())
CHARACTERS = [*string.ascii_letters[:2], "Z", "0", "1", *" \t\n", *string.punctuation, "é"]


def _pumps(found: Found) -> list[str]:
    """Characters that the pattern's classes take, alone and in pairs."""
    classes = set(re.findall(r"\\[sSwWdD]|\[(?:\\.|[^\]])+\]", found.text))
    taken = [one for one in CHARACTERS if one in found.text or any(re.match(each, one) for each in classes)]
    return [*taken, *(one + other for one in taken[:5] for other in taken[:5] if one != other)]


def test_patterns_are_found() -> None:
    assert len(PATTERNS) > 100
    assert {"cronfleet.domain.signature", "functions.api.requests"} <= {one.module for one in PATTERNS}


@pytest.mark.parametrize("module", sorted({one.module for one in PATTERNS}))
def test_no_text_makes_a_pattern_try_again_and_again(module: str) -> None:
    for found in (one for one in PATTERNS if one.module == module):
        for pump in _pumps(found):
            text = pump * (MANY // len(pump))
            for end in ("\x00", ""):
                slow = found.takes(text + end)
                if slow > SUSPICIOUS_SECONDS:
                    fast = min(found.takes(text[:FEW] + end) for _ in range(3))
                    slow = min(slow, *(found.takes(text + end) for _ in range(2)))
                    assert slow < SUSPICIOUS_SECONDS or slow < TIMES_AS_LONG * fast, (
                        f"{found}: {found.text} on {pump!r}"
                    )


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (r"(a+)+b", "a" * 22),
        (r"(\d+\.?\d*|\.\d+)s", "0" * 1_024),
        (r"\s+$", " " * MANY + "\x00"),
        (r"[a-z]+\d", "a" * MANY),
    ],
)
def test_a_pattern_that_tries_again_and_again_is_found(bad: str, text: str) -> None:
    found = Found("bad", 1, bad, 0, from_start=False)
    assert text[0] in _pumps(found)
    assert found.takes(text) > SUSPICIOUS_SECONDS
