"""Expressions: the atoms that an expression may have."""

import ast
from dataclasses import replace

from permissions.atoms import (
    NAMED_BY,
    SETTINGS,
    TRANSACTED,
    VERBS,
    Action,
    Atoms,
    Client,
    Code,
    Given,
    Obj,
    Package,
    Setting,
    Store,
    Table,
    Type,
    says,
)
from permissions.calls import Calls


class Expressions(Calls):
    """Evaluates expressions."""

    def _eval(self, node: ast.expr) -> Atoms:
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        return self._parts_of(node) if visit is None else visit(node)

    def _parts_of(self, node: ast.expr) -> Atoms:
        found: Atoms = set()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                found = found | self._eval(child)
        return found

    def _attribute(self, node: ast.Attribute) -> Atoms:
        return self._attributes(self._eval(node.value), node.attr)

    def _lambda(self, node: ast.Lambda) -> Atoms:
        return {Code(self._inner(node))}

    def _compare(self, node: ast.Compare) -> Atoms:
        self._parts_of(node)
        return set()

    def _namedexpr(self, node: ast.NamedExpr) -> Atoms:
        value = self._eval(node.value)
        self._put(node.target, value)
        return value

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> Atoms:
        value = set() if node.value is None else self._eval(node.value)
        if self._function is not None:
            self._add_answer(self._function, value)
        return set()

    _yieldfrom = _yield

    def _ifexp(self, node: ast.IfExp) -> Atoms:
        self._eval(node.test)
        found: Atoms = set()
        for branch, holds in ((node.body, True), (node.orelse, False)):
            depth = len(self._only)
            if self._narrow(node.test, holds=holds):
                found = found | self._eval(branch)
            del self._only[depth:]
        return found

    def _dict(self, node: ast.Dict) -> Atoms:
        found: Atoms = set()
        table = [one for key, one in zip(node.keys, node.values, strict=True) if says(key, "TableName")]
        for key, value in zip(node.keys, node.values, strict=True):
            held = self._eval(value)
            if key is not None:
                held = held | self._eval(key)
            if isinstance(key, ast.Constant) and key.value in TRANSACTED:
                held = {Action(str(key.value), one.name, self._way()) for one in held if isinstance(one, Table)}
            found = found | held
        return self._eval(table[0]) if table else found

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Atoms:
        depth = len(self._only)
        taken = True
        for part in node.generators:
            self._put(part.target, self._eval(part.iter))
            for test in part.ifs:
                self._eval(test)
                taken = self._narrow(test, holds=True) and taken
        found: Atoms = set()
        if taken:
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            found = set().union(*(self._eval(one) for one in parts))
        del self._only[depth:]
        return found

    _setcomp = _generatorexp = _dictcomp = _listcomp

    def _attributes(self, owners: Atoms, name: str) -> Atoms:
        found: Atoms = set()
        for one in list(owners):
            if isinstance(one, Obj):
                found |= self._member(one, name)
            elif isinstance(one, Type):
                found |= self._of_type(one, name)
            elif isinstance(one, Package):
                found |= self._global(one.module, name)
            elif isinstance(one, Store):
                found |= {Store(name)} if not one.verb and name in VERBS else set()
            elif isinstance(one, Client):
                found.add(replace(one, operation=name))
            else:
                # What it is held in is not told from it.
                found.add(one)
        return found

    def _member(self, owner: Obj, name: str) -> Atoms:
        if (owner.made_of.module.name, owner.made_of.name) == SETTINGS:
            return {Setting(name)} if any(name in names for names in NAMED_BY.values()) else set()
        lineage = self._program.lineage(owner.made_of)
        for each in lineage:
            method = each.methods.get(name)
            if method is None:
                continue
            if "staticmethod" in method.decorators:
                return {Code(method)}
            bound = Code(method, Type(owner.made_of) if "classmethod" in method.decorators else owner)
            is_value = {"property", "cached_property"} & method.decorators
            return self._invoke(bound, Given()) if is_value else {bound}
        if not any(name in each.attributes for each in lineage):
            return {owner}
        found = set(self._get(("field", owner.made_of, name)))
        for each in lineage:
            if name in each.assigned:
                self._begin(each.module)
                found |= self._in_module(each.module, each.assigned[name])
        return found

    def _of_type(self, owner: Type, name: str) -> Atoms:
        for each in self._program.lineage(owner.of):
            if name in each.methods:
                method = each.methods[name]
                return {Code(method, owner if "classmethod" in method.decorators else None)}
            if name in each.assigned:
                return self._in_module(each.module, each.assigned[name])
        return set()
