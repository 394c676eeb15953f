"""Source: the modules that a function's code consists of, read as text: their functions, classes and imports.

Nothing is imported and nothing runs. What is not read here (the domain, which does no I/O, and other people's
packages) is opaque to whoever follows the code.
"""

import ast
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, TypeAlias

Scope: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
"""A piece of code with names of its own."""

OPAQUE: Final = (
    "cronfleet.adapters.dynamodb.items",
    "cronfleet.adapters.dynamodb.keys",
    "cronfleet.adapters.dynamodb.records",
    "cronfleet.adapters.memory",
    "cronfleet.domain",
    "cronfleet.ports.cursors",
    "cronfleet.services.asking",
)
"""Rooms of ours that make no request of their own: they call what they are given, and what goes in comes out."""


@dataclass(eq=False)
class Function:
    """A function, method or lambda; `parent` is the function that it stands in."""

    node: Scope
    module: "Module"
    owner: "Class | None" = None
    parent: "Function | None" = None

    @property
    def name(self) -> str:
        """Its name, as a person would write it."""
        own = "lambda" if isinstance(self.node, ast.Lambda) else self.node.name
        return f"{self.owner.name}.{own}" if self.owner else own

    @cached_property
    def decorators(self) -> frozenset[str]:
        """The last names of its decorators, such as `cached_property`."""
        nodes = [] if isinstance(self.node, ast.Lambda) else self.node.decorator_list
        return frozenset(last_name(node.func if isinstance(node, ast.Call) else node) for node in nodes)

    @cached_property
    def positional(self) -> Sequence[str]:
        """Its parameters that may be given by position, `self` included."""
        return [one.arg for one in (*self.node.args.posonlyargs, *self.node.args.args)]

    @cached_property
    def defaults(self) -> Mapping[str, ast.expr]:
        """What parameters hold that are left out, constants left out."""
        given = self.node.args
        count = len(given.defaults)
        pairs = [*zip(self.positional[-count:] if count else (), given.defaults, strict=True)]
        pairs += [(one.arg, value) for one, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value]
        return {name: value for name, value in pairs if not isinstance(value, ast.Constant)}

    @cached_property
    def annotations(self) -> Mapping[str, ast.expr]:
        """What its signature says of its parameters, and under `return` of its answer."""
        given = self.node.args
        every = [
            *given.posonlyargs,
            *given.args,
            *given.kwonlyargs,
            *(one for one in (given.vararg, given.kwarg) if one),
        ]
        said = {one.arg: one.annotation for one in every if one.annotation is not None}
        if not isinstance(self.node, ast.Lambda) and self.node.returns is not None:
            said["return"] = self.node.returns
        return said

    @cached_property
    def bound(self) -> frozenset[str]:
        """Every name that is bound in it."""
        given = self.node.args
        extra = [one.arg for one in (given.vararg, given.kwarg) if one]
        names = {*self.positional, *(one.arg for one in given.kwonlyargs), *extra}
        body = [self.node.body] if isinstance(self.node, ast.Lambda) else self.node.body
        outer = {
            name
            for one in ast.walk(self.node)
            if isinstance(one, ast.Nonlocal | ast.Global) and one in body
            for name in one.names
        }
        return frozenset(names.union(*(set(_bound_in(one)) for one in body)) - outer)


@dataclass(eq=False)
class Class:
    """A class: its methods, the names of its annotated fields in order, and what its body assigns."""

    name: str
    node: ast.ClassDef
    module: "Module"
    methods: dict[str, Function] = field(default_factory=dict)
    fields: dict[str, ast.expr] = field(default_factory=dict)
    assigned: dict[str, ast.expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.node.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.methods[node.name] = Function(node, self.module, self)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self.fields[node.target.id] = node.annotation
                if node.value is not None:
                    self.assigned[node.target.id] = node.value
            elif isinstance(node, ast.Assign):
                self.assigned |= {one.id: node.value for one in node.targets if isinstance(one, ast.Name)}

    @cached_property
    def attributes(self) -> frozenset[str]:
        """Every attribute that it gives itself."""
        own = {
            one.attr
            for method in self.methods.values()
            for one in ast.walk(method.node)
            if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
        }
        return frozenset({*self.methods, *self.fields, *self.assigned, *own})


@dataclass(eq=False)
class Module:
    """One file."""

    name: str
    path: Path
    tree: ast.Module
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for one in node.names:
                    self.imports[one.asname or one.name.partition(".")[0]] = (
                        one.name if one.asname else one.name.partition(".")[0],
                        "",
                    )
            elif isinstance(node, ast.ImportFrom):
                origin = self._origin(node)
                self.imports |= {one.asname or one.name: (origin, one.name) for one in node.names}
        for statement in self.tree.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions[statement.name] = Function(statement, self)
            elif isinstance(statement, ast.ClassDef):
                self.classes[statement.name] = Class(statement.name, statement, self)

    def _origin(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = self.name.split(".") if self.path.name == "__init__.py" else self.name.split(".")[:-1]
        base = package[: len(package) - node.level + 1]
        return ".".join([*base, node.module] if node.module else base)


@dataclass
class Program:
    """All modules by name."""

    modules: Mapping[str, Module]
    _lineages: dict[Class, Sequence[Class]] = field(default_factory=dict)

    def find(self, module: str, symbol: str) -> "Module | Class | Function | tuple[Module, str] | None":
        """What `symbol` of a module is; a pair says that it is a value which that module assigns; `None`: opaque."""
        seen: set[tuple[str, str]] = set()
        while (module, symbol) not in seen:
            seen.add((module, symbol))
            if not symbol:
                return self.modules.get(module)
            if f"{module}.{symbol}" in self.modules:
                return self.modules[f"{module}.{symbol}"]
            found = self.modules.get(module)
            if found is None:
                return None
            if symbol in found.classes:
                return found.classes[symbol]
            if symbol in found.functions:
                return found.functions[symbol]
            if symbol not in found.imports:
                return found, symbol
            module, symbol = found.imports[symbol]
        return None

    def resolve(self, module: Module, node: ast.expr) -> "Module | Class | Function | tuple[Module, str] | None":
        """What a dotted name means in a module."""
        if isinstance(node, ast.Name):
            return self.find(module.name, node.id)
        if isinstance(node, ast.Attribute):
            inner = self.resolve(module, node.value)
            return self.find(inner.name, node.attr) if isinstance(inner, Module) else None
        return None

    def lineage(self, one: Class) -> Sequence[Class]:
        """The class and all that it is made of, nearest first."""
        if one not in self._lineages:
            self._lineages[one] = self._lineage(one)
        return self._lineages[one]

    def _lineage(self, one: Class) -> Sequence[Class]:
        found = [one]
        for base in one.node.bases:
            parent = self.resolve(one.module, base.value if isinstance(base, ast.Subscript) else base)
            if isinstance(parent, Class):
                found += [each for each in self.lineage(parent) if each not in found]
        return found


def read(root: Path) -> Program:
    """The package and the functions of a checkout."""
    files = [*_files(root / "layers/core/python", "cronfleet"), *_files(root, "functions")]
    modules = [Module(name, path, ast.parse(path.read_text(encoding="utf-8"))) for name, path in files]
    return Program({one.name: one for one in modules})


def digest(root: Path, *more: Path) -> str:
    """Of all that `read` would read, and of the files in the folders `more`."""
    found = hashlib.sha256()
    paths = [path for _, path in (*_files(root / "layers/core/python", "cronfleet"), *_files(root, "functions"))]
    schema = root / "layers/core/python/cronfleet/adapters/dynamodb/schema.py"
    for path in (*paths, schema, *(one for folder in more for one in sorted(folder.glob("*.py")))):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def _files(root: Path, package: str) -> Iterator[tuple[str, Path]]:
    for path in sorted((root / package).rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        if not any(name == room or name.startswith(f"{room}.") for room in OPAQUE):
            yield name, path


def last_name(node: ast.expr) -> str:
    """`c` of `a.b.c`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _bound_in(node: ast.AST) -> Iterator[str]:
    """Names that a piece of code binds, what stands in functions and lambdas inside it left out."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest
    for child in ast.iter_child_nodes(node):
        yield from _bound_in(child)
