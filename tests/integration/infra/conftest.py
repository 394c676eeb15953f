"""One synthesis of each kind for all tests here: it takes seconds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.infra.assembly import Assembly

ROOT = Path(__file__).resolve().parents[3]


def environment_without_aws(home: Path) -> dict[str, str]:
    """This process's environment less everything of AWS and less every program on the PATH: no Docker, no cdk."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_", "JSII_"))}
    nowhere = str(home / "nothing-here")
    return kept | {"AWS_CONFIG_FILE": nowhere, "AWS_SHARED_CREDENTIALS_FILE": nowhere, "PATH": nowhere}


def synthesise(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m infra.app` as a newcomer would, with no AWS account at hand."""
    return subprocess.run(
        [sys.executable, "-m", "infra.app", "-o", str(folder), *arguments],
        cwd=ROOT,
        env=environment_without_aws(folder.parent),
        capture_output=True,
        text=True,
        check=False,
    )


def _assembly(folder: Path, *arguments: str) -> Assembly:
    done = synthesise(folder, *arguments)
    assert done.returncode == 0, done.stderr
    assert "[Warning]" not in done.stderr, done.stderr
    return Assembly(folder)


@pytest.fixture(scope="session")
def on_aws(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The installation as it goes to AWS."""
    return _assembly(tmp_path_factory.mktemp("aws") / "cdk.out")


@pytest.fixture(scope="session")
def on_this_machine(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The installation as it goes to the emulator."""
    return _assembly(tmp_path_factory.mktemp("local") / "cdk.out", "-c", "local=true")
