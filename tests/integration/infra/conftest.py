"""One synthesis of each kind for all tests here: it takes seconds."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

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
    return _run(folder.parent, "infra.app", "-o", str(folder), *arguments)


def _run(home: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=environment_without_aws(home),
        capture_output=True,
        text=True,
        check=False,
    )


UUID: Final = "01234567-89ab-cdef-0123-456789abcdef"

EVERYTHING: Final = {
    "environment": "prod",
    "name": "cronfleet",
    "account": "123456789012",
    "region": "eu-central-1",
    "encryption.key": "own",
    "traces.endpoint": "cloudwatch",
    "traces.ratio": "0.5",
    "traces.late_seconds": "10",
    "logs.success_ratio": "0.1",
    "logs.details": "true",
    "alarms.targets": "arn:aws:sns:eu-central-1:123456789012:on-call",
    "tables.runs.mode": "provisioned",
    "tables.runs.read.maximum": "500",
    "tables.runs.write.minimum": "100",
    "tables.runs.write.maximum": "4000",
    "tables.runs.dead_letters.write.maximum": "300",
    "tables.schedules.warm_write_units": "6000",
    "tables.schedules.due.warm_write_units": "12000",
    "tables.schedules.due.max_write_units": "30000",
    "api.cors.origins": "https://console.example.com",
    "api.domain.name": "origin.example.com",
    "api.domain.certificate": f"arn:aws:acm:eu-central-1:123456789012:certificate/{UUID}",
    "api.domain.hosted_zone": "Z0123456789ABC",
    "api.domain.truststore": "s3://example-certificates/edge.pem",
    "edge.domain.name": "schedules.example.com",
    "edge.domain.certificate": f"arn:aws:acm:us-east-1:123456789012:certificate/{UUID}",
    "edge.domain.hosted_zone": "Z0123456789ABC",
    "edge.client_certificate": f"arn:aws:acm:us-east-1:123456789012:certificate/{UUID}",
    "edge.requests_per_five_minutes": "5000",
    "workers.standard.max_concurrency": "",
    "workers.standard.pollers.minimum": "5",
    "workers.standard.pollers.maximum": "50",
    "email_sender": "alerts@example.com",
    "long_workers.enabled": "true",
    "long_workers.spot": "true",
    "long_workers.jobs_at_once": "2",
}
"""Every option that an installation may take, at once."""

CONTEXTS: Final[dict[str, dict[str, str]]] = {
    # With the name of an installation that has no environment, which the tests know.
    "prod": {"environment": "prod", "name": "cronfleet"},
    "dev": {"environment": "dev"},
    "everything": EVERYTHING,
    "local": {"local": "true"},
}


@pytest.fixture(scope="session")
def assemblies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Assembly]:
    """All installations that are looked at here: a synthesis takes seconds."""
    home = tmp_path_factory.mktemp("synthesised")
    chosen = json.dumps({str(home / name / "cdk.out"): context for name, context in CONTEXTS.items()})
    done = _run(home, "tests.integration.infra.synthesise", chosen)
    assert done.returncode == 0, done.stderr
    assert "[Warning]" not in done.stderr, done.stderr
    return {name: Assembly(home / name / "cdk.out") for name in CONTEXTS}


@pytest.fixture(scope="session")
def on_aws(assemblies: dict[str, Assembly]) -> Assembly:
    """The installation as it goes to AWS: the environment `prod` as it stands in cdk.json."""
    return assemblies["prod"]


@pytest.fixture(scope="session")
def in_dev(assemblies: dict[str, Assembly]) -> Assembly:
    """The environment `dev` as it stands in cdk.json."""
    return assemblies["dev"]


@pytest.fixture(scope="session")
def with_everything(assemblies: dict[str, Assembly]) -> Assembly:
    """`prod` with every option."""
    return assemblies["everything"]


@pytest.fixture(scope="session")
def on_this_machine(assemblies: dict[str, Assembly]) -> Assembly:
    """The installation as it goes to the emulator."""
    return assemblies["local"]
