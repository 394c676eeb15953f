"""Names: what a name means where it stands, and which branches an object of its can take."""

import ast
from collections.abc import Collection, Sequence
from typing import Any

from cronfleet.adapters.dynamodb import schema
from permissions.atoms import DATABASE, SCHEMA, Atoms, Code, Obj, Package, Store, Type, of_schema
from permissions.source import Class, Function, Module, last_name
from permissions.walk import Walk


class Names(Walk):
    """Binds names and finds what they hold."""

    def _bind(self, name: str, value: Atoms) -> None:
        function = self._function
        while function is not None and name not in function.bound:
            function = function.parent
        self._add(("global", self._module, name) if function is None else ("local", function, name), value)

    def _put(self, target: ast.expr, value: Atoms) -> None:
        if isinstance(target, ast.Name):
            self._bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            for one in target.elts:
                self._put(one, value)
        elif isinstance(target, ast.Starred):
            self._put(target.value, value)
        elif isinstance(target, ast.Subscript):
            self._eval(target.slice)
            self._put(target.value, value)
        elif isinstance(target, ast.Attribute):
            for owner in self._eval(target.value):
                if isinstance(owner, Obj):
                    self._add_field(owner.made_of, target.attr, value)
        elif isinstance(target, ast.Call):
            self._eval(target)

    def _name(self, node: ast.Name) -> Atoms:
        function = self._function
        while function is not None and node.id not in function.bound:
            function = function.parent
        if function is None:
            return self._global(self._module, node.id)
        found = self._get(("local", function, node.id))
        for name, wanted in self._only:
            if name == node.id:
                found = {one for one in found if wanted(one)}
        return found

    def _global(self, module: Module, name: str) -> Atoms:
        return self._meant(self._program.find(module.name, name))

    def _meant(self, found: Any) -> Atoms:
        if isinstance(found, Module):
            return {Package(found)}
        if isinstance(found, Class):
            return {Store()} if (found.module.name, found.name) == DATABASE else {Type(found)}
        if isinstance(found, Function):
            return {Code(found)}
        if found is None:
            return set()
        module, name = found
        if module.name == SCHEMA:
            return of_schema(getattr(schema, name, None))
        self._begin(module)
        return self._get(("global", module, name))

    # --- narrowing -----------------------------------------------------------------------------------------------

    def _narrow(self, test: ast.expr, *, holds: bool) -> bool:
        """Follow a branch on `isinstance`; false: no object has come that would take it."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._narrow(test.operand, holds=not holds)
        if isinstance(test, ast.BoolOp):
            if isinstance(test.op, ast.And) == holds:
                narrowed = [self._narrow(one, holds=holds) for one in test.values]
                return all(narrowed)
            return True
        if not (isinstance(test, ast.Call) and last_name(test.func) == "isinstance" and len(test.args) == 2):
            return True
        name, classes = test.args[0], self._classes_named(test.args[1])
        if not isinstance(name, ast.Name) or classes is None:
            return True
        all_there = self._eval(name)
        self._only.append((name.id, lambda one: self._is_a(one, classes) == holds))
        # An object of no class of ours takes the other branch, and leaves no atom.
        return bool(self._eval(name)) or (not holds and not (all_there and self._is_write(name.id)))

    def _is_write(self, name: str) -> bool:
        """Whether a parameter is said to be objects of the ports, and nothing else."""
        if self._function is None:
            return False
        return name in self._written(self._function)

    def _written(self, function: Function) -> Collection[str]:
        """The parameters that are said to be objects of classes of the ports, and nothing else.

        Where none has been made the function is not called: only services make them.
        """
        if function not in self._writes:
            said = function.annotations.items()
            self._writes[function] = [name for name, one in said if name != "return" and self._of_ports(function, one)]
        return self._writes[function]

    def _of_ports(self, function: Function, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):
            return self._of_ports(function, node.left) and self._of_ports(function, node.right)
        found = self._program.resolve(function.module, node)
        if isinstance(found, tuple):
            module, name = found
            return module.name.startswith("cronfleet.ports") and bool(self._classes_in_alias(module, name))
        is_ours = isinstance(found, Class) and found.module.name.startswith("cronfleet.ports")
        return is_ours and self._admitted.classes(function.module, node) is not None

    def _classes_named(self, node: ast.expr) -> Sequence[Class] | None:
        """The classes of an `isinstance` or a pattern, if all of them are read here."""
        if isinstance(node, ast.Tuple):
            parts: Sequence[ast.expr] = node.elts
        elif isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        else:
            found = self._program.resolve(self._module, node)
            if isinstance(found, tuple):
                return self._classes_in_alias(*found)
            return [found] if isinstance(found, Class) else None
        inner = [self._classes_named(one) for one in parts]
        known = [one for one in inner if one is not None]
        return [each for one in known for each in one] if len(known) == len(inner) else None

    def _classes_in_alias(self, module: Module, name: str) -> Sequence[Class] | None:
        for node in module.tree.body:
            if isinstance(node, ast.AnnAssign) and last_name(node.target) == name and node.value is not None:
                kept, self._module = self._module, module
                try:
                    return self._classes_named(node.value)
                finally:
                    self._module = kept
        return None

    def _capture(self, pattern: ast.pattern, matched: Atoms) -> None:
        inside = set(matched)
        for one in matched:
            if isinstance(one, Obj):
                inside |= set().union(*(self._get(("field", one.made_of, name)) for name in one.made_of.fields))
        for part in ast.walk(pattern):
            if isinstance(part, ast.MatchAs | ast.MatchStar) and part.name:
                self._bind(part.name, inside)

    def _classes_in(self, pattern: ast.pattern) -> Sequence[Class] | None:
        if isinstance(pattern, ast.MatchOr):
            found = [self._classes_in(one) for one in pattern.patterns]
            known = [one for one in found if one is not None]
            return [each for one in known for each in one] if len(known) == len(found) else None
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
            return self._classes_in(pattern.pattern)
        return self._classes_named(pattern.cls) if isinstance(pattern, ast.MatchClass) else None
