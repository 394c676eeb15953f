"""The page's rows, the metrics in Prometheus' form, and the paths they are at."""

import json
import subprocess
import sys
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cronfleet.adapters.cloudwatch.telemetry import CloudWatchTelemetry
from infra.alarms import alarms
from infra.config.installation import from_context
from infra.dashboard import dashboard
from local.dashboard.judge import Bench
from local.dashboard.recorder import Recorder
from local.dashboard.server import FILES, PAGE, Sight, section
from local.dashboard.view import STEPS, View
from local.traces.store import Store
from tests.support.settable_clock import NOON, SettableClock

CONFIG = from_context({"local": "true"})
NOW = NOON / 1_000 + 60


class Deaf:
    """An AWS that nobody needs an answer of."""

    def client(self, service: str) -> Any:
        return self

    def put_metric_alarm(self, **_: Any) -> None: ...

    def set_alarm_state(self, **_: Any) -> None: ...


@pytest.fixture
def recorder(capsys: pytest.CaptureFixture[str]) -> Recorder:
    """What a worker told, as its own adapter writes it."""
    telemetry = CloudWatchTelemetry("worker", "Cronfleet", SettableClock(NOON))
    for lag in (0.2, 0.7, 40.0):
        telemetry.measure("lag", lag, tier="standard", shard="1")
    telemetry.count("runs_ended", tier="standard", status="succeeded")
    telemetry.count("runs_ended", tier="standard", status="dead")
    telemetry.count("fires_skipped", 2, reason='say "no"\n')
    telemetry.alarm("definition_gone", run_id="r")
    CloudWatchTelemetry("sweeper", "Cronfleet", SettableClock(NOON)).measure("overdue", 3.5)
    taken = Recorder()
    for line in capsys.readouterr().out.splitlines():
        taken.take(json.loads(line))
    return taken


def sight(recorder: Recorder) -> Sight:
    bench = Bench(alarms(CONFIG), CONFIG.prefix, recorder.series, Deaf(), NOW - 10_000)  # type: ignore[arg-type]  # see Deaf
    bench.judge(NOW)
    return Sight(recorder, View(dashboard(CONFIG), recorder, bench, NOW - 10_000), Store(Path("/nonexistent/traces")))


def test_the_metrics_are_prometheus_text_with_each_value_once(recorder: Recorder) -> None:
    families = {one.name: one for one in text_string_to_metric_families(recorder.totals.text().decode())}
    lag = families["cronfleet_lag_seconds"]
    assert lag.type == "histogram"
    labels = {"service": "worker", "tier": "standard", "shard": "1"}
    values = {(one.name, one.labels.get("le")): one.value for one in lag.samples}
    assert all(labels.items() <= one.labels.items() for one in lag.samples)
    assert values["cronfleet_lag_seconds_bucket", "1.0"] == 2, "what is promised is a bound"
    assert values["cronfleet_lag_seconds_bucket", "+Inf"] == values["cronfleet_lag_seconds_count", None] == 3
    assert values["cronfleet_lag_seconds_sum", None] == pytest.approx(40.9)
    assert families["cronfleet_overdue"].type == "gauge"
    (skipped,) = [one for one in families["cronfleet_fires_skipped"].samples if one.name.endswith("_total")]
    assert (skipped.labels["reason"], skipped.value) == ('say "no"\n', 2)
    (gone,) = [one for one in families["cronfleet_definition_gone"].samples if one.name.endswith("_total")]
    assert (gone.labels, gone.value) == ({"service": "worker"}, 1), "not the total and the part's, which would be two"


def test_a_metric_without_any_value_yet_makes_an_empty_answer() -> None:
    assert Recorder().totals.text() == b""


@pytest.mark.parametrize("window", sorted(STEPS))
def test_the_page_gets_every_row_with_a_value_for_each_of_its_times(recorder: Recorder, window: int) -> None:
    made = View(dashboard(CONFIG), recorder, Bench([], "", recorder.series, Deaf(), 0), NOW - 10_000).at(NOW, window)  # type: ignore[arg-type]  # see Deaf
    assert [row["title"] for row in made["rows"]] == [row.title for row in dashboard(CONFIG)]
    charts = [widget for row in made["rows"] for widget in row["widgets"] if widget["kind"] == "chart"]
    assert all(len(line["values"]) == len(made["times"]) for chart in charts for line in chart["lines"])
    by_title = {chart["title"]: {line["label"]: line["values"][-1] for line in chart["lines"]} for chart in charts}
    assert by_title["Lag of the tier standard"]["longest"] == 40.0
    assert by_title["Lag of each shard, p99"].keys() == {"1"}
    assert by_title["Runs that ended, by status"] == {"dead": 1.0, "succeeded": 1.0}
    assert {chart["title"] for chart in charts if chart["only_on_aws"]} >= {"Throttled writes, by table and index"}


def test_the_tables_of_tenants_come_from_the_workers_lines_and_weigh_what_is_logged_by_sample(
    recorder: Recorder,
) -> None:
    for tenant, outcome, weight in (("acme", "succeeded", 10), ("rival", "failed", None), ("acme", "timed_out", None)):
        line = {"message": "attempt_finished", "tenant": tenant, "outcome": outcome, "lag_seconds": 0.5}
        recorder.take(line | ({"weight": weight} if weight else {}))
    tops = {widget.title: widget for row in dashboard(CONFIG) for widget in row.widgets}
    now = NOW * 10
    assert recorder.top(tops["Most attempts"], now, now) == [("acme", 11.0), ("rival", 1.0)]  # type: ignore[arg-type]  # a Top
    assert recorder.top(tops["Most failures"], now, now) == [("rival", 1.0), ("acme", 1.0)]  # type: ignore[arg-type]  # a Top
    assert recorder.top(tops["Longest lag in all"], now, now) == [("acme", 5.5), ("rival", 0.5)]  # type: ignore[arg-type]  # a Top


def test_the_alarms_stand_first_that_have_gone_off(recorder: Recorder) -> None:
    status, kind, content = sight(recorder).content("/dashboard/data?window=900")
    assert (status, kind) == (HTTPStatus.OK, "application/json")
    shown = json.loads(content)["alarms"]
    loud = [one["name"] for one in shown if one["state"] == "ALARM"]
    assert "items-damaged" in loud
    assert [one["name"] for one in shown][: len(loud)] == loud
    assert all(one["reason"] for one in shown)


@pytest.mark.parametrize("path", [path for path in FILES if "uplot" not in path])
def test_the_page_is_made_of_files_of_its_own_and_asks_for_nothing_elsewhere(recorder: Recorder, path: str) -> None:
    status, _, content = sight(recorder).content(path)
    assert status is HTTPStatus.OK
    assert b"://" not in content


@pytest.mark.parametrize("script", sorted(path.name for path in PAGE.glob("*.js")))
def test_a_script_of_the_page_can_be_read(script: str, tmp_path: Path) -> None:
    module = tmp_path / "script.mjs"
    module.write_text((PAGE / script).read_text())
    node = Path(sys.executable).parent / "node"
    done = subprocess.run([node, "--check", module], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_section_of_the_runbook_is_shown_as_it_is_written_and_nothing_of_the_address_is() -> None:
    assert b"<pre>**Means.**" in section("books-full")
    assert b"<script>" not in section("<script>alert(1)</script>")


def test_what_is_not_there_says_where_things_are(recorder: Recorder) -> None:
    status, _, content = sight(recorder).content("/dashboard/../../etc/passwd")
    assert status is HTTPStatus.NOT_FOUND
    assert b"/dashboard" in content
