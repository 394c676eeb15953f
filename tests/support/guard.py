"""Guard: on moto, a function may ask AWS for what its role allows and for nothing else, as on AWS.

moto lets everybody do everything. So each request that is made while a function's handler runs is held against what
reading the function's code finds (`permissions`), to which the roles in the templates are held as well.
"""

import functools
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any
from unittest.mock import patch

from botocore.client import BaseClient

from cronfleet.adapters.aws.lean import LeanClient
from cronfleet.adapters.dynamodb import schema
from permissions.compare import ROOT, Code
from permissions.needs import ACTIONS, DYNAMODB
from permissions.scopes import SCOPES

Asked = tuple[str, str, str]
"""Action, table and index; of other services the action alone."""
Placed = tuple[str, str, str]
"""Action, table and the partition that is written."""

_code = Code(cache=ROOT / ".cache" / "permissions")
_unguarded = BaseClient._make_api_call
_unguarded_lean = LeanClient.call
_refused: list[str] = []
_NAMED = re.compile(r'UPDATE "([^"]+)"')
_TRANSACTED = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}


@contextmanager
def guarded() -> Iterator[None]:
    """While it lasts; at its end it fails for every request that a role would have refused."""
    _refused.clear()
    with patch.object(BaseClient, "_make_api_call", _guarded), patch.object(LeanClient, "call", _guarded_lean):
        yield
    assert not _refused, "\n".join(dict.fromkeys(_refused))


def _guarded(client: Any, operation: str, request: dict[str, Any]) -> Any:
    _hold(client.meta.service_model.service_name, operation, request)
    return _unguarded(client, operation, request)


def _guarded_lean(client: Any, operation: str, request: dict[str, Any]) -> Any:
    _hold(client.service.name, operation, request)
    return _unguarded_lean(client, operation, request)


def _hold(service: str, operation: str, request: dict[str, Any]) -> None:
    part = _part_at_work()
    if part is not None:
        unknown = [asked for asked in asked_for(service, operation, request) if asked not in allowed(part)]
        _refused.extend(f"{part} asks for {' '.join(one)}, which reading its code does not find" for one in unknown)
        if service == "dynamodb":
            _refused.extend(_out_of_scope(part, operation, request))


def _out_of_scope(part: str, operation: str, request: Mapping[str, Any]) -> Iterator[str]:
    for action, table, partition in placed(operation, request):
        scope = SCOPES.get((part, action, table))
        if scope is not None and not any(fnmatchcase(partition, one) for one in scope):
            yield f"{part} does {action} in {partition} of {table}: permissions/scopes.py allows {sorted(scope)}"


def placed(operation: str, request: Mapping[str, Any]) -> list[Placed]:
    """The partitions that a request writes."""
    if operation == "TransactWriteItems":
        pairs = [(_TRANSACTED[kind], one) for each in request["TransactItems"] for kind, one in each.items()]
        return [found for kind, one in pairs for found in placed(kind, one)]
    key = request.get("Key") or request.get("Item")
    if not isinstance(key, dict):
        return []
    return [(f"dynamodb:{operation}", _table(request["TableName"]), str(key["pk"]["S"]))]


def _part_at_work() -> str | None:
    """The function whose handler is on the stack."""
    frame: Any = sys._getframe(3)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("functions."):
            return str(name.split(".")[1])
        frame = frame.f_back
    return None


@functools.cache
def allowed(part: str) -> frozenset[Asked]:
    """All that the code of a function asks for."""
    found: set[Asked] = set()
    for request in _code.requests(part):
        if request.service == "dynamodb":
            found.add((DYNAMODB[request.operation], request.on, request.index))
        else:
            found.add((ACTIONS[request.service, request.operation], "", ""))
    return frozenset(found)


def asked_for(service: str, operation: str, request: Mapping[str, Any]) -> list[Asked]:
    """What one request is authorised by."""
    if service != "dynamodb":
        known = {_camel(name): action for (one, name), action in ACTIONS.items() if one == service}
        return [(known.get(operation, f"{service}:{operation}"), "", "")]
    if operation == "TransactWriteItems":
        pairs = [pair for one in request["TransactItems"] for pair in one.items()]
        return [(f"dynamodb:{_TRANSACTED[kind]}", _table(one["TableName"]), "") for kind, one in pairs]
    if operation == "BatchExecuteStatement":
        tables = [_NAMED.match(one["Statement"]) for one in request["Statements"]]
        return [("dynamodb:PartiQLUpdate", _table(found[1]), "") for found in tables if found]
    if operation.startswith("Batch"):
        return [(f"dynamodb:{operation}", _table(name), "") for name in request["RequestItems"]]
    return [(f"dynamodb:{operation}", _table(request["TableName"]), request.get("IndexName", ""))]


def _table(name: str) -> str:
    return next(one.name for one in schema.TABLES if name.endswith(f"-{one.name}"))


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
