"""What the product tells: every metric, alarm and line that its source can write, read out of the source itself."""

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "layers" / "core" / "python"
SAYS = {"count", "tally", "measure", "event", "alarm"}


@dataclass(frozen=True)
class Told:
    """One call of the telemetry: what it is, under which names, with which fields."""

    kind: str
    names: tuple[str, ...]
    fields: frozenset[str]
    where: str


def told() -> list[Told]:
    """Every call in the package and in the functions."""
    files = [*sorted((CORE / "cronfleet").rglob("*.py")), *sorted((ROOT / "functions").rglob("*.py"))]
    return [one for file in files for one in _in_file(file)]


def _in_file(file: Path) -> Iterator[Told]:
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        owner = ast.unparse(node.func.value)
        is_ours = owner.endswith(("telemetry", "watch", "notes")) or "telemetry(" in owner
        if node.func.attr not in SAYS or not is_ours or {"cloudwatch", "memory"} & set(file.parts):
            continue
        fields = frozenset(key.arg for key in node.keywords if key.arg)
        where = f"{file.relative_to(ROOT)}:{node.lineno}"
        yield Told(node.func.attr, tuple(_names(node.args[0], tree, file)), fields, where)


def _names(node: ast.expr, tree: ast.Module, file: Path) -> Iterator[str]:
    """The names that an argument may come to; one made of parts ends with a star."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.IfExp):
        yield from _names(node.body, tree, file)
        yield from _names(node.orelse, tree, file)
    elif isinstance(node, ast.Dict):
        yield from (name for key in node.keys if key is not None for name in _names(key, tree, file))
    elif isinstance(node, ast.JoinedStr):
        first = node.values[0]
        yield f"{first.value if isinstance(first, ast.Constant) else ''}*"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield from _returned(node.func.id, tree)
    elif isinstance(node, ast.Name):
        yield from _bound(node.id, tree, file)
    else:
        raise TypeError(f"{file}: what is told as {ast.unparse(node)} cannot be read out of the source")


def _returned(function: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            returns = (one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value is not None)
            yield from (one.value for value in returns for one in ast.walk(value) if _is_name(one))


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _bound(name: str, tree: ast.Module, file: Path) -> Iterator[str]:
    """What a variable of that name may hold: constants that a loop runs over, or an assignment chooses from."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id == name:
            names += _values(node.iter, file)
        if isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in node.targets):
            is_made = isinstance(node.value, ast.DictComp)
            names += _values(node.value.generators[0].iter, file) if is_made else _names(node.value, tree, file)
    names += _passed(name, tree) if not names else []
    assert names, f"{file}: {name} cannot be read out of the source"
    yield from names


def _values(node: ast.expr, file: Path) -> Iterator[str]:
    if isinstance(node, ast.Name) and node.id.isupper():
        module = ".".join(file.relative_to(CORE).with_suffix("").parts)
        yield from getattr(importlib.import_module(module), node.id)
    else:
        yield from (one.value for one in ast.walk(node) if _is_name(one))


def _passed(name: str, tree: ast.Module) -> list[str]:
    """The texts that are handed to functions of the file which call a parameter so."""
    takers = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and name in {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    to_them = [one for one in calls if (getattr(one.func, "attr", None) or getattr(one.func, "id", None)) in takers]
    return [value.value for one in to_them for value in one.args if _is_name(value)]
