"""Atoms: what the walk through the code tells apart. Everything else is of no matter to a request."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from cronfleet.adapters.dynamodb import schema
from permissions.source import Class, Function, Module

SCHEMA: Final = "cronfleet.adapters.dynamodb.schema"
DATABASE: Final = ("cronfleet.adapters.dynamodb.database", "Database")
SETTINGS: Final = ("cronfleet.settings", "Settings")
TRANSACTED: Final = ("Put", "Update", "Delete", "ConditionCheck")
"""The keys of a transaction's actions."""
TRANSPARENT: Final = frozenset({"answer_of"})
"""Functions of ours that answer what the one thing answers which they are given to call: each call by itself."""
HOLDERS: Final = frozenset(
    {"OrderedDict", "chain", "deque", "dict", "enumerate", "frozenset", "get", "iter", "items", "list", "next"}
    | {"pop", "reversed", "set", "tuple", "values", "zip"}
)
"""Of other people's: what holds, or gives out, and calls nothing."""
GROWS: Final = frozenset({"add", "append", "appendleft", "extend", "insert", "setdefault", "update", "__setitem__"})
"""Methods by which a container takes something in."""


@dataclass(frozen=True, slots=True)
class Obj:
    """An object of a class."""

    made_of: Class


@dataclass(frozen=True, slots=True)
class Type:
    """A class itself."""

    of: Class


@dataclass(frozen=True, slots=True)
class Code:
    """A function; `of` is the object that it is a method of."""

    function: Function
    of: Any = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the schema."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """An index of the schema."""

    name: str


@dataclass(frozen=True, slots=True)
class Action:
    """An action of a transaction."""

    kind: str
    table: str
    site: str


@dataclass(frozen=True, slots=True)
class Store:
    """The one object that asks DynamoDB, or one of its methods."""

    verb: str = ""


@dataclass(frozen=True, slots=True)
class Client:
    """A client of AWS, or one of its operations; `foreign` when its credentials are another role's."""

    service: str
    operation: str = ""
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of the function's environment."""

    name: str


@dataclass(frozen=True, slots=True)
class Package:
    """A module."""

    module: Module


Atom: TypeAlias = Obj | Type | Code | Table | Index | Action | Store | Client | Setting | Package
Atoms: TypeAlias = set[Atom]
Node: TypeAlias = tuple[Any, ...]
Task: TypeAlias = Function | Module


@dataclass(frozen=True, slots=True, order=True)
class Request:
    """Something the code asks AWS for. `on`: tables with the index (or none), or settings that name the thing."""

    service: str
    operation: str
    on: str = ""
    index: str = ""


@dataclass
class Given:
    """The arguments of a call."""

    positional: Sequence[Atoms] = ()
    named: Mapping[str, Atoms] = field(default_factory=dict)
    more: Atoms = field(default_factory=set)

    @property
    def all(self) -> Atoms:
        """All there is in them."""
        return set().union(*self.positional, *self.named.values(), self.more)


TABLES: Final = {table.name: table for table in schema.TABLES}
MAX_STEPS: Final = 12
"""Of the way to a request, so that a message stays readable."""


NAMED_BY: Final = {
    "sqs": ("tick_queue_url", "errand_queue_url", "run_queue_urls"),
    "events": ("event_bus",),
    "sesv2": ("email_sender",),
    "secretsmanager": ("edge_secret",),
}
"""Which settings name the thing that a service is asked for."""

VERBS: Final = frozenset(
    {
        "batch_get",
        "delete",
        "delete_all",
        "get",
        "name",
        "put",
        "query",
        "query_keys",
        "scan",
        "transact",
        "update",
        "update_all",
        "walk",
    }
)
"""What `Database` is asked for."""


def says(key: ast.expr | None, word: str) -> bool:
    """Whether it is this word, written out."""
    return isinstance(key, ast.Constant) and key.value == word


def of_schema(value: Any) -> Atoms:
    """The tables and indexes that a value of the schema is, or holds."""
    if isinstance(value, schema.Table):
        return {Table(value.name)}
    if isinstance(value, schema.Index):
        return {Index(value.name)}
    if isinstance(value, tuple | list):
        return set().union(*map(of_schema, value))
    return set()


def makes_clients(node: ast.expr) -> bool:
    """Whether it is something of boto3, such as `boto3.client`, or of the lean client that stands in for it."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("boto3", "lean")


def is_super(node: ast.expr) -> bool:
    """Whether it is a method of the class above: `super().method`."""
    inner = node.value if isinstance(node, ast.Attribute) else None
    return isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "super"


def may_be_none(node: ast.Call, name: str) -> bool:
    """Whether the argument of this name is None, perhaps in one branch only."""
    values = [one.value for one in node.keywords if one.arg == name]
    return any(isinstance(one, ast.Constant) and one.value is None for value in values for one in ast.walk(value))
