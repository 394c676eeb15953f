"""What a function is told whose environment is incomplete or wrong."""

import json

import pytest

from cronfleet import settings
from cronfleet.settings import SettingsError, from_environment

QUEUES = {name: f"https://{name}" for name in settings.RUN_QUEUES}
WHOLE = {
    settings.TABLE_PREFIX: "cronfleet",
    settings.SHARDS: "1024",
    settings.RUN_QUEUE_URLS: json.dumps(QUEUES),
    settings.WEBHOOK_ALLOWED_NETWORKS: "10.0.0.0/8, ::1/128",
}


def test_a_whole_environment_is_one_frozen_value() -> None:
    found = from_environment(settings.RUN_QUEUE_URLS, environment=WHOLE)
    assert found.shards == 1024
    assert found.run_queue_urls == QUEUES
    assert found.webhook_allowed_networks == ("10.0.0.0/8", "::1/128")


def test_where_the_log_goes_is_known_where_lambda_says_so() -> None:
    said = {"AWS_REGION": "eu-west-1", "AWS_LAMBDA_LOG_GROUP_NAME": "/g", "AWS_LAMBDA_LOG_STREAM_NAME": "s"}
    found = from_environment(environment={**WHOLE, **said})
    assert (found.log_region, found.log_group, found.log_stream) == ("eu-west-1", "/g", "s")
    assert from_environment(environment=WHOLE).log_group == ""


def test_every_missing_variable_is_named_at_once() -> None:
    with pytest.raises(SettingsError, match=f"set {settings.TABLE_PREFIX}, {settings.TICK_QUEUE_URL} in"):
        from_environment(settings.TICK_QUEUE_URL, environment={})


@pytest.mark.parametrize("shards", ["0", "-1", "many", "1025"])
def test_a_number_of_shards_that_no_tick_can_name_is_refused(shards: str) -> None:
    with pytest.raises(SettingsError, match=f"{settings.SHARDS} is '{shards}': write a whole number from 1 to 1024"):
        from_environment(environment={**WHOLE, settings.SHARDS: shards})


def test_each_tier_must_have_its_queue() -> None:
    one = json.dumps({"standard": "https://one"})
    with pytest.raises(SettingsError, match="one URL for each of standard, priority, backfill"):
        from_environment(environment={**WHOLE, settings.RUN_QUEUE_URLS: one})


def test_an_identity_provider_is_read_with_its_claims() -> None:
    environment = {
        **WHOLE,
        settings.OIDC_ISSUER: "https://id.example.com",
        settings.OIDC_AUDIENCE: "cronfleet",
        settings.OIDC_ALGORITHMS: "ES256",
        settings.OIDC_TENANT_CLAIM: "custom:tenant",
        settings.OIDC_ROLE_CLAIM: "",
    }
    found = from_environment(environment=environment).oidc
    assert found == settings.Oidc(
        "https://id.example.com", "cronfleet", "", ("ES256",), "custom:tenant", settings.DEFAULT_ROLE_CLAIM
    )
    assert from_environment(environment=WHOLE).oidc is None


@pytest.mark.parametrize("algorithms", ["none", "HS256", "RS256,HS256", ","])
def test_no_algorithm_is_taken_for_which_the_installation_would_have_to_hold_a_secret(algorithms: str) -> None:
    environment = {
        **WHOLE,
        settings.OIDC_ISSUER: "https://id.example.com",
        settings.OIDC_AUDIENCE: "cronfleet",
        settings.OIDC_ALGORITHMS: algorithms,
    }
    with pytest.raises(SettingsError, match=settings.OIDC_ALGORITHMS):
        from_environment(environment=environment)


def test_an_identity_provider_without_an_audience_is_not_let_in() -> None:
    with pytest.raises(SettingsError, match=settings.OIDC_AUDIENCE):
        from_environment(environment={**WHOLE, settings.OIDC_ISSUER: "https://id.example.com"})


@pytest.mark.parametrize(("written", "claiming"), [("", "batched"), ("batched", "batched"), ("single", "single")])
def test_claims_go_in_batches_unless_one_by_one_is_chosen(written: str, claiming: str) -> None:
    assert from_environment(environment={**WHOLE, settings.CLAIMS: written}).claiming == claiming


def test_a_way_of_claiming_that_there_is_not_is_refused() -> None:
    with pytest.raises(SettingsError, match="CRONFLEET_CLAIMS is 'both': write batched or single"):
        from_environment(environment={**WHOLE, settings.CLAIMS: "both"})


@pytest.mark.parametrize(("written", "is_on"), [("", False), ("false", False), ("true", True)])
def test_long_workers_are_off_unless_they_are_switched_on(written: str, is_on: bool) -> None:
    assert from_environment(environment={**WHOLE, settings.LONG_WORKERS: written}).has_long_workers is is_on


def test_what_is_neither_on_nor_off_is_refused() -> None:
    with pytest.raises(SettingsError, match="CRONFLEET_LONG_WORKERS is 'yes': write true or false"):
        from_environment(environment={**WHOLE, settings.LONG_WORKERS: "yes"})


def test_without_a_word_about_traces_none_leave_and_every_attempt_has_its_line() -> None:
    found = from_environment(environment=WHOLE)
    assert found.traces is None
    assert (found.lines.success_ratio, found.lines.with_details) == (1.0, False)


def test_where_traces_go_and_which_are_kept_is_read() -> None:
    chosen = {settings.TRACE_RATIO: "0.25", settings.LATE_SECONDS: "5", settings.LOG_SUCCESS_RATIO: "0"}
    environment = {**WHOLE, **chosen, settings.TRACES: "https://collector:4318/v1/traces", settings.LOG_DETAILS: "true"}
    found = from_environment(environment=environment)
    assert found.traces == settings.Traces("https://collector:4318/v1/traces", settings.Keeping(0.25, 5))
    assert found.lines == settings.Lines(0.0, 5, with_details=True)


def test_cloudwatch_is_the_endpoint_of_the_functions_own_region_and_signed_for() -> None:
    environment = {**WHOLE, settings.TRACES: settings.CLOUDWATCH, "AWS_REGION": "eu-central-1"}
    found = from_environment(environment=environment).traces
    assert found is not None
    assert (found.endpoint, found.region) == ("https://xray.eu-central-1.amazonaws.com/v1/traces", "eu-central-1")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (settings.TRACES, "collector:4318"),
        (settings.TRACES, "clodwatch"),
        (settings.TRACE_RATIO, "5"),
        (settings.TRACE_RATIO, "-0.1"),
        (settings.TRACE_RATIO, "nan"),
        (settings.LATE_SECONDS, "soon"),
        (settings.LOG_SUCCESS_RATIO, "1%"),
    ],
)
def test_what_cannot_be_meant_about_traces_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is '{value}': write "):
        from_environment(environment={**WHOLE, settings.TRACES: "https://collector/v1/traces", name: value})


def test_metrics_have_the_installations_name_also_where_its_tables_have_another() -> None:
    assert settings.metrics_namespace({settings.TABLE_PREFIX: "cronfleet-prod"}) == "Cronfleet-prod"
    restored = {settings.TABLE_PREFIX: "cronfleet-prod-r1", settings.METRICS_NAMESPACE: "Cronfleet-prod"}
    assert settings.metrics_namespace(restored) == "Cronfleet-prod"
