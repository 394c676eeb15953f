"""The simulator: promises hold in its worlds, the same seed tells the same story, and its checkers can fail."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cronfleet.domain import zone_change
from cronfleet.domain.deletion import Deletion
from cronfleet.services.tenant_life import TenantLife
from simulator import faults, planted
from simulator.simulation import ALWAYS, simulate

ROOT = Path(__file__).parents[2]
WITHIN_SEEDS = 24
"""Each planted fault is caught by one of so many seeds."""


def run(*arguments: str, hash_seed: str = "0") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{ROOT}:{ROOT / 'layers/core/python'}"}
    return subprocess.run(
        [sys.executable, "-m", "simulator", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("seed", range(9_000, 9_006))
def test_every_promise_holds_in_a_stormy_world(seed: int) -> None:
    report = simulate(seed, hours=0.3, schedules=12)
    assert report.violation is None
    assert report.fires > 100


def test_without_faults_nothing_is_missed_and_little_is_late() -> None:
    report = simulate(1, hours=0.3, schedules=12, allowed=())
    assert report.violation is None
    assert not report.faults
    assert report.rows["missed"] == 0
    assert report.lags[len(report.lags) // 2] < 2_000


@pytest.mark.parametrize("kind", faults.KINDS)
def test_every_kind_of_fault_really_happens(kind: str) -> None:
    """A kind that never strikes would prove nothing: some seed of a few must have it, and hold."""
    for seed in range(40):
        report = simulate(seed, hours=0.2, schedules=6, allowed=(kind,))
        assert report.violation is None
        # These two are always there where they are on; the others are counted as they strike.
        if kind in report.kinds if kind in ("index_lag", "clock_skew") else report.faults[kind] > 0:
            return
    pytest.fail(f"{kind} did not strike in forty seeds")


def test_the_same_seed_gives_the_same_history_to_the_bit_in_another_process() -> None:
    """Under another order of hashes, too: no set's order reaches the history."""
    histories = [
        re.search(r"history (\w+)", run("--seed", "7", "--hours", "0.2", hash_seed=hash_seed).stdout)
        for hash_seed in ("1", "2")
    ]
    assert all(histories)
    assert histories[0].group(1) == histories[1].group(1)


def test_every_fault_can_still_be_planted_in_the_product_as_it_is() -> None:
    """Told in a moment, and not only when the turn of the fault comes in the slow test below."""
    edits = [(fault.name, edit) for fault in planted.FAULTS for edit in fault.edits]
    sources = {edit.module: source_of(edit.module) for _, edit in edits}
    assert [name for name, edit in edits if sources[edit.module].count(edit.before) != 1] == []


def source_of(module: str) -> str:
    return (ROOT / "layers/core/python" / f"{module.replace('.', '/')}.py").read_text()


@pytest.mark.parametrize("name", sorted(planted.BY_NAME))
def test_a_planted_fault_is_caught(name: str) -> None:
    done = run("--planted", name, "--seeds", str(WITHIN_SEEDS))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{name}: caught by seed" in done.stdout


def test_faults_ask_for_worlds_that_there_are() -> None:
    assert {one for fault in planted.FAULTS for one in fault.always} == ALWAYS


@pytest.mark.parametrize("seed", [0, 12])
def test_every_promise_holds_where_clocks_are_set_while_jobs_work(seed: int) -> None:
    """Also with the rest that a fault may ask for: it is caught by what it does, and not by the world it is in."""
    report = simulate(seed, hours=0.5, schedules=20, always=ALWAYS)
    assert report.violation is None
    assert report.faults["clock_step"] > 0


def test_wrong_use_is_told_apart_from_a_broken_promise() -> None:
    done = run("--faults", "gremlins")
    assert done.returncode == 2
    assert "gremlins" in done.stderr


@pytest.mark.parametrize("seed", [0, 1])
def test_every_local_time_runs_once_when_the_zone_data_changes_in_mid_run(seed: int) -> None:
    report = simulate(seed, hours=1.2, schedules=1, zone_release=True)
    assert report.violation is None


def test_a_retiming_that_would_go_on_from_now_as_an_edit_does_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zone_change, "_pending", lambda _timer, trigger, _last_at, now: trigger.next_after(now))
    report = simulate(0, hours=1.5, schedules=1, allowed=(), zone_release=True)
    assert report.violation is not None
    assert report.violation.promise == "a local time did not run"


@pytest.mark.parametrize("seed", [4, 12])
def test_of_a_tenant_that_is_deleted_in_mid_run_nothing_starts_and_nothing_stays(seed: int) -> None:
    report = simulate(seed, hours=0.3, schedules=4, deletion=True)
    assert report.violation is None
    assert report.requests["delete_tenant accepted"] >= 1


@pytest.mark.parametrize(
    ("where", "name", "fault", "promise"),
    [
        (TenantLife, "_frozen", lambda *_: (), "something of a deleted tenant started"),
        (Deletion, "counted", lambda job: replace(job, pending=()), "a certificate counts wrong"),
    ],
)
def test_a_deletion_with_a_fault_in_it_is_caught(
    monkeypatch: pytest.MonkeyPatch, where: type, name: str, fault: Any, promise: str
) -> None:
    monkeypatch.setattr(where, name, fault)
    found = (simulate(seed, hours=0.3, schedules=4, deletion=True).violation for seed in range(WITHIN_SEEDS))
    caught = next((violation for violation in found if violation is not None), None)
    assert caught is not None
    assert caught.promise == promise


@pytest.mark.parametrize("seed", [0, 5])
def test_schedules_that_run_after_one_another_come_together_in_a_storm(seed: int) -> None:
    report = simulate(seed, hours=0.3, schedules=3, families=True)
    assert report.violation is None
    assert report.reasons["parents"] > 0
