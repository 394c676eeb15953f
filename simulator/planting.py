"""Planting: a deliberate fault of `planted.py` put into a module of the product while it is imported."""

import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import Any

from simulator.planted import BY_NAME
from simulator.planted_edits import Planted


class _PlantingLoader(SourceFileLoader):
    """Compiles a module with its fault in it; bypasses bytecode caches, which hold the sound module."""

    def __init__(self, fullname: str, path: str, fault: Planted) -> None:
        super().__init__(fullname, path)
        self._name = fault.name
        self._edits = [edit for edit in fault.edits if edit.module == fullname]

    def get_code(self, fullname: str) -> CodeType:
        """The code of the module with the fault in its source."""
        path = self.get_filename(fullname)
        source = self.get_data(path).decode()
        for edit in self._edits:
            if source.count(edit.before) != 1:
                raise LookupError(
                    f"fault {self._name}: its text stands {source.count(edit.before)} times in {fullname}, not once; "
                    "adapt it in simulator/planted*.py"
                )
            source = source.replace(edit.before, edit.after)
        code: CodeType = compile(source, path, "exec")
        return code


class _PlantingFinder(importlib.abc.MetaPathFinder):
    def __init__(self, fault: Planted) -> None:
        self._fault = fault

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        """The faulty module in place of the sound one; everything else is found as usual."""
        if all(edit.module != fullname for edit in self._fault.edits):
            return None
        found = PathFinder.find_spec(fullname, path, target)
        if found is None or found.origin is None:
            return None
        loader = _PlantingLoader(fullname, found.origin, self._fault)
        return importlib.util.spec_from_file_location(fullname, found.origin, loader=loader)


def plant(name: str) -> Planted:
    """Plant a fault in what is imported from now on; the product must not have been imported yet."""
    fault = BY_NAME[name]
    loaded = [edit.module for edit in fault.edits if edit.module in sys.modules]
    if loaded:
        raise RuntimeError(f"{', '.join(loaded)} is imported already: plant before the simulator is loaded")
    sys.meta_path.insert(0, _PlantingFinder(fault))
    return fault
