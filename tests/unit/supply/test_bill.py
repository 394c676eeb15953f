"""The bill of materials: all that is deployed, with hashes, the same each time, and no address of a registry."""

import json
import re
import shutil
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from infra.config.platform import LAMBDA_PYTHON
from supply.__main__ import main
from supply.bill import DEPLOYED_ON, bill, functions, written
from supply.locks import ROOT, VENDOR, Pin, pins

DOCUMENT = bill()
COMPONENTS = {one["bom-ref"]: one for one in DOCUMENT["components"]}
ADDRESSES = re.compile(r"[a-z]+://(?!cyclonedx\.org/schema/)|pypi\.org|files\.pythonhosted|index", re.I)


def test_the_bill_is_what_cyclonedx_says_a_bill_is() -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(written(DOCUMENT)) is None


def test_every_package_of_the_vendor_layer_is_on_it_with_its_version_and_hashes() -> None:
    locked = {pin.name: pin for pin in pins(ROOT / VENDOR) if pin.is_needed(DEPLOYED_ON)}
    found = {one["name"]: one for one in COMPONENTS.values() if one["bom-ref"].startswith("pkg:pypi/")}
    assert {name: one["version"] for name, one in found.items()} == {name: pin.version for name, pin in locked.items()}
    for name, one in found.items():
        assert [each["content"] for each in one["hashes"]] == list(locked[name].hashes)
    assert "boto3" in found


def test_every_function_and_the_package_is_on_it_with_a_hash_of_its_own() -> None:
    own = {f"functions/{name}" for name in functions(ROOT)} | {"layers/core/python/cronfleet"}
    assert own <= set(COMPONENTS)
    hashes = [COMPONENTS[name]["hashes"][0]["content"] for name in own]
    assert len(set(hashes)) == len(hashes)


def test_what_only_other_platforms_need_is_not_on_it() -> None:
    pin = Pin("colorama", "1", ("a" * 64,), "sys_platform == 'win32'")
    assert not pin.is_needed(DEPLOYED_ON)
    assert pin.is_needed({**DEPLOYED_ON, "sys_platform": "win32"})
    assert DEPLOYED_ON["python_version"] == LAMBDA_PYTHON


def test_the_bill_names_no_registry_and_no_address() -> None:
    assert not ADDRESSES.search(written(DOCUMENT))


def test_two_bills_of_one_state_are_one_and_a_changed_line_makes_another(tmp_path: Path) -> None:
    assert written(bill()) == written(DOCUMENT)
    for folder in ("functions", "layers"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    assert written(bill(tmp_path)) == written(DOCUMENT)
    with (tmp_path / "functions/ticker/handler.py").open("a") as file:
        file.write("# changed\n")
    changed = bill(tmp_path)
    assert changed["serialNumber"] != DOCUMENT["serialNumber"]
    different = [one["name"] for one in changed["components"] if one != COMPONENTS[one["bom-ref"]]]
    assert different == ["functions/ticker"]


def test_what_a_container_is_built_on_is_on_it_without_the_host_it_comes_from(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "functions", tmp_path / "functions", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "layers", tmp_path / "layers", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    digest = "b" * 64
    base = f"public.example.com/lambda/python:3.14@sha256:{digest}"
    lines = f"ARG BASE={base}\nFROM ${{BASE}} AS build\nFROM ${{BASE}}\nFROM build\n"
    (tmp_path / "functions/worker/Dockerfile").write_text(lines)
    [image] = [one for one in bill(tmp_path)["components"] if one["bom-ref"] == "lambda/python:3.14"]
    assert (image["name"], image["version"]) == ("lambda/python", "3.14")
    assert image["hashes"] == [{"alg": "SHA-256", "content": digest}]


def test_what_the_long_workers_image_is_built_on_is_on_it() -> None:
    containers = [one for one in COMPONENTS.values() if one["type"] == "container"]
    assert [one["name"] for one in containers] == ["python"]
    assert containers[0]["version"].startswith(DEPLOYED_ON["python_version"])


def test_the_command_writes_the_bill_where_it_is_told_to(tmp_path: Path) -> None:
    assert main(["sbom", "-o", str(tmp_path / "bill.json")]) == 0
    assert json.loads((tmp_path / "bill.json").read_text()) == DOCUMENT


def test_a_lock_that_lost_its_hashes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.lock").write_text("six==1.17.0\n")
    with pytest.raises(ValueError, match="six without a hash"):
        pins(tmp_path / "a.lock")
    (tmp_path / "b.lock").write_text("six>=1.17.0 \\\n    --hash=sha256:00\n")
    with pytest.raises(ValueError, match="pins no version"):
        pins(tmp_path / "b.lock")
