"""Deployed, changed, deployed again while schedules fire, destroyed: what a life of an installation is made of."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from cronfleet.domain.shard import shard_of
from local import deployment
from local.aws import Aws
from local.emulator import Emulator
from local.folder import Folder
from local.options import ROOT
from local.process import remembered
from local.testing import StackProcess
from tests.e2e.conftest import Caller

pytestmark = pytest.mark.e2e

COPIED = ("infra", "functions", "layers", "local", "requirements")
LINKED = (".cache", ".local", "infra/node_modules")
BEAT = 'context.logger.info("beat"'
OF_LOCAL_ITSELF = ("cronfleet-local-bell",)
SLOW_SECONDS = 12


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of one's own, in which something can be changed."""
    folder = tmp_path / "checkout"
    ignored = shutil.ignore_patterns("__pycache__", "node_modules")
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copy(ROOT / "cdk.json", folder)
    for name in LINKED:
        (ROOT / name).mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture
def running(checkout: Path, tmp_path: Path) -> Iterator[StackProcess]:
    """A stack that was deployed from it."""
    stack = StackProcess(tmp_path / "state", ("--port", "0", "--no-demo"), checkout).start()
    try:
        yield stack.wait_until_ready()
    finally:
        stack.stop()


def test_an_installation_is_deployed_changed_under_way_and_destroyed(running: StackProcess, checkout: Path) -> None:
    """Nothing is lost or done twice by a deployment, no run is cut short, and at the end nothing is left."""
    api = Caller(running)
    api.put("through", trigger={"every": "1s"}, target={"handler": "demo.heartbeat"})
    api.put("slow", trigger={"every": "1h"}, target={"handler": "demo.slow"}, payload={"seconds": SLOW_SECONDS})
    begun = api.ask("POST", "/v1/schedules/slow/run").body
    api.wait_for_runs("slow", lambda rows: rows[0]["status"] == "running")
    _change(checkout)
    said = _update(running, checkout)
    assert "cronfleet-worker-standard: version 1 → 2" in said
    assert "cronfleet-api: version 1 → 2" in said, "a setting is part of a version"
    api.put(_id_in_a_new_shard(), trigger={"every": "1s"}, target={"handler": "demo.heartbeat"})
    # New ticks are laid once a minute; the sweeper's minute is about the same.
    api.wait_for_runs(_id_in_a_new_shard(), lambda rows: any(row["status"] == "succeeded" for row in rows))
    api.ask("POST", "/v1/schedules/through/pause", {"reason": "to count"})
    rows = api.wait_for_runs("through", lambda rows: all(row["status"] in {"succeeded", "paused"} for row in rows))
    _assert_each_second_once(rows)
    newest = next(row for row in rows if row["status"] == "succeeded")
    assert "beat of the second version" in str(api.ask("GET", f"/v1/runs/{newest['run_id']}/log").body)
    (slow,) = api.wait_for_runs("slow", lambda rows: rows[0]["status"] != "running")
    assert (slow["run_id"], slow["status"], len(slow["attempts"])) == (begun["run_id"], "succeeded", 1)
    assert "Nothing has changed" in _update(running, checkout)
    assert _left_after_destroying(running) == []


def _change(checkout: Path) -> None:
    """The code of a function, and a setting."""
    job = checkout / "functions" / "worker" / "handlers" / "demo.py"
    text = job.read_text()
    assert BEAT in text
    job.write_text(text.replace(BEAT, 'context.logger.info("beat of the second version"'))
    settings = json.loads((checkout / "cdk.json").read_text())
    settings["context"]["shards"] = 4
    (checkout / "cdk.json").write_text(json.dumps(settings))


def _id_in_a_new_shard() -> str:
    return next(one for one in map("new-{}".format, range(99)) if shard_of("demo", one, 4) >= 2)


def _update(running: StackProcess, checkout: Path) -> str:
    command = [sys.executable, "-m", "local.update", "--state-dir", str(running.state)]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _assert_each_second_once(rows: list[dict[str, Any]]) -> None:
    seconds = sorted(int(datetime.fromisoformat(row["nominal_at"]).timestamp()) for row in rows)
    assert seconds == list(range(seconds[0], seconds[-1] + 1))
    assert all(len(row["attempts"]) <= 1 for row in rows)


def _left_after_destroying(running: StackProcess) -> list[str]:
    """What is there of the installation when all its stacks are destroyed: on the emulator nothing is retained."""
    folder = Folder(running.state)
    process = remembered(folder.emulator_record)
    assert process is not None
    emulator = Emulator(process, int(folder.emulator_port.read_text()))
    aws = Aws(emulator.endpoint)
    note = deployment.noted(aws)
    assert note is not None
    deployment.destroy(emulator, folder)
    left = [name for kind, list_names in deployment.THERE.items() for name in list_names(aws)]
    stacks = [one["StackName"] for one in aws.all("cloudformation", "describe_stacks", "Stacks")]
    alarms = [one["AlarmName"] for one in aws.all("cloudwatch", "describe_alarms", "MetricAlarms")]
    groups = [one["logGroupName"] for one in aws.all("logs", "describe_log_groups", "logGroups")]
    roles = [one["RoleName"] for one in aws.all("iam", "list_roles", "Roles")]
    found = {*left, *(set(stacks) & set(note.stacks)), *alarms, *groups, *roles}
    ours = [name for name in found if "cronfleet" in name]
    return sorted(name for name in ours if not name.endswith(OF_LOCAL_ITSELF))
