"""The runbook says of every alarm what to do, and everything that it tells people to type exists."""

import re
import shlex
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from typer.main import get_command

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.sqs import queues
from cronfleet.domain.run import Outcome, RunStatus
from cronfleet.domain.tenant import TIERS
from cronfleet.services.sweep_report import SweepReport
from cronfleet.services.tick_report import TickReport
from cronfleet_cli.main import app
from infra.alarms import CALLS, alarms
from infra.config.installation import from_context
from infra.dashboard import Chart, Figures, Line, dashboard
from infra.metrics import DYNAMODB, LAMBDA, QUEUE_STANDING, SQS, Metric, Names, Search, metrics_of
from tests.support.told import Told, told

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "runbook.md").read_text()
CONFIG = from_context({})
PARTS = ("**Means.**", "**Look first.**", "**Do.**", "**Over when**")

OF_AWS = {
    SQS: {*QUEUE_STANDING, "NumberOfMessagesReceived", "NumberOfEmptyReceives", "NumberOfMessagesDeleted"},
    LAMBDA: {"Invocations", "Errors", "Throttles"},
    DYNAMODB: {"WriteThrottleEvents", "ReadThrottleEvents", "ConsumedWriteCapacityUnits", "ConsumedReadCapacityUnits"},
}
"""What AWS tells (its documentation of each service's metrics)."""

OF_LOGS = {"@timestamp", "@message", "message", "service", "level", "exception", "exception_name"}
"""Fields that Logs Insights, or the logger, gives every line."""

CUSTOM = {("logs", "tail"): {"since", "filter-pattern"}, ("lambda", "invoke"): {"function-name"}}
"""Commands of the AWS CLI that are made of others or take a file, and what the runbook uses of them."""
GLOBAL = {"query", "output"}


@pytest.fixture(scope="module")
def all_told() -> list[Told]:
    return told()


def sections() -> dict[str, str]:
    parts = re.split(r"^## (.+)$", TEXT, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", TEXT, flags=re.DOTALL)


def test_every_alarm_has_a_section_and_every_section_is_an_alarms() -> None:
    names = [spec.name for spec in alarms(CONFIG)]
    assert len(set(names)) == len(names)
    assert set(sections()) == set(names)


@pytest.mark.parametrize("name", sorted(sections()))
def test_a_section_says_what_is_wrong_what_to_look_at_what_to_do_and_when_it_is_over(name: str) -> None:
    places = [sections()[name].find(part) for part in PARTS]
    assert -1 not in places
    assert places == sorted(places)
    first = sections()[name].partition("**Do.**")[0]
    assert "```" in first, "nothing to look at first"


def test_a_section_names_no_other_that_is_not_there() -> None:
    named = set(re.findall(r"[Ss]ee ([a-z]+(?:-[a-z]+)+)", TEXT))
    assert named <= set(sections())


# --- what people type ------------------------------------------------------------------------------------------


def aws_commands() -> list[list[str]]:
    """Every call of the AWS CLI, those inside others included."""
    found = []
    for block in blocks("console"):
        for line in block.splitlines():
            inner = re.findall(r"\$\((aws [^()]*)\)", line)
            outer = re.sub(r"\"?\$\([^()]*\)\"?", "VALUE", line)
            found += [shlex.split(one) for one in (outer, *inner) if one.startswith("aws ")]
    return found


@pytest.mark.parametrize("words", aws_commands(), ids=" ".join)
def test_every_aws_command_is_one_with_these_options(words: list[str]) -> None:
    service, operation = words[1], words[2]
    options = {word.removeprefix("--") for word in words[3:] if word.startswith("--")}
    if (service, operation) in CUSTOM:
        assert options - GLOBAL <= CUSTOM[service, operation]
        return
    model = botocore.session.get_session().get_service_model(service)
    by_name = {xform_name(name, "-"): name for name in model.operation_names}
    assert operation in by_name
    shape = model.operation_model(by_name[operation]).input_shape
    members = {xform_name(name, "-"): name for name in shape.members} if shape else {}
    assert options - GLOBAL <= set(members)
    required = {xform_name(name, "-") for name in shape.required_members} if shape else set()
    assert required <= options


def own_commands() -> list[str]:
    listed = [line for block in blocks("console") for line in block.splitlines() if line.startswith("cronfleet ")]
    return sorted({*listed, *re.findall(r"`(cronfleet [a-z][^`]*)`", TEXT)})


@pytest.mark.parametrize("line", own_commands())
def test_every_command_of_ours_is_one_with_these_arguments(line: str) -> None:
    command: Any = get_command(app)
    words = shlex.split(line)[1:]
    while hasattr(command, "commands"):
        name = words.pop(0)
        assert name in command.commands, f"there is no {name}"
        command = command.commands[name]
    given = {word for word in words if word.startswith("-")}
    assert given <= {option for param in command.params for option in param.opts}
    needed = [param for param in command.params if param.param_type_name == "argument" and param.required]
    flags = {option for param in command.params if getattr(param, "is_flag", False) for option in param.opts}
    values = [word for at, word in enumerate(words) if not word.startswith("--") and not _is_value(words, at, flags)]
    assert len(values) >= len(needed)
    for param in command.params:
        if param.param_type_name == "option" and param.required:
            assert given & {*param.opts}, f"it needs {param.opts[0]}"


def _is_value(words: list[str], at: int, flags: set[str]) -> bool:
    return at > 0 and words[at - 1].startswith("--") and words[at - 1] not in flags


def test_every_query_asks_for_lines_and_fields_that_the_code_writes(all_told: list[Told]) -> None:
    lines = {name for one in all_told if one.kind in {"event", "alarm"} for name in one.names}
    lines |= {"swept", "tick_served", "unhandled"}
    fields = {field for one in all_told for field in one.fields} | OF_LOGS
    fields |= set(SweepReport.__dataclass_fields__) | set(TickReport.__dataclass_fields__)
    for query in blocks("insights"):
        assert set(re.findall(r"message = '(\w+)'", query)) <= lines, query
        for listed in re.findall(r"message in \[(.*?)\]", query):
            assert set(re.findall(r"'(\w+)'", listed)) <= lines, query
        made = set(re.findall(r" as (\w+)", query))
        shown = re.findall(r"^\| fields (.*)$", query, flags=re.MULTILINE) + re.findall(r" by (.*)$", query, flags=re.M)
        used = {name.strip() for listed in shown for name in listed.split(",")}
        assert used <= fields | made, query


# --- what alarms and charts look at ----------------------------------------------------------------------------


def looked_at() -> dict[str, list[Metric | Search]]:
    """Every metric that an alarm or a widget names, by who names it."""
    found: dict[str, list[Metric | Search]] = {
        spec.name: [*metrics_of(spec.metric).values()] for spec in alarms(CONFIG)
    }
    for row in dashboard(CONFIG):
        for widget in row.widgets:
            if not isinstance(widget, Chart | Figures):
                continue
            metrics = found.setdefault(widget.title, [])
            for line in widget.lines:
                metrics += metrics_of(line.metric).values() if isinstance(line, Line) else [line]
    return found


@pytest.mark.parametrize("who", sorted(looked_at()))
def test_what_an_alarm_or_a_widget_looks_at_is_really_told(who: str, all_told: list[Told]) -> None:
    own = Names(CONFIG.prefix).namespace
    for metric in looked_at()[who]:
        if metric.namespace != own:
            assert metric.name in OF_AWS[metric.namespace]
            assert isinstance(metric, Metric)
            _require_there(dict(metric.dimensions))
            continue
        tellers = [one for one in all_told if metric.name in one.names and one.kind != "event"]
        assert tellers, f"nobody tells {metric.name}"
        names = {name for name, _ in metric.dimensions} if isinstance(metric, Metric) else set(metric.dimensions)
        if not names:
            assert {one.kind for one in tellers} == {"alarm"}, "only an alarm has a total"
            continue
        assert any(names <= {"service", *one.fields} for one in tellers), f"nobody tells {metric.name} by {names}"
        if isinstance(metric, Metric):
            _require_known(dict(metric.dimensions))


def _require_there(dimensions: dict[str, str]) -> None:
    bare = {name: value.removeprefix(f"{CONFIG.prefix}-") for name, value in dimensions.items()}
    if "QueueName" in bare:
        assert bare["QueueName"] in {name for one in queues.QUEUES for name in (one.name, one.dead_letter_name)}
    if "TableName" in bare:
        tables = {table.name: {index.name for index in table.indexes} for table in schema.TABLES}
        assert bare["TableName"] in tables
        assert bare.get("GlobalSecondaryIndexName", "") in {"", *tables[bare["TableName"]]}
    if "FunctionName" in bare:
        assert (ROOT / "functions" / bare["FunctionName"].partition("-")[0]).is_dir()


def _require_known(dimensions: dict[str, str]) -> None:
    known = {
        "service": {path.name for path in (ROOT / "functions").iterdir()},
        "tier": set(TIERS),
        "status": {one.value for one in RunStatus},
        "outcome": {*(one.value for one in Outcome), "2xx", "4xx", "5xx"},
    }
    for name, value in dimensions.items():
        assert value in known[name]


def test_whatever_calls_for_a_person_sets_off_an_alarm(all_told: list[Told]) -> None:
    calls = {name for one in all_told if one.kind == "alarm" for name in one.names}
    assert calls == {call for called, _ in CALLS.values() for call in called}


def test_no_tenant_and_no_schedule_is_a_dimension(all_told: list[Told]) -> None:
    for one in all_told:
        if one.kind in {"count", "tally", "measure"}:
            named = {field for field in one.fields if field.endswith(("_id", "_at"))}
            assert not named | (one.fields & {"tenant", "schedule", "run", "actor", "name", "error", "url"}), one.where
