"""The alarms and the dashboard as CloudFormation gets them."""

import json

import pytest

from cronfleet.domain.tenant import TIERS
from infra.alarms import ROLLBACK_ALARMS, alarms
from infra.config.context import ConfigError
from infra.config.installation import Config, from_context
from infra.dashboard import Chart, Top, dashboard
from infra.metrics import MOST_IN_AN_ALARM, Expression, Search, metrics_of
from tests.integration.infra.assembly import Assembly, Resource

ALARM = "AWS::CloudWatch::Alarm"


def plain(**chosen: object) -> Config:
    return from_context(chosen)


def named(assembly: Assembly) -> dict[str, Resource]:
    """Properties of each alarm by its name without the prefix."""
    found = [item["Properties"] for item in assembly.of_type(ALARM).values()]
    return {properties["AlarmName"].removeprefix("cronfleet-"): properties for properties in found}


def test_every_alarm_of_the_specification_is_deployed_and_no_other(on_aws: Assembly) -> None:
    assert set(named(on_aws)) == {spec.name for spec in alarms(plain())}


def test_an_alarm_says_where_its_section_of_the_runbook_is(on_aws: Assembly) -> None:
    for name, properties in named(on_aws).items():
        assert properties["AlarmDescription"].endswith(f": see docs/runbook.md, {name}")


def test_the_emulator_gets_every_alarm_but_those_on_expressions_which_it_refuses(on_this_machine: Assembly) -> None:
    expected = {spec.name for spec in alarms(plain()) if not isinstance(spec.metric, Expression)}
    assert set(named(on_this_machine)) == expected
    assert expected


def test_no_alarm_names_more_metrics_than_cloudwatch_takes(on_aws: Assembly) -> None:
    for spec in alarms(plain()):
        assert len(metrics_of(spec.metric)) <= MOST_IN_AN_ALARM, spec.name
    assert all(len(alarm.get("Metrics", ())) <= MOST_IN_AN_ALARM + 1 for alarm in named(on_aws).values())


def test_each_tier_has_an_alarm_by_what_its_own_workers_measure(on_aws: Assembly) -> None:
    for tier in TIERS:
        alarm = named(on_aws)[f"lag-{tier}"]
        assert (alarm["Namespace"], alarm["MetricName"], alarm["ExtendedStatistic"]) == ("Cronfleet", "lag", "p99")
        told = {one["Name"]: one["Value"] for one in alarm["Dimensions"]}
        assert told == {"service": "worker", "tier": tier}


def test_parts_that_are_not_heard_of_have_alarms_which_take_silence_for_the_worst(on_aws: Assembly) -> None:
    for part, metric in (("sweeper", "sweeps"), ("ticker", "ticks_laid"), ("dispatcher", "Invocations")):
        alarm = named(on_aws)[f"{part}-absent"]
        assert (alarm["MetricName"], alarm["Statistic"]) == (metric, "Sum")
        assert (alarm["TreatMissingData"], alarm["ComparisonOperator"]) == ("breaching", "LessThanThreshold")


def test_an_installation_chooses_thresholds_and_whom_alarms_tell_and_cannot_misspell_an_alarm() -> None:
    entry = {"alarms": {"thresholds": {"lag-standard": 5}}}
    chosen = from_context({"environment": "x", "environments": {"x": entry}})
    assert {spec.name: spec.threshold for spec in alarms(chosen)}["lag-standard"] == 5
    wrong = {"environment": "x", "environments": {"x": {"alarms": {"thresholds": {"lag-standart": 5}}}}}
    with pytest.raises(ConfigError, match=r"'alarms\.thresholds\.lag-standart' is no alarm: write one of lag-standard"):
        alarms(from_context(wrong))


def test_two_installations_of_one_account_share_no_metric() -> None:
    other = from_context({"name": "another"})
    mine = {one for spec in alarms(plain()) for one in metrics_of(spec.metric).values()}
    theirs = {one for spec in alarms(other) for one in metrics_of(spec.metric).values()}
    assert not mine & theirs


def test_what_takes_a_deployment_back_is_an_alarm() -> None:
    assert set(ROLLBACK_ALARMS) <= {spec.name for spec in alarms(plain())}


def test_no_tenant_is_a_dimension_and_each_line_of_a_chart_has_a_name_of_its_own() -> None:
    for row in dashboard(plain()):
        for widget in row.widgets:
            if isinstance(widget, Top):
                continue
            lines = widget.lines if isinstance(widget, Chart) else ()
            labels = [line.by if isinstance(line, Search) else line.label for line in lines]
            assert len(set(labels)) == len(labels), widget.title
            assert not {"tenant", "schedule_id"} & {line.by for line in lines if isinstance(line, Search)}


def test_the_dashboard_is_one_body_that_cloudwatch_can_read(on_aws: Assembly) -> None:
    (board,) = on_aws.of_type("AWS::CloudWatch::Dashboard").values()
    joined = board["Properties"]["DashboardBody"]["Fn::Join"][1]
    body = json.loads("".join(part if isinstance(part, str) else "somewhere" for part in joined))
    titles = {widget["properties"].get("title") for widget in body["widgets"]}
    wanted = {widget.title for row in dashboard(plain()) for widget in row.widgets}
    assert wanted <= titles
    assert all(widget["x"] + widget["width"] <= 24 for widget in body["widgets"])
