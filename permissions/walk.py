"""Walk: the places of the code with the atoms that have reached them, and whom that concerns."""

import ast
from collections import defaultdict, deque
from collections.abc import Callable, Collection

from permissions.admitted import Admitted
from permissions.atoms import MAX_STEPS, Atom, Atoms, Given, Node, Obj, Request, Setting, Task
from permissions.source import Class, Function, Module, Program


class Walk:
    """What is known of each place so far, and which bodies have to be looked at again."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._values: dict[Node, Atoms] = defaultdict(set)
        self._readers: dict[Node, set[Task]] = defaultdict(set)
        self._waiting: deque[Task] = deque()
        self._queued: set[Task] = set()
        self._known: set[Task] = set()
        self._came_from: dict[Task, Task | None] = {}
        self._task: Task | None = None
        self._function: Function | None = None
        self._module: Module = next(iter(program.modules.values()))
        self._only: list[tuple[str, Callable[[Atom], bool]]] = []
        self._nested: dict[ast.AST, Function] = {}
        self._admitted = Admitted(program)
        self._writes: dict[Function, Collection[str]] = {}
        self.requests: dict[Request, str] = {}

    def _begin(self, task: Task) -> None:
        if task not in self._known:
            self._known.add(task)
            self._came_from[task] = self._task
            self._queue(task)

    def _queue(self, task: Task) -> None:
        if task not in self._queued:
            self._queued.add(task)
            self._waiting.append(task)

    def _add(self, node: Node, atoms: Atoms) -> None:
        known = self._values[node]
        if not atoms <= known:
            known |= atoms
            for reader in self._readers[node]:
                self._queue(reader)

    def _add_said(self, node: Node, atoms: Atoms, module: Module, annotation: ast.expr | None) -> None:
        """The same of a place of which an annotation says what it may hold."""
        if annotation is not None and atoms:
            classes = self._admitted.classes(module, annotation)
            if classes is not None:
                # A setting is text, and only text: it passes as that.
                atoms = {one for one in atoms if isinstance(one, Setting) or self._is_a(one, classes)}
        self._add(node, atoms)

    def _add_local(self, function: Function, name: str, atoms: Atoms) -> None:
        self._add_said(("local", function, name), atoms, function.module, function.annotations.get(name))

    def _add_answer(self, function: Function, atoms: Atoms) -> None:
        self._add_said(("answer", function), atoms, function.module, function.annotations.get("return"))

    def _add_field(self, made: Class, name: str, atoms: Atoms) -> None:
        said = [each for each in self._program.lineage(made) if name in each.fields]
        module, annotation = (said[0].module, said[0].fields[name]) if said else (made.module, None)
        self._add_said(("field", made, name), atoms, module, annotation)

    def _get(self, node: Node) -> Atoms:
        if self._task is not None:
            self._readers[node].add(self._task)
        return self._values[node]

    def _ask(self, request: Request, site: str = "") -> None:
        if request not in self.requests:
            self.requests[request] = site or self._way()

    def _way(self) -> str:
        steps: list[str] = []
        task = self._task
        while task is not None and len(steps) < MAX_STEPS:
            place = task.name if isinstance(task, Module) else f"{task.module.name}:{task.name}"
            steps.append(place.removeprefix("cronfleet."))
            task = self._came_from.get(task)
        return " ← ".join(steps)

    def _is_a(self, one: Atom, classes: Collection[Class]) -> bool:
        return isinstance(one, Obj) and any(each in classes for each in self._program.lineage(one.made_of))

    def _inner(self, node: ast.FunctionDef | ast.Lambda) -> Function:
        """A function that stands in the one that is looked at."""
        if node not in self._nested:
            self._nested[node] = Function(node, self._module, None, self._function)
        return self._nested[node]

    def _in_module(self, module: Module, node: ast.expr) -> Atoms:
        """An expression that stands outside every function."""
        kept = self._module, self._function, self._only
        self._module, self._function, self._only = module, None, []
        try:
            return self._eval(node)
        finally:
            self._module, self._function, self._only = kept

    # --- what the rooms above do -------------------------------------------------------------------------------

    def _eval(self, node: ast.expr) -> Atoms:
        raise NotImplementedError

    def _invoke(self, called: Atom, given: Given, node: ast.Call | None = None) -> Atoms:
        raise NotImplementedError
