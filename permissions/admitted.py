"""Admitted: which atoms an annotation lets through. The code is typed strictly, so what is a `str` is no table."""

import ast
from typing import Final

from permissions.source import Class, Module, Program

ANYTHING: Final = "anything"
"""A protocol, a type alias, `Any`, a type variable, a callable: whatever comes."""
OPEN: Final = frozenset({"Any", "Callable", "Client", "object", "Self", "Table", "Index"})
NEUTRAL: Final = ("typing", "collections", "cronfleet.domain", "pydantic", "types", "datetime", "aws_lambda_powertools")


class Admitted:
    """Reads annotations, each once."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[ast.expr, frozenset[Class] | None] = {}

    def classes(self, module: Module, annotation: ast.expr) -> frozenset[Class] | None:
        """The classes of ours whose objects an annotation admits; `None`: anything."""
        if annotation not in self._known:
            self._known[annotation] = self._read(module, annotation)
        return self._known[annotation]

    def _read(self, module: Module, annotation: ast.expr) -> frozenset[Class] | None:
        found: set[Class] = set()
        for name in _names(annotation):
            meant = self._program.resolve(module, name)
            root = name.value if isinstance(name, ast.Attribute) else name
            said = name.attr if isinstance(name, ast.Attribute) else name.id if isinstance(name, ast.Name) else ""
            origin = module.imports.get(root.id, ("", ""))[0] if isinstance(root, ast.Name) else ""
            if said in OPEN or said.endswith("Client") or isinstance(meant, tuple):
                if isinstance(meant, tuple) and said not in OPEN and _is_builtin(module, said, origin):
                    continue
                return None
            if isinstance(meant, Class):
                if any(getattr(base, "id", "") == "Protocol" for base in meant.node.bases) or meant.name == "Database":
                    return None
                found.add(meant)
        return frozenset(found)


def _is_builtin(module: Module, name: str, origin: str) -> bool:
    """Whether a name that a module neither makes nor imports is one of Python's own."""
    bound = {
        one.id
        for statement in module.tree.body
        for one in ast.walk(statement)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    return not origin and name not in bound


def _names(annotation: ast.expr) -> list[ast.expr]:
    """The dotted names in an annotation, those in text included."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return _names(ast.parse(annotation.value, mode="eval").body)
    if isinstance(annotation, ast.Name | ast.Attribute):
        return [annotation]
    return [name for child in ast.iter_child_nodes(annotation) if isinstance(child, ast.expr) for name in _names(child)]
