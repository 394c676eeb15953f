"""What an installation may choose, and what it is told when it chooses wrong."""

import re
from pathlib import Path

import pytest

from cronfleet.adapters.dynamodb import schema
from cronfleet.settings import (
    RUN_QUEUES,
    TABLE_PREFIX,
    Oidc,
    Settings,
    from_environment,
)
from infra.alarms import alarms
from infra.config.context import ConfigError, Context
from infra.config.installation import Config, from_context, read
from infra.config.tables import Capacity, Scaling, Warmth
from infra.config.triggers import Pollers, Trigger
from tests.integration.infra.conftest import ROOT, synthesise


def chosen(environments: object = None, **choices: object) -> Config:
    """The installation of these choices; in their names `__` is a dot."""
    context = {name.replace("__", "."): value for name, value in choices.items()}
    return from_context({**context, "environments": environments or {}})


def test_without_a_choice_it_is_a_production_installation_on_arm() -> None:
    config = chosen()
    assert (config.prefix, config.shards, config.architecture, config.local) == ("cronfleet", 64, "arm64", False)
    assert config.webhook_allowed_networks == ""


def test_two_environments_in_one_account_share_no_name() -> None:
    assert chosen({"staging": {}}, environment="staging").prefix == "cronfleet-staging"
    assert chosen({"staging": {"name": "jobs"}}, environment="staging").prefix == "jobs"


def test_an_environment_says_what_an_installation_is_and_the_command_line_has_the_last_word() -> None:
    entry = {"region": "eu-central-1", "shards": 128, "workers": {"priority": {"max_concurrency": 20}}}
    from_entry = chosen({"prod": entry}, environment="prod")
    assert (from_entry.platform.region, from_entry.shards) == ("eu-central-1", 128)
    assert from_entry.worker_concurrency["priority"] == 20
    changed = chosen({"prod": entry}, environment="prod", shards="8", workers__priority__max_concurrency="30")
    assert (changed.shards, changed.worker_concurrency["priority"]) == (8, 30)


def test_an_environment_that_nobody_wrote_down_is_refused_and_those_that_are_there_are_named() -> None:
    with pytest.raises(ConfigError, match=r"'environment' is 'prdo': write one that cdk.json has .* \(dev, prod\)"):
        chosen({"dev": {}, "prod": {}}, environment="prdo")


def test_a_choice_that_means_nothing_is_refused_wherever_it_stands() -> None:
    with pytest.raises(ConfigError, match=r"'alarms.tresholds.lag' in the environment 'prod' is not known"):
        chosen({"prod": {"alarms": {"tresholds": {"lag": 3}}}}, environment="prod")
    with pytest.raises(ConfigError, match=r"'shard' is not known: write shards"):
        chosen(shard="3")


def test_restored_tables_have_a_prefix_of_their_own_and_nothing_else_is_renamed() -> None:
    config = chosen(tables__prefix="cronfleet-r1")
    assert (config.prefix, config.tables.prefix) == ("cronfleet", "cronfleet-r1")
    names = {name for spec in alarms(config) for name in re.findall(r"cronfleet-[a-z0-9-]+", str(spec))}
    assert "cronfleet-r1-schedules" in names
    assert "cronfleet-schedules" not in names
    assert "cronfleet-ticker" in names
    with pytest.raises(ConfigError, match=r"'tables\.prefix'"):
        chosen(tables__prefix="Restored!")


def test_claims_go_in_batches_unless_one_by_one_is_chosen() -> None:
    assert (chosen().claiming, chosen(claims="single").claiming) == ("batched", "single")
    with pytest.raises(ConfigError, match=r"'claims' is 'both': write batched or single"):
        chosen(claims="both")


def test_every_choice_there_is_stands_in_the_guide() -> None:
    context = Context({})
    read(context)
    guide = (ROOT / "docs" / "deploy.md").read_text()
    written = {_generic(name) for name in re.findall(r"`([a-z_.<>]+)`", guide)}
    missing = {_generic(name) for name in context.asked_for} - written
    assert not missing, f"docs/deploy.md says nothing of {', '.join(sorted(missing))}"


def _generic(name: str) -> str:
    """The name with a word for those of tables and their indexes, and of run queues."""
    for table in schema.TABLES:
        for index in table.indexes:
            name = name.replace(f"tables.{table.name}.{index.name}.", "tables.<table>.")
        name = name.replace(f"tables.{table.name}.", "tables.<table>.")
    for queue in RUN_QUEUES:
        name = name.replace(f"workers.{queue}.", "workers.<queue>.")
    return name


def test_what_the_cdk_itself_writes_into_its_context_is_none_of_our_business() -> None:
    assert from_context({"aws:cdk:enable-asset-metadata": True, "@aws-cdk/core:newStyle": True}).shards == 64


def test_most_runs_at_once_and_provisioned_pollers_exclude_each_other() -> None:
    pollers = {"workers__standard__pollers__minimum": "5", "workers__standard__pollers__maximum": 50}
    config = chosen(**pollers)
    assert config.triggers.workers["standard"] == Trigger(pollers=Pollers(5, 50))
    assert "standard" not in config.worker_concurrency
    assert config.triggers.ticks == Trigger(pollers=Pollers(7, 14))
    assert chosen(ticks__max_concurrency=8).triggers.ticks == Trigger(max_concurrency=8)
    with pytest.raises(ConfigError, match=r"standard.max_concurrency' and .*pollers.*exclude each other"):
        chosen(**pollers, workers__standard__max_concurrency="10")


def test_tables_are_paid_for_on_demand_and_guarded_where_nothing_else_is_chosen() -> None:
    tables = chosen(tables__max_write_units=900, tables__runs__max_write_units=700).tables
    assert tables.capacity["audit"] == Capacity(most_write=900)
    assert tables.capacity["runs"] == tables.capacity["runs.dead_letters"] == Capacity(most_write=700)
    assert (tables.protected, tables.recovery_days) == (True, 35)
    assert (chosen(local="true").tables.protected, chosen(local="true").tables.recovery_days) == (False, 0)


def test_a_provisioned_table_says_its_bounds_and_its_indexes_follow_it_unless_they_say_their_own() -> None:
    entry = {
        "mode": "provisioned",
        "read": {"maximum": 500},
        "write": {"minimum": 100, "maximum": 4000, "target_percent": 60},
        "dead_letters": {"write": {"maximum": 300}, "warm_write_units": 5000},
    }
    capacity = chosen({"prod": {"tables": {"max_write_units": 9, "runs": entry}}}, environment="prod").tables.capacity
    assert capacity["runs"] == Capacity(Scaling(1, 500, 70), Scaling(100, 4000, 60))
    assert capacity["runs.dead_letters"] == Capacity(Scaling(1, 500, 70), Scaling(1, 300, 70), warm=Warmth(None, 5000))


@pytest.mark.parametrize(
    ("choices", "names"),
    [
        ({"tables.runs.mode": "provisioned"}, r"runs.read.maximum' and 'tables.runs.write.maximum'"),
        ({"tables.runs.write.maximum": 5}, r"'tables.runs' has provisioned units.*on demand"),
        ({"tables.schedules.due.write.maximum": 5}, r"'tables.schedules.due' has provisioned units.*on demand"),
        (
            {"tables.schedules.due.warm_write_units": 9000, "tables.max_write_units": 8000},
            r"due.warm_write_units' is 9000",
        ),
        ({"tables.runs.write.minimum": 9, "tables.runs.write.maximum": 5}, r"no less than the minimum"),
        ({"ticks.pollers.minimum": 9, "ticks.pollers.maximum": 5}, r"ticks.pollers.minimum' is 9"),
        ({"ticks.pollers.minimum": 9}, r"write both"),
        ({"tables.runs.read.minimum": 5}, r"runs.read.minimum' without 'tables.runs.read.maximum'"),
        ({"tables.schedules.due.write.target_percent": 50}, r"due.write.target_percent' without"),
    ],
)
def test_capacity_that_makes_no_sense_is_refused_by_every_name_that_is_in_it(
    choices: dict[str, object], names: str
) -> None:
    with pytest.raises(ConfigError, match=names):
        chosen(**choices)


CERTIFICATE = "arn:aws:acm:{}:123456789012:certificate/0123"
OWN_NAME = {"api.domain.name": "origin.example.com", "api.domain.certificate": CERTIFICATE.format("eu-central-1")}
AN_EDGE = {
    "region": "eu-central-1",
    **OWN_NAME,
    "edge.domain.name": "schedules.example.com",
    "edge.domain.certificate": CERTIFICATE.format("us-east-1"),
}


def test_a_name_of_ones_own_takes_the_place_of_the_address_that_api_gateway_gives_unless_both_are_wanted() -> None:
    assert chosen().api.has_default_endpoint
    assert not chosen(**OWN_NAME).api.has_default_endpoint
    assert chosen(**OWN_NAME, **{"api.domain.keep_default_endpoint": "true"}).api.has_default_endpoint


def test_an_edge_has_two_names_and_a_certificate_for_each() -> None:
    config = chosen(**AN_EDGE)
    assert config.edge is not None
    assert (config.edge.domain.name, config.api.domain and config.api.domain.name) == (
        "schedules.example.com",
        "origin.example.com",
    )
    assert (chosen().edge, chosen().api.domain) == (None, None)


@pytest.mark.parametrize(
    ("choices", "names"),
    [
        ({"api.domain.name": "origin.example.com"}, r"api.domain.name' .* 'api.domain.certificate'"),
        ({**OWN_NAME, "region": "us-east-1"}, r"api.domain.certificate'.*in us-east-1"),
        ({"api.domain.keep_default_endpoint": "false"}, r"keep_default_endpoint' is false without"),
        ({**AN_EDGE, "api.domain.keep_default_endpoint": "true"}, r"keep_default_endpoint' is true with 'edge"),
        ({"api.domain.truststore": "s3://bucket/key"}, r"truststore' without 'api.domain.name'"),
        (
            {**AN_EDGE, "api.domain.name": "", "api.domain.certificate": ""},
            r"edge.domain.name' needs 'api.domain.name'",
        ),
        ({**AN_EDGE, "region": ""}, r"and 'region'"),
        (
            {**AN_EDGE, "regions.tables_of": "eu-west-1", "regions.standby": "second"},
            r"edge.domain.name' with 'regions.tables_of'",
        ),
        ({**AN_EDGE, "edge.domain.name": "origin.example.com"}, r"edge.domain.name' is .*another name than"),
        (
            {**AN_EDGE, "edge.domain.certificate": CERTIFICATE.format("eu-central-1")},
            r"edge.domain.certificate'.*us-east-1",
        ),
        (
            {**AN_EDGE, "edge.client_certificate": CERTIFICATE.format("us-east-1")},
            r"client_certificate' and 'api.*go together",
        ),
        ({**AN_EDGE, "api.domain.truststore": "s3://bucket/key"}, r"client_certificate' and 'api.*go together"),
        (
            {"edge.client_certificate": CERTIFICATE.format("us-east-1")},
            r"client_certificate' without 'edge.domain.name'",
        ),
    ],
)
def test_names_and_certificates_that_do_not_go_together_are_refused(choices: dict[str, object], names: str) -> None:
    with pytest.raises(ConfigError, match=names):
        chosen(**choices)


def test_a_threshold_may_be_given_on_the_command_line_alone() -> None:
    assert chosen(**{"alarms.thresholds.lag-standard": "4"}).alarms.thresholds == {"lag-standard": 4.0}
    entry = {"alarms": {"thresholds": {"lag-standard": 5, "lag-priority": 1}}}
    both = chosen({"prod": entry}, environment="prod", **{"alarms.thresholds.lag-standard": "4"})
    assert both.alarms.thresholds == {"lag-standard": 4.0, "lag-priority": 1.0}


def test_alarms_tell_topics_and_may_be_given_other_thresholds() -> None:
    topic = "arn:aws:sns:eu-central-1:123456789012:on-call"
    alarms = chosen({"prod": {"alarms": {"targets": [topic], "thresholds": {"lag-standard": 5}}}}, environment="prod")
    assert (alarms.alarms.targets, alarms.alarms.thresholds) == ((topic,), {"lag-standard": 5.0})


def test_workers_of_each_tier_have_a_limit_but_on_this_machine_where_backfills_have_one() -> None:
    chosen_for = chosen(
        workers__priority__max_concurrency="40", workers__backfill__max_concurrency="20"
    ).worker_concurrency
    assert chosen_for == {"standard": 500, "priority": 40, "backfill": 20}
    assert chosen(local="true").worker_concurrency == {"backfill": 2}


def test_a_choice_wins_over_what_local_brings_with_it() -> None:
    config = chosen(local="true", shards="4", python="3.13", architecture="arm64")
    assert (config.shards, config.python, config.architecture) == (4, "3.13", "arm64")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("local", "yes"),
        ("environment", "Staging!"),
        ("shards", "0"),
        ("shards", "many"),
        ("shards", "1025"),
        ("python", "python3.14"),
        ("architecture", "riscv"),
        ("workers.standard.max_concurrency", "1"),
        ("workers.priority.max_concurrency", "all"),
        ("name", "Jobs"),
        ("tables.recovery_days", "36"),
        ("tables.runs.mode", "reserved"),
        ("tables.schedules.warm_write_units", "3999"),
        ("encryption.key", "alias/mine"),
        ("encryption.key", "own"),
        ("encryption.key", "arn:aws:kms:eu-central-1:123456789012:key/mine"),
        ("encryption.key", "arn:aws:kms:eu-central-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef"),
        ("api.requests_per_second", "0"),
        ("api.cors.origins", "console.example.com"),
        ("api.domain.name", "https://schedules.example.com"),
        ("edge.requests_per_five_minutes", "9"),
        ("logs.retention_days", "31"),
        ("account", "12345"),
        ("region", "frankfurt"),
        ("alarms.targets", "someone@example.com"),
        ("alarms.thresholds.lag-standard", "nan"),
        ("alarms.thresholds.lag-standard", "many"),
        ("workers.standard.pollers.minimum", "1"),
        ("workers.standard.max_concurrency", "１２"),
        ("account", "１２３４５６７８９０１２"),
        ("alarms.thresholds", "lag-standard=4"),
        ("email_sender", "Alerts <alerts@example.com>"),
        ("email_sender", "*"),
        ("webhook_allowed_networks", "10.0.0.0/8,office"),
        ("name", "aws-jobs"),
        ("name", "ssm"),
        ("python", "3.1"),
        ("long_workers.network.cidr", "10.0.0.0"),
        ("long_workers.network.cidr", "10.0.0.1/22"),
        ("long_workers.network.cidr", "10.0.0.0/27"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"context '{name}'"):
        chosen({"Staging!": {}}, **{name: value})


FOREIGN = "arn:aws:{}:us-east-1:123456789012:{}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("encryption.key", FOREIGN.format("kms", "key/01234567-89ab-cdef-0123-456789abcdef")),
        ("alarms.targets", FOREIGN.format("sns", "on-call")),
        ("long_workers.image", "123456789012.dkr.ecr.us-east-1.amazonaws.com/worker:1"),
        ("api.domain.certificate", CERTIFICATE.format("us-east-1")),
    ],
)
def test_what_works_in_one_region_alone_is_refused_from_another(name: str, value: str) -> None:
    choices = {"api.domain.name": "origin.example.com", "region": "eu-central-1", name: value}
    if name != "api.domain.certificate":
        del choices["api.domain.name"]
    with pytest.raises(ConfigError, match=f"context '{name}'.* in eu-central-1"):
        chosen(**choices)


def test_an_alarm_tells_no_more_topics_than_cloudwatch_lets_it_and_each_once() -> None:
    topics = [f"arn:aws:sns:eu-central-1:123456789012:topic-{number}" for number in range(6)]
    assert chosen(alarms__targets=topics[:5] + topics[:2]).alarms.targets == tuple(topics[:5])
    with pytest.raises(ConfigError, match=r"context 'alarms.targets' .*at most 5"):
        chosen(alarms__targets=topics)


def test_a_name_with_a_dot_in_an_entry_is_refused_since_it_would_be_read_by_nobody() -> None:
    with pytest.raises(ConfigError, match=r"'tables.protected' in the environment 'prod' has a dot"):
        chosen({"prod": {"tables.protected": True}}, environment="prod")


ODD: tuple[object, ...] = (-1, 0, 3.7, 10**30, True, [], [None], [{}], {"a": 1}, " ", "-1", "²", "a" * 300, "x\n", "*")


def refusal(name: str, value: object) -> str:
    """What is said of one choice, or nothing where it is taken."""
    try:
        alarms(chosen(**{name: value}))
    except ConfigError as error:
        return str(error)
    return ""


def test_whatever_stands_in_place_of_a_choice_is_taken_or_refused_in_one_line_that_names_one() -> None:
    context = Context({})
    read(context)
    names = sorted(context.asked_for - {"environment", "environments"})
    said = {(name, repr(odd)): refusal(name, odd) for name in names for odd in ODD}
    refused = {which: text for which, text in said.items() if text}
    assert len(refused) > len(names)
    for (name, odd), text in refused.items():
        # Of choices that go together the one that is missing may be named.
        assert f"context '{name.rpartition('.')[0]}" in text or name in text, (name, odd, text)
        assert "\n" not in text, (name, odd)


def test_without_an_identity_provider_the_authorizer_is_told_of_none() -> None:
    assert set(chosen().oidc.values()) == {""}


def test_an_identity_provider_needs_an_issuer_and_an_audience_and_the_rest_has_defaults() -> None:
    config = chosen(oidc__issuer="https://id.example.com/", oidc__audience="cronfleet")
    read = from_environment(environment={TABLE_PREFIX: "cronfleet", **config.oidc})
    assert read.oidc == Oidc("https://id.example.com/", "cronfleet")


@pytest.mark.parametrize(
    "context",
    [
        {"oidc.issuer": "https://id.example.com/"},
        {"oidc.audience": "cronfleet"},
        {"oidc.issuer": "http://id.example.com/", "oidc.audience": "cronfleet"},
        {"oidc.issuer": "https://id.example.com/", "oidc.audience": "c", "oidc.jwks_url": "http://id.example.com/k"},
        {"oidc.issuer": "https://id.example.com/", "oidc.audience": "c", "oidc.algorithms": "RS256,HS256"},
        {"oidc.issuer": "https://id.example.com/", "oidc.audience": "c", "oidc.algorithms": "none"},
    ],
)
def test_an_identity_provider_that_cannot_be_trusted_is_refused(context: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="oidc"):
        chosen(**context)


def test_a_wrong_value_on_the_command_line_is_one_line_and_no_traceback(tmp_path: Path) -> None:
    done = synthesise(tmp_path / "cdk.out", "-c", "shards=none")
    assert done.returncode != 0
    assert "context 'shards' is 'none'" in done.stderr
    assert "Traceback" not in done.stderr


def read_by_a_worker(config: Config) -> Settings:
    told = config.traces.environment("worker")
    return from_environment(environment={TABLE_PREFIX: "cronfleet", "AWS_REGION": "eu-west-1", **told})


def test_where_spans_go_is_off_until_it_is_chosen() -> None:
    assert (
        from_environment(environment={TABLE_PREFIX: "cronfleet", **chosen().traces.environment("worker")}).traces
        is None
    )
    traces = chosen(traces__endpoint="cloudwatch", traces__ratio="0.2", logs__success_ratio="0.01").traces
    assert traces.goes_to_cloudwatch
    found = from_environment(
        environment={TABLE_PREFIX: "cronfleet", "AWS_REGION": "eu-west-1", **traces.environment("worker")}
    )
    assert found.traces is not None
    assert (found.traces.region, found.traces.keeping.ratio, found.lines.success_ratio) == ("eu-west-1", 0.2, 0.01)


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("traces.endpoint", "http://collector:4318/v1/traces", "cloudwatch, or an https URL"),
        ("traces.endpoint", "collector", "cloudwatch, or an https URL"),
        ("traces.ratio", "5", "a number from 0 to 1"),
        ("logs.success_ratio", "1%", "a number from 0 to 1"),
        ("traces.late_seconds", "-1", "a whole number"),
        ("logs.details", "yes", "true or false"),
    ],
)
def test_a_wrong_choice_about_traces_is_refused_with_what_to_write(name: str, value: str, instead: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}.*write {instead}"):
        from_context({name: value, "environments": {}})
