"""What goes to Lambda, and that it is built once."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from infra import bundles
from infra.config.platform import LAMBDA_PYTHON

HERE = bundles.Runtime(f"3.{sys.version_info.minor}", None)
ARM = bundles.Runtime(LAMBDA_PYTHON, "aarch64-manylinux_2_28")
X86 = bundles.Runtime(LAMBDA_PYTHON, "x86_64-manylinux_2_28")
UNCHECKED_HASH = 0b01
"""The flags word of a .pyc file whose source is never looked at again (PEP 552)."""


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(bundles, "CACHE", tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def own_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "functions"
    for name in ("dispatcher", "worker"):
        (folder / name).mkdir(parents=True)
        (folder / name / "handler.py").write_text(f"NAME = {name!r}\n")
    monkeypatch.setattr(bundles, "FUNCTIONS", folder)
    return folder


def names(bundle: bundles.Bundle) -> list[str]:
    with zipfile.ZipFile(bundle.path) as archive:
        return archive.namelist()


def test_a_function_carries_its_own_folder_and_no_other(own_cache: Path, own_functions: Path) -> None:
    sources = [name for name in names(bundles.function_code("worker", HERE)) if name.endswith(".py")]
    assert sources == ["worker/handler.py"]


def test_a_change_to_the_worker_leaves_the_dispatcher_as_it_is(own_cache: Path, own_functions: Path) -> None:
    before = {name: bundles.function_code(name, HERE).digest for name in ("dispatcher", "worker")}
    (own_functions / "worker" / "handler.py").write_text("NAME = 'changed'\n")
    after = {name: bundles.function_code(name, HERE).digest for name in ("dispatcher", "worker")}
    assert after["dispatcher"] == before["dispatcher"]
    assert after["worker"] != before["worker"]


def test_what_did_not_change_is_not_built_again(
    own_cache: Path, own_functions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = bundles.function_code("worker", HERE)

    def build_again(*_: object) -> None:
        raise AssertionError("built a second time")

    monkeypatch.setattr(bundles, "_zip", build_again)
    assert bundles.function_code("worker", HERE) == first


def test_byte_code_left_behind_by_a_test_run_changes_nothing(own_cache: Path, own_functions: Path) -> None:
    before = bundles.function_code("worker", HERE)
    (own_functions / "worker" / "__pycache__").mkdir()
    (own_functions / "worker" / "__pycache__" / "handler.cpython-39.pyc").write_bytes(b"stale")
    assert bundles.function_code("worker", HERE) == before


def test_byte_code_is_shipped_and_never_compared_with_its_source(own_cache: Path, own_functions: Path) -> None:
    bundle = bundles.function_code("worker", HERE)
    [compiled] = [name for name in names(bundle) if name.endswith(".pyc")]
    with zipfile.ZipFile(bundle.path) as archive:
        flags = int.from_bytes(archive.read(compiled)[4:8], "little")
    assert flags == UNCHECKED_HASH


def test_two_processors_never_share_a_bundle() -> None:
    arm, x86 = bundles.vendor_layer(ARM), bundles.vendor_layer(X86)
    assert arm.path != x86.path
    assert any("aarch64" in name for name in names(arm))
    assert not any("aarch64" in name for name in names(x86))


def test_the_layer_for_lambda_has_binaries_for_its_python_only() -> None:
    binaries = [name for name in names(bundles.vendor_layer(ARM)) if name.endswith(".so")]
    version = LAMBDA_PYTHON.replace(".", "")
    assert binaries
    assert all(f"cpython-{version}-" in name or ".abi3." in name for name in binaries)


def test_the_layers_of_this_machine_are_all_that_the_package_needs(tmp_path: Path) -> None:
    for layer in (bundles.vendor_layer(HERE), bundles.core_layer(HERE)):
        with zipfile.ZipFile(layer.path) as archive:
            archive.extractall(tmp_path)
    packages = "aws_lambda_powertools, boto3, croniter, icalendar, orjson, pydantic, pynamodb, recurring_ical_events"
    imports = f"import {packages}, standardwebhooks, tzdata, yaml, cronfleet"
    # -I and -S: nothing of this environment helps.
    program = f"import sys; sys.path.insert(0, {str(tmp_path / 'python')!r}); {imports}; print(boto3.__file__)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) in done.stdout


def test_a_function_without_code_is_refused_by_its_path(own_cache: Path, own_functions: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nobody"):
        bundles.function_code("nobody", HERE)
