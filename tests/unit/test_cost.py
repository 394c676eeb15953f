"""The calculator of `python -m benchmarks.cost` against counts that were played, sums by hand, and its document."""

import json
import subprocess
import sys

import pytest

from benchmarks.cost import counted, document
from benchmarks.cost.__main__ import BILLS, form, main, text
from benchmarks.cost.bill import ALARMED_METRICS, Bill, Costs, Line
from benchmarks.cost.counted import of_count
from benchmarks.cost.needs import needs
from benchmarks.cost.workload import Workload, WrongWorkload
from benchmarks.metering.chain import metered_chain
from benchmarks.metering.scenarios import ORDINARY, Scenario
from infra.alarms import alarms
from infra.config.installation import from_context
from infra.metrics import Expression

TARGET = Costs(Workload(10_000_000, 100_000))


@pytest.mark.parametrize("number", [2, 17, 130, 260])
def test_what_lies_between_the_counted_herds_costs_what_is_counted_when_it_is_played(number: int) -> None:
    played = of_count(Scenario("", "", ORDINARY.play, number).count(metered_chain())) * number
    reckoned = counted.of_a_tick(number)
    lease = 1  # Which a tick takes whether or not anything is due, and which is counted among the idle ones.
    assert reckoned.writes + lease == pytest.approx(played.writes, rel=0.02)
    assert reckoned.reads == pytest.approx(played.reads, rel=0.05, abs=2)
    assert reckoned.sqs == pytest.approx(played.sqs, rel=0.02)
    assert reckoned.invocations == pytest.approx(played.invocations)


def test_lone_firings_cost_nine_units_and_their_closing_and_a_herd_no_more_than_its_budget() -> None:
    assert counted.of_firings(1e-9, 1_000).writes / 1_000 == pytest.approx(9 + 1 - 1)  # Less the tick's own lease.
    assert 5.0 < TARGET.firing.writes / TARGET.workload.firings <= 5.3


def test_the_sums_of_the_target_by_hand() -> None:
    """100,000 a minute all day: 4.38 billion a month, at 5.08 write units and 2.06 read units each."""
    assert TARGET.workload.firings == 100_000 * 60 * 730
    lines = {line.name: line.dollars for line in TARGET.on_demand.lines}
    assert lines["firings: write units"] == pytest.approx(4_380 * 5.083 * 0.625, rel=0.01)
    assert lines["firings: read units"] == pytest.approx(4_380 * 2.06 * 0.125, rel=0.01)
    assert lines["ticks and sweeps: write units"] == pytest.approx(64 * 43_800 * 12 / 1e6 * 0.625)
    assert lines["run queues"] == pytest.approx(4_380 * 2.1 * 0.5, rel=0.01)
    assert lines["jobs: invocations"] == pytest.approx(4_380 * 0.2)
    assert lines["jobs: time"] == pytest.approx(4_380e6 * 0.1 * 0.0000133334)
    assert TARGET.on_demand.dollars == pytest.approx(sum(lines.values()))
    eventbridge = {line.name: line for line in TARGET.eventbridge.lines}
    assert eventbridge["EventBridge Scheduler"].dollars == pytest.approx(4_380)
    assert eventbridge["EventBridge Scheduler"].after_free_tier == pytest.approx(4_380 - 14)


def test_provisioned_capacity_is_paid_by_the_hour_and_so_costs_a_peak_of_one_hour_a_day_little() -> None:
    flat, peaked = (Costs(Workload(10_000_000, 100_000, hours_a_day=hours)) for hours in (24, 1))
    units = {line.name: line.quantity for line in flat.provisioned.lines}
    per_second = (flat.asked.writes) / (730 * 3_600)
    assert units["write units, while fires are due"] == pytest.approx(per_second / 0.7 * 730)
    assert units["write units, in the other hours"] == 0
    assert peaked.provisioned.dollars < flat.provisioned.dollars / 15
    assert peaked.workload.firings == pytest.approx(flat.workload.firings / 24)


def test_an_installation_in_which_nothing_is_due_costs_its_ticks_and_no_more() -> None:
    idle = Costs(Workload(1, 0, changes_a_day=0, shards=2))
    assert idle.on_demand.per_million(0) is None
    by_name = {line.name: line.dollars for line in idle.on_demand.lines}
    assert by_name["firings: write units"] == by_name["jobs: time"] == by_name["HTTP API"] == 0
    assert by_name["ticks and sweeps: write units"] == pytest.approx(2 * 43_800 * 12 / 1e6 * 0.625)
    assert form(idle)["units_per_firing"]["writes"] == 0
    assert "-" in text(idle)


def test_a_free_tier_is_taken_off_once_and_never_makes_a_line_negative() -> None:
    bill = Bill((Line("a", 3, "million", 0.5, free=1), Line("b", 0.2, "million", 0.5, free=1)))
    assert bill.dollars == pytest.approx(1.6)
    assert bill.after_free_tier == pytest.approx(1.0)


def test_quotas_that_are_too_small_are_named_with_what_is_needed() -> None:
    raised = {one.name: one.needed for one in needs(TARGET).quotas if not one.is_enough}
    assert raised["write units a second of the index due"] == 2 * 64 * 500
    assert "write units a second of the table runs" not in raised
    assert needs(TARGET).shards_at_least == 64
    small = needs(Costs(Workload(100, 20)))
    assert all(one.is_enough for one in small.quotas)
    slow = needs(Costs(Workload(1_000, 10_000, handler_ms=60_000)))
    assert slow.worker_concurrency > 10_000
    assert slow.worker_pollers > 1_000


def test_alarms_are_paid_for_by_the_metrics_that_they_reckon_with() -> None:
    reckoned = sum(
        len(one.metric.metrics) if isinstance(one.metric, Expression) else 1 for one in alarms(from_context({}))
    )
    assert reckoned <= ALARMED_METRICS <= reckoned + 20


def test_shards_are_enough_for_a_minute_in_one_second_and_never_fewer_than_four() -> None:
    for firings in (1, 1_000, 6_400, 6_401, 100_000, 1_000_000):
        found = needs(Costs(Workload(1, firings)))
        assert found.shards_at_least >= 4
        assert firings / (found.shards_at_least * 500) <= 3.2


@pytest.mark.parametrize(
    ("flag", "value"), [("--schedules", "0"), ("--hours-a-day", "25"), ("--shards", "5000"), ("--worker-mb", "64")]
)
def test_a_figure_out_of_bounds_is_refused_by_name(flag: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([flag, value])
    assert stopped.value.code == 2
    assert f"{flag} is {int(value):,}: write a number from" in capsys.readouterr().err
    with pytest.raises(WrongWorkload):
        Workload(0, 1)


def test_the_command_says_it_all_as_json() -> None:
    arguments = ["--schedules", "5000", "--firings-per-minute", "500", "--hours-a-day", "8", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cost", *arguments], capture_output=True, text=True, check=True
    )
    said = json.loads(done.stdout)
    assert said["workload"]["hours_a_day"] == 8
    assert said["firings_a_month"] == round(500 * 60 * 8 * 730 / 24)
    for name in BILLS:
        assert said[name]["dollars_a_month"] == pytest.approx(
            sum(line["quantity"] * line["price"] for line in said[name]["lines"]), rel=1e-3, abs=0.02
        )
    assert said["on_demand"]["dollars_per_million_firings"] == pytest.approx(
        said["on_demand"]["dollars_a_month"] / said["firings_a_month"] * 1e6, rel=1e-3
    )


def test_the_document_says_what_the_calculator_says() -> None:
    present = document.DOCUMENT.read_text()
    assert document.written(present) == present, "run python -m benchmarks.cost --write"
