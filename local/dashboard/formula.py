"""Metric math as the dashboard and the alarms write it: numbers, ids, `+ - * /`, and `SUM([a,b])`."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Final

Value = float | None
"""None where there is no value: a sum leaves it out, everything else comes to none."""

OPERATORS: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def evaluated(text: str, values: Mapping[str, Value]) -> Value:
    """What `text` comes to; raises `ValueError` for what this file does not know, which CloudWatch may."""
    return _of(ast.parse(text, mode="eval").body, values)


def _of(node: ast.expr, values: Mapping[str, Value]) -> Value:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return _joined(node.op, _of(node.left, values), _of(node.right, values))
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "SUM" and isinstance(node.args[0], ast.List):
        known = [value for one in node.args[0].elts if (value := _of(one, values)) is not None]
        return sum(known) if known else None
    raise ValueError(f"{ast.unparse(node)!r}: write numbers, ids, + - * / and SUM([a,b])")


def _joined(sign: ast.operator, left: Value, right: Value) -> Value:
    if left is None or right is None or (isinstance(sign, ast.Div) and right == 0):
        return None
    return OPERATORS[type(sign)](left, right)
