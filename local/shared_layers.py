"""Starts ministack so that each layer is unpacked once for all functions, and so that it tells what AWS would.

Runs in the emulator's own environment.

By itself it unpacks every layer anew for each process of each function, and checks every path in it: two to three
seconds and 80 MB a process where files are slow. On AWS too, /opt is one read-only copy.
"""

import hashlib
import importlib.util
import shutil
import sys
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from ministack import app  # type: ignore[import-not-found]  # it is in the emulator's environment alone
from ministack.core import lambda_runtime  # type: ignore[import-not-found]  # as above

LAYER: Final = "layer_"
"""How ministack names the folder into which it unpacks a layer."""

FOLDER: Final = Path(sys.argv[1])
"""Where the layers are unpacked, named by their content; kept from run to run."""

MEASURES: Final = Path(__file__).with_name("emulator_measures.py")

_lock: Final = threading.Lock()


class Archive(zipfile.ZipFile):
    """A zip file of ministack's; a layer's is unpacked to a shared folder, and its own folder points there."""

    def namelist(self) -> list[str]:
        """Nothing that ministack would have to check: `extractall` never leaves its folder (zipfile's own promise)."""
        return [] if Path(self.filename or "").name.startswith(LAYER) else super().namelist()

    def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:
        """Unpack to `path`, or have `path` point to what was unpacked before."""
        target = Path(path)
        if not target.name.startswith(LAYER):
            super().extractall(path, members, pwd)
            return
        archive = Path(self.filename or "")
        target.rmdir()
        target.symlink_to(self._shared(archive))
        archive.unlink()

    def _shared(self, archive: Path) -> Path:
        shared = FOLDER / hashlib.sha256(archive.read_bytes()).hexdigest()[:24]
        with _lock:
            if not shared.exists():
                self._unpack(shared)
        return shared

    def _unpack(self, shared: Path) -> None:
        FOLDER.mkdir(exist_ok=True)
        unfinished = shared.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        super().extractall(unfinished, super().namelist())
        unfinished.rename(shared)


def tell_as_aws_would() -> None:
    """Load the module beside this one by its file: what else their folder holds is not the emulator's."""
    found = importlib.util.spec_from_file_location("emulator_measures", MEASURES)
    if found is None or found.loader is None:
        raise ImportError(f"{MEASURES} cannot be loaded")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    module.install()


if __name__ == "__main__":
    # Only the name that ministack's module looks up: zipfile itself stays what it is.
    lambda_runtime.zipfile = SimpleNamespace(**{**vars(zipfile), "ZipFile": Archive})
    tell_as_aws_would()
    # It would take ours for one of its own.
    del sys.argv[1:]
    sys.exit(app.main())
