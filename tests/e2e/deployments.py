"""What a test of deployments needs: a checkout to change, the command that deploys it, and a look at what is left."""

import json
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from cronfleet.domain.shard import shard_of
from infra.alarms import alarms
from infra.config.installation import from_context
from infra.metrics import Expression
from local import deployment
from local.aws import Aws
from local.emulator import Emulator
from local.folder import Folder
from local.options import ROOT
from local.process import remembered
from local.testing import StackProcess

COPIED = ("infra", "functions", "layers", "local", "requirements")
LINKED = (".cache", ".local", "infra/node_modules")
BEAT = 'context.logger.info("beat"'
SECOND_BEAT = "beat of the second version"
SHARDS = 4
BELL = "cronfleet-local-bell"


def copy_checkout(folder: Path) -> Path:
    """A checkout of one's own, in which something can be changed."""
    ignored = shutil.ignore_patterns("__pycache__", "node_modules")
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copy(ROOT / "cdk.json", folder)
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    return folder


def change(checkout: Path) -> None:
    """The code of a function, and a setting."""
    job = checkout / "functions" / "worker" / "handlers" / "demo.py"
    text = job.read_text()
    assert BEAT in text
    job.write_text(text.replace(BEAT, f'context.logger.info("{SECOND_BEAT}"'))
    settings = json.loads((checkout / "cdk.json").read_text())
    settings["context"]["shards"] = SHARDS
    (checkout / "cdk.json").write_text(json.dumps(settings))


def id_in_a_new_shard() -> str:
    return next(one for one in map("new-{}".format, range(99)) if shard_of("demo", one, SHARDS) >= 2)


def update(running: StackProcess) -> str:
    """Deploy the stack's checkout onto it, and answer what the command said."""
    command = [sys.executable, "-m", "local.update", "--state-dir", str(running.state)]
    done = subprocess.run(command, cwd=running.root, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def assert_each_second_once(rows: list[dict[str, Any]]) -> None:
    """From the first to the last each second has a run, and none was tried twice."""
    seconds = sorted(int(datetime.fromisoformat(row["nominal_at"]).timestamp()) for row in rows)
    assert seconds == list(range(seconds[0], seconds[-1] + 1))
    assert all(len(row["attempts"]) <= 1 for row in rows)


def left_after_destroying(running: StackProcess) -> list[str]:
    """What is there of the installation when all its stacks are destroyed: on the emulator nothing is retained."""
    folder = Folder(running.state)
    process = remembered(folder.emulator_record)
    assert process is not None
    emulator = Emulator(process, int(folder.emulator_port.read_text()))
    aws = Aws(emulator.endpoint)
    deployment.destroy(emulator, folder)
    found = {name for list_names in deployment.THERE.values() for name in list_names(aws)}
    for service, operation, field, name in (
        ("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
        ("cloudformation", "describe_stacks", "Stacks", "StackName"),
        ("iam", "list_roles", "Roles", "RoleName"),
    ):
        found |= {one[name] for one in aws.all(service, operation, field)}
    return sorted(name for name in found - _not_deployed() if "cronfleet" in name and not name.endswith(BELL))


def _not_deployed() -> set[str]:
    """Alarms that the local stack makes by itself: the emulator's CloudFormation knows no metric math."""
    specs = alarms(from_context({}))
    return {f"cronfleet-{spec.name}" for spec in specs if isinstance(spec.metric, Expression)}
