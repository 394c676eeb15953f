"""Bill of materials: all that an installation is deployed from, as CycloneDX, with hashes.

The same sources make the same bytes: no time, no random serial number, no address of any registry.
"""

import hashlib
import json
import re
import tomllib
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, Final

from supply.locks import ROOT, VENDOR, Pin, pins

SPECIFICATION: Final = "1.6"
NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_DNS, "cronfleet.sbom")
DEPLOYED_ON: Final[Mapping[str, str]] = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_machine": "aarch64",
    "platform_python_implementation": "CPython",
    "platform_system": "Linux",
    "sys_platform": "linux",
    "python_version": "3.14",
    "python_full_version": "3.14.0",
}
"""Where it runs, in the words of markers; the Python is `infra.config`'s, which a test compares."""

CORE: Final = "layers/core/python/cronfleet"
FUNCTIONS: Final = "functions"
IGNORED: Final = frozenset({"__pycache__"})
_FROM: Final = re.compile(
    r"^FROM +(?:--platform=\S+ +)?(?P<image>[^\s@]+)(?:@(?P<digest>sha256:[0-9a-f]{64}))?(?: +AS +(?P<stage>\S+))?$",
    re.I,
)
_ARGUMENT: Final = re.compile(r"^ARG +(\w+)=(\S+)$", re.MULTILINE)


def bill(root: Path = ROOT) -> Mapping[str, Any]:
    """The document, as JSON to be."""
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    packages = [_package(pin) for pin in pins(root / VENDOR) if pin.is_needed(DEPLOYED_ON)]
    own = [_folder(root, CORE, "library", version)]
    own += [_folder(root, f"{FUNCTIONS}/{name}", "application", version) for name in functions(root)]
    images = [*_images(root)]
    components = sorted([*packages, *own, *images], key=lambda one: str(one["bom-ref"]))
    product = {"type": "application", "bom-ref": "cronfleet", "name": "cronfleet", "version": version}
    document = {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPECIFICATION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "version": 1,
        "metadata": {"component": product},
        "components": components,
        "dependencies": _dependencies(packages, own, images),
    }
    # Of the content: two bills of one state are one.
    serial = uuid.uuid5(NAMESPACE, json.dumps(document, sort_keys=True))
    return {**document, "serialNumber": f"urn:uuid:{serial}"}


def written(document: Mapping[str, Any]) -> str:
    """The document as text, the same for the same content."""
    return f"{json.dumps(document, indent=2, sort_keys=True)}\n"


def functions(root: Path) -> Sequence[str]:
    """The folders that are deployed, each by itself."""
    return sorted(path.name for path in (root / FUNCTIONS).iterdir() if (path / "__init__.py").is_file())


def _package(pin: Pin) -> dict[str, Any]:
    # Every file that the lock lets in: which one it is depends on the processor.
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{pin.name}@{pin.version}",
        "name": pin.name,
        "version": pin.version,
        "purl": f"pkg:pypi/{pin.name}@{pin.version}",
        "hashes": [{"alg": "SHA-256", "content": one} for one in pin.hashes],
    }


def _folder(root: Path, folder: str, kind: str, version: str) -> dict[str, Any]:
    return {
        "type": kind,
        "bom-ref": folder,
        "name": folder,
        "version": version,
        "hashes": [{"alg": "SHA-256", "content": _digest(root, folder)}],
    }


def _digest(root: Path, folder: str) -> str:
    """Of all files below a folder by their names and contents."""
    found = hashlib.sha256()
    for path in sorted((root / folder).rglob("*")):
        if path.is_file() and not IGNORED & set(path.parts):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            found.update(f"{path.relative_to(root).as_posix()}\0{content}\n".encode())
    return found.hexdigest()


def _images(root: Path) -> Sequence[dict[str, Any]]:
    """What the containers are built on; the host of an image's name is where it is fetched, and no part of it."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted((root / FUNCTIONS).rglob("Dockerfile")):
        text, stages = file.read_text(encoding="utf-8"), set[str]()
        defaults = dict(_ARGUMENT.findall(text))
        for line in text.splitlines():
            base = _FROM.match(Template(line.strip()).safe_substitute(defaults))
            if base and base["image"] not in stages:
                image = _image(base["image"], base["digest"])
                found[image["bom-ref"]] = image
            stages |= {base["stage"]} if base and base["stage"] else set()
    return list(found.values())


def _image(name: str, digest: str | None) -> dict[str, Any]:
    head, _, rest = name.partition("/")
    path = rest if rest and ("." in head or ":" in head) else name
    image, _, tag = path.partition(":")
    hashes = [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}] if digest else []
    return {"type": "container", "bom-ref": path, "name": image, "version": tag or "latest", "hashes": hashes}


def _dependencies(*groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    packages, own, images = ([str(one["bom-ref"]) for one in group] for group in groups)
    applications = [one for one in own if one != CORE]
    found = [{"ref": "cronfleet", "dependsOn": sorted([*own, *images])}]
    found += [{"ref": one, "dependsOn": sorted([CORE, *packages])} for one in applications]
    return [*found, {"ref": CORE, "dependsOn": sorted(packages)}]
