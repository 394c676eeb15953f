"""The secret between edge and API: read once a minute, both values while it is changed, kept while nobody answers."""

from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from cronfleet.adapters.edge.secret import SecretsManagerEdgeSecret
from cronfleet.domain.instant import DAY, MINUTE
from cronfleet.ports.job_store import NoAnswer
from tests.support.settable_clock import SettableClock


class Vault:
    """Secrets Manager with one secret."""

    def __init__(self) -> None:
        self.reads = 0
        self.values = {"AWSCURRENT": "first"}
        self.error: Exception | None = None

    def get_secret_value(self, *, SecretId: str, VersionStage: str) -> dict[str, Any]:  # noqa: N803 - the client's names
        self.reads += 1
        if self.error is not None:
            raise self.error
        if SecretId != "cronfleet-edge" or VersionStage not in self.values:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": "?"}}, "GetSecretValue")
        return {"SecretString": self.values[VersionStage]}

    def change(self, value: str) -> None:
        self.values = {"AWSPREVIOUS": self.values["AWSCURRENT"], "AWSCURRENT": value}


def make(name: str = "cronfleet-edge") -> tuple[SecretsManagerEdgeSecret, Vault, SettableClock]:
    vault, clock = Vault(), SettableClock()
    secret = SecretsManagerEdgeSecret(name, clock, lambda: vault)  # type: ignore[arg-type, return-value] - one call of it
    return secret, vault, clock


def test_it_is_read_once_a_minute() -> None:
    secret, vault, clock = make()
    assert [secret.accepted() for _ in range(3)] == [("first",)] * 3
    assert vault.reads == 2, "the value in force, and the one before, which is not there"
    clock.advance(MINUTE)
    secret.accepted()
    assert vault.reads == 4


def test_while_it_is_changed_the_edge_may_show_either_value() -> None:
    secret, vault, clock = make()
    secret.accepted()
    vault.change("second")
    clock.advance(MINUTE)
    assert set(secret.accepted()) == {"first", "second"}
    vault.change("third")
    clock.advance(MINUTE)
    assert set(secret.accepted()) == {"second", "third"}


@pytest.mark.parametrize(
    "error",
    [
        ClientError({"Error": {"Code": "InternalServiceError", "Message": "?"}}, "GetSecretValue"),
        EndpointConnectionError(endpoint_url="https://secretsmanager.example.com"),
    ],
)
def test_while_nobody_answers_the_values_last_read_go_on_for_a_day(error: Exception) -> None:
    secret, vault, clock = make()
    secret.accepted()
    vault.error = error
    clock.advance(MINUTE)
    reads = vault.reads
    assert [secret.accepted() for _ in range(3)] == [("first",)] * 3
    assert vault.reads == reads + 1, "and is not asked with each request"
    clock.advance(DAY)
    with pytest.raises(NoAnswer):
        secret.accepted()


def test_a_secret_that_is_not_there_or_not_ours_lets_nobody_in_and_says_so() -> None:
    secret, _, _ = make("another")
    for _ in range(2):
        with pytest.raises(NoAnswer, match="the secret another cannot be read: ResourceNotFoundException"):
            secret.accepted()
