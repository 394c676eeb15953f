"""Flow: which objects reach which place of the code, as far as requests to AWS depend on it.

Every expression has a set of atoms: objects by their class, functions, tables and indexes of the schema, clients of
AWS, settings. Containers are not told from what they hold, and what is not read (`source.OPAQUE`) hands on what it is
given. A body is looked at again when something that it reads has grown, until nothing grows any more. So the result
holds every request that the code can make, and a few that it never makes, where two paths are not told apart.

A branch for objects of a class of ours (`case PutTenant()`, `isinstance(write, PutTenant)`) is followed when such an
object has been made: opaque code makes none.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from permissions.atoms import Code, Obj, Request, Task
from permissions.expressions import Expressions
from permissions.source import Module


class Flow(Expressions):
    """One walk through the code from the functions of one entry."""

    def run(self, entries: Iterable[Module]) -> Mapping[Request, str]:
        """Every request, with the way to it, of all that these modules hold."""
        for module in entries:
            self._begin(module)
            for function in (
                *module.functions.values(),
                *(method for one in module.classes.values() for method in one.methods.values()),
            ):
                if function.owner and function.positional:
                    self._add(("local", function, function.positional[0]), {Obj(function.owner)})
                self._begin(function)
        while self._waiting:
            task = self._waiting.popleft()
            self._queued.discard(task)
            self._look_at(task)
        # Once more, now that everything is where it comes to: what was asked for before its name had come is forgotten.
        self.requests = {}
        for task in tuple(self._known):
            self._look_at(task)
        return self.requests

    def _look_at(self, task: Task) -> None:
        self._task, self._only = task, []
        if isinstance(task, Module):
            self._function, self._module = None, task
            self._block(task.tree.body)
            return
        self._function, self._module = task, task.module
        if isinstance(task.node, ast.Lambda):
            self._add_answer(task, self._eval(task.node.body))
        else:
            self._block(task.node.body)

    # --- statements ----------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt]) -> None:
        depth = len(self._only)
        for statement in body:
            self._statement(statement)
            if isinstance(statement, ast.If) and not statement.orelse and _leaves(statement.body):
                self._narrow(statement.test, holds=False)
        del self._only[depth:]

    def _statement(self, node: ast.stmt) -> None:
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is not None:
            visit(node)
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self._statement(child)
            elif isinstance(child, ast.expr):
                self._eval(child)
            elif isinstance(child, ast.ExceptHandler):
                self._block(child.body)

    def _functiondef(self, node: ast.FunctionDef) -> None:
        if self._function is not None:
            self._bind(node.name, {Code(self._inner(node))})

    def _classdef(self, node: ast.ClassDef) -> None:
        """A class is looked at when it is used."""

    def _return(self, node: ast.Return) -> None:
        if node.value is not None and self._function is not None:
            self._add_answer(self._function, self._eval(node.value))

    def _assign(self, node: ast.Assign) -> None:
        value = self._eval(node.value)
        for target in node.targets:
            self._put(target, value)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._put(node.target, self._eval(node.value))

    def _augassign(self, node: ast.AugAssign) -> None:
        self._put(node.target, self._eval(node.value))

    def _for(self, node: ast.For) -> None:
        self._put(node.target, self._eval(node.iter))
        self._block(node.body)
        self._block(node.orelse)

    def _while(self, node: ast.While) -> None:
        self._eval(node.test)
        self._block(node.body)
        self._block(node.orelse)

    def _with(self, node: ast.With) -> None:
        for item in node.items:
            value = self._eval(item.context_expr)
            if item.optional_vars is not None:
                self._put(item.optional_vars, value)
        self._block(node.body)

    def _try(self, node: ast.Try) -> None:
        for body in (node.body, *(one.body for one in node.handlers), node.orelse, node.finalbody):
            self._block(body)

    def _if(self, node: ast.If) -> None:
        self._eval(node.test)
        for body, holds in ((node.body, True), (node.orelse, False)):
            depth = len(self._only)
            if self._narrow(node.test, holds=holds):
                self._block(body)
            del self._only[depth:]

    def _match(self, node: ast.Match) -> None:
        subject = self._eval(node.subject)
        for case in node.cases:
            classes = self._classes_in(case.pattern)
            matched = subject if classes is None else {one for one in subject if self._is_a(one, classes)}
            if classes is not None and not matched:
                continue
            depth = len(self._only)
            if classes is not None and isinstance(node.subject, ast.Name):
                self._only.append((node.subject.id, partial(self._is_a, classes=classes)))
            self._capture(case.pattern, matched)
            if case.guard is not None:
                self._eval(case.guard)
            self._block(case.body)
            del self._only[depth:]


def _leaves(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)
