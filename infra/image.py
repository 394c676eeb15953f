"""The image of the long worker: the folder it is built from. Docker is needed where it is deployed, and not before."""

import shutil
from pathlib import Path
from typing import Final

from infra.bundles import CACHE, ROOT

DOCKERFILE: Final = "functions/long_worker/Dockerfile"
SOURCES: Final = (
    "layers/vendor/requirements.txt",
    "layers/core/python/cronfleet",
    "functions/worker",
    "functions/long_worker",
)
"""What the Dockerfile copies, and all that there is to build from: nothing else gets into an image by mistake."""


def build_folder() -> Path:
    """A folder with the sources alone, as they stand now; the same files make the same image."""
    folder = CACHE.parent / "long-worker-image"
    shutil.rmtree(folder, ignore_errors=True)
    for source in SOURCES:
        here, there = ROOT / source, folder / source
        there.parent.mkdir(parents=True, exist_ok=True)
        if here.is_dir():
            shutil.copytree(here, there, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        else:
            shutil.copyfile(here, there)
    return folder
