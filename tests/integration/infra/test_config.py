"""What an installation may choose, and what it is told when it chooses wrong."""

from pathlib import Path

import pytest

from cronfleet.settings import TABLE_PREFIX, Oidc, from_environment
from infra.config import Config, ConfigError, from_context
from tests.integration.infra.conftest import synthesise


def chosen(**context: str) -> Config:
    return from_context(context.get)


def test_without_a_choice_it_is_a_production_installation_on_arm() -> None:
    config = chosen()
    assert (config.prefix, config.shards, config.architecture, config.local) == ("cronfleet", 64, "arm64", False)
    assert config.webhook_allowed_networks == ""


def test_two_environments_in_one_account_share_no_name() -> None:
    assert chosen(environment="staging").prefix == "cronfleet-staging"


def test_workers_of_each_tier_have_a_limit_but_on_this_machine_where_backfills_have_one() -> None:
    chosen_for = chosen(priority_concurrency="40", backfill_concurrency="20").worker_concurrency
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
        ("standard_concurrency", "1"),
        ("priority_concurrency", "all"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"context '{name}'"):
        chosen(**{name: value})


def test_without_an_identity_provider_the_authorizer_is_told_of_none() -> None:
    assert set(chosen().oidc.values()) == {""}


def test_an_identity_provider_needs_an_issuer_and_an_audience_and_the_rest_has_defaults() -> None:
    config = chosen(oidc_issuer="https://id.example.com/", oidc_audience="cronfleet")
    read = from_environment(environment={TABLE_PREFIX: "cronfleet", **config.oidc})
    assert read.oidc == Oidc("https://id.example.com/", "cronfleet")


@pytest.mark.parametrize(
    "context",
    [
        {"oidc_issuer": "https://id.example.com/"},
        {"oidc_audience": "cronfleet"},
        {"oidc_issuer": "http://id.example.com/", "oidc_audience": "cronfleet"},
        {"oidc_issuer": "https://id.example.com/", "oidc_audience": "c", "oidc_jwks_url": "http://id.example.com/k"},
        {"oidc_issuer": "https://id.example.com/", "oidc_audience": "c", "oidc_algorithms": "RS256,HS256"},
        {"oidc_issuer": "https://id.example.com/", "oidc_audience": "c", "oidc_algorithms": "none"},
    ],
)
def test_an_identity_provider_that_cannot_be_trusted_is_refused(context: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="oidc_"):
        chosen(**context)


def test_a_wrong_value_on_the_command_line_is_one_line_and_no_traceback(tmp_path: Path) -> None:
    done = synthesise(tmp_path / "cdk.out", "-c", "shards=none")
    assert done.returncode != 0
    assert "context 'shards' is 'none'" in done.stderr
    assert "Traceback" not in done.stderr
