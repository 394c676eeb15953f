"""Secrets: read by reference, kept for minutes, of the own tenant only, and never shown."""

from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from cronfleet.adapters.targets.secrets import SecretRefused, Secrets, SecretUnavailable
from cronfleet.domain.instant import MINUTE
from tests.support.settable_clock import SettableClock


class Vault:
    def __init__(self) -> None:
        self.reads = 0
        self.values: dict[str, Any] = {"cronfleet/acme/hooks": {"SecretString": "the value"}}
        self.error: Exception | None = None

    def get_secret_value(self, *, SecretId: str) -> dict[str, Any]:  # noqa: N803 - the client's own name
        self.reads += 1
        if self.error is not None:
            raise self.error
        if SecretId not in self.values:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": "?"}}, "GetSecretValue")
        return self.values[SecretId]


def make() -> tuple[Secrets, Vault, SettableClock]:
    vault, clock = Vault(), SettableClock(0)
    return Secrets(lambda: vault, clock), vault, clock  # type: ignore[arg-type, return-value] - one call of the client


def test_a_secret_is_read_once_in_five_minutes() -> None:
    secrets, vault, clock = make()
    assert [secrets.read("acme", "cronfleet/acme/hooks") for _ in range(3)] == ["the value"] * 3
    assert vault.reads == 1
    clock.advance(5 * MINUTE)
    secrets.read("acme", "cronfleet/acme/hooks")
    assert vault.reads == 2


@pytest.mark.parametrize(
    "name",
    [
        "cronfleet/globex/hooks",
        "prod/database",
        "cronfleet/acme",
        "cronfleet/acme/",
        "arn:aws:secretsmanager:x",
        "cronfleet/acme/ä",
    ],
)
def test_a_secret_outside_of_its_tenants_is_refused_without_a_read(name: str) -> None:
    secrets, vault, _ = make()
    with pytest.raises(SecretRefused, match="cronfleet/acme/"):
        secrets.read("acme", name)
    assert vault.reads == 0


def test_a_secret_that_is_kept_is_still_only_its_tenants() -> None:
    secrets, _, _ = make()
    secrets.read("acme", "cronfleet/acme/hooks")
    with pytest.raises(SecretRefused):
        secrets.read("globex", "cronfleet/acme/hooks")


def test_a_secret_that_is_missing_is_told_by_name_and_asked_for_again() -> None:
    secrets, vault, _ = make()
    for _ in range(2):
        with pytest.raises(SecretUnavailable, match=r"cronfleet/acme/none.*ResourceNotFoundException"):
            secrets.read("acme", "cronfleet/acme/none")
    assert vault.reads == 2


def test_a_secret_store_that_does_not_answer_and_a_secret_without_text_are_unavailable() -> None:
    secrets, vault, _ = make()
    vault.values["cronfleet/acme/binary"] = {"SecretBinary": b"1"}
    with pytest.raises(SecretUnavailable, match="holds no text"):
        secrets.read("acme", "cronfleet/acme/binary")
    vault.error = EndpointConnectionError(endpoint_url="https://example.test")
    with pytest.raises(SecretUnavailable, match="EndpointConnectionError"):
        secrets.read("acme", "cronfleet/acme/hooks")
