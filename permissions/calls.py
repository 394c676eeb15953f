"""Calls: what reaches a function when it is called, and what a client of AWS is asked for."""

import ast

from permissions.atoms import (
    GROWS,
    HOLDERS,
    NAMED_BY,
    TABLES,
    TRANSPARENT,
    Action,
    Atom,
    Atoms,
    Client,
    Code,
    Given,
    Index,
    Obj,
    Request,
    Setting,
    Store,
    Table,
    Type,
    is_super,
    makes_clients,
    may_be_none,
)
from permissions.names import Names
from permissions.source import OPAQUE, Class, Function, last_name


class Calls(Names):
    """Calls everything that can be called, and keeps the requests."""

    def _call(self, node: ast.Call) -> Atoms:
        given = self._given(node)
        if last_name(node.func) in ("client", "resource") and makes_clients(node.func):
            return self._client_made(node)
        if is_super(node.func):
            return self._super(node, given)
        called = self._eval(node.func)
        if last_name(node.func) == "partial":
            return self._partial(node, given)
        found: Atoms = set()
        is_known = False
        for one in list(called):
            if isinstance(one, Type | Code | Store | Client):
                is_known = True
                found |= self._invoke(one, given, node)
        return found if is_known else self._opaque(node, called, given)

    def _given(self, node: ast.Call) -> Given:
        more: Atoms = set()
        positional: list[Atoms] = []
        for one in node.args:
            if isinstance(one, ast.Starred):
                more |= self._eval(one.value)
            else:
                positional.append(self._eval(one))
        named = {one.arg: self._eval(one.value) for one in node.keywords if one.arg}
        more |= set().union(*(self._eval(one.value) for one in node.keywords if not one.arg))
        return Given(positional, named, more)

    def _opaque(self, node: ast.Call, called: Atoms, given: Given) -> Atoms:
        """Of what is not read: it calls what it is given, and answers what it is given."""
        held = given.all
        is_ours = self._is_ours(node.func)
        if is_ours:
            # They know nothing of what stands above them, but call what they are given.
            held = {one for one in held if isinstance(one, Code | Store | Client)}
        if isinstance(node.func, ast.Attribute):
            held = held | called
            if node.func.attr in GROWS:
                self._put(node.func.value, given.all)
        if last_name(node.func) in HOLDERS:
            return held
        return self._called_back(held, node)

    def _called_back(self, held: Atoms, node: ast.Call | None) -> Atoms:
        """What is left of `held` when everything in it that can be called has been called with the rest."""
        calls = {
            one
            for one in held
            if isinstance(one, Code)
            or (isinstance(one, Client) and one.operation)
            or (isinstance(one, Store) and one.verb)
        }
        found = held - calls
        for one in calls:
            found = found | self._invoke(one, Given((), {}, held - calls), node)
        return found

    def _is_ours(self, node: ast.expr) -> bool:
        """Whether what is called is one of our own rooms that are not read."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        origin = self._module.imports.get(root.id, ("", ""))[0] if isinstance(root, ast.Name) else ""
        name = f"{origin}.{self._module.imports[root.id][1]}" if origin and isinstance(root, ast.Name) else ""
        return any(name.startswith(f"{room}.") or name == room for room in OPAQUE)

    def _partial(self, node: ast.Call, given: Given) -> Atoms:
        """What a partial application will be called with, as far as it is known now; and it goes on as itself."""
        rest = Given(given.positional[1:], given.named, given.more)
        first = given.positional[0] if given.positional else set()
        for one in list(first):
            if isinstance(one, Type | Code | Store | Client):
                self._invoke(one, rest, node)
        return first

    def _super(self, node: ast.Call, given: Given) -> Atoms:
        assert isinstance(node.func, ast.Attribute)  # noqa: S101 - that is what makes it one
        function = self._function
        if function is None or function.owner is None:
            return set()
        owners = self._get(("local", function, function.positional[0]))
        found: Atoms = set()
        for base in self._program.lineage(function.owner)[1:]:
            method = base.methods.get(node.func.attr)
            if method is not None:
                for one in list(owners):
                    found |= self._invoke(Code(method, one), given, node)
        return found

    def _client_made(self, node: ast.Call) -> Atoms:
        name = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else "?"
        foreign = any(one.arg == "aws_session_token" for one in node.keywords)
        return {Client(str(name), "", foreign)}

    def _invoke(self, called: Atom, given: Given, node: ast.Call | None = None) -> Atoms:
        if isinstance(called, Store):
            return self._store_asked(called, given, node)
        if isinstance(called, Client):
            return self._client_asked(called, given)
        if isinstance(called, Type):
            return self._construct(called.of, given)
        if isinstance(called, Code):
            function = called.function
            if function.name in TRANSPARENT and function.owner is None:
                return self._called_back(given.all, node)
            positional = list(given.positional)
            if called.of is not None:
                positional.insert(0, {called.of})
            self._hand_over(function, Given(positional, given.named, given.more))
            if all(self._values[("local", function, name)] for name in self._written(function)):
                self._begin(function)
            return self._get(("answer", function))
        return set()

    def _hand_over(self, function: Function, given: Given) -> None:
        names, arguments = function.positional, function.node.args
        keyword_only = [one.arg for one in arguments.kwonlyargs]
        for name, value in zip(names, given.positional, strict=False):
            self._add_local(function, name, value)
        for name in (*names[len(given.positional) :], *keyword_only):
            self._add_local(function, name, given.more)
        if arguments.vararg:
            left = set().union(*given.positional[len(names) :], given.more)
            self._add_local(function, arguments.vararg.arg, left)
        for name, value in given.named.items():
            if name in names or name in keyword_only:
                self._add_local(function, name, value)
            elif arguments.kwarg:
                self._add_local(function, arguments.kwarg.arg, value)
        for name, default in function.defaults.items():
            self._add_local(function, name, self._in_module(function.module, default))

    def _construct(self, made: Class, given: Given) -> Atoms:
        one = Obj(made)
        lineage = self._program.lineage(made)
        for each in lineage:
            if "__init__" in each.methods:
                self._invoke(Code(each.methods["__init__"], one), given)
                return {one}
        names = [name for each in reversed(lineage) for name in each.fields]
        for name, value in zip(names, given.positional, strict=False):
            self._add_field(made, name, value)
        for name, value in given.named.items():
            self._add_field(made, name, value)
        for name in names[len(given.positional) :]:
            self._add_field(made, name, given.more)
        for each in lineage:
            if "__post_init__" in each.methods:
                self._invoke(Code(each.methods["__post_init__"], one), Given())
        return {one}

    # --- requests ------------------------------------------------------------------------------------------------

    def _client_asked(self, client: Client, given: Given) -> Atoms:
        if not client.operation:
            return {client}
        if not client.foreign:
            wanted = NAMED_BY.get(client.service, ())
            named = sorted({one.name for one in given.all if isinstance(one, Setting) and one.name in wanted})
            for name in named or [""]:
                self._ask(Request(client.service, client.operation, name))
        return set()

    def _store_asked(self, store: Store, given: Given, node: ast.Call | None) -> Atoms:
        if not store.verb:
            return {Store()}
        if store.verb == "name":
            return given.all
        if store.verb == "transact":
            for one in list(given.all):
                if isinstance(one, Action):
                    self._ask(Request("dynamodb", one.kind, one.table), f"{one.site}; sent by {self._way()}")
            return set()
        # Of `update(*place, …)` the table stands in what is spread out.
        starred = node is not None and bool(node.args) and isinstance(node.args[0], ast.Starred)
        place = given.more if starred or not given.positional else given.positional[0]
        tables = {one.name for one in place if isinstance(one, Table)}
        indexes = {one.name for one in given.named.get("index", set()) | given.more if isinstance(one, Index)}
        if store.verb == "scan":
            indexes = {one.name for one in given.all if isinstance(one, Index)}
        for name in tables:
            own = {one.name for one in TABLES[name].indexes} & indexes
            for index in own or {""}:
                self._ask(Request("dynamodb", store.verb, name, index))
            if own and node is not None and may_be_none(node, "index"):
                self._ask(Request("dynamodb", store.verb, name))
        return set()


def _can_be_called(one: Atom) -> bool:
    if isinstance(one, Client):
        return bool(one.operation)
    return isinstance(one, Code) or (isinstance(one, Store) and bool(one.verb))
