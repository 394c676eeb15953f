"""The secret between edge and API, in Secrets Manager: the value in force, and the one before."""

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from cronfleet.domain.instant import DAY, MINUTE, Instant
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import NoAnswer

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

KEPT_FOR: Final = MINUTE
"""How long values are used before they are read again: the edge shows a new one later than that, after a deployment."""

TRUSTED_FOR: Final = DAY
"""How long the values last read go on being used while Secrets Manager gives no answer."""

STAGES: Final = ("AWSCURRENT", "AWSPREVIOUS")
"""Both, because the edge goes on showing the value before until it is deployed."""

NOT_THERE: Final = "ResourceNotFoundException"


class SecretsManagerEdgeSecret:
    """Reads the secret `name`, once a minute at most."""

    def __init__(self, name: str, clock: Clock, client: "Callable[[], SecretsManagerClient] | None" = None) -> None:
        self._name = name
        self._clock = clock
        self._client = client or _client
        self._values: tuple[str, ...] = ()
        self._next_read_at: Instant = 0
        self._trusted_until: Instant = 0

    def accepted(self) -> tuple[str, ...]:
        """The values that are accepted now. Raises `NoAnswer`: then nobody is let in, and nobody is turned away."""
        now = self._clock.now()
        if now >= self._next_read_at:
            self._next_read_at = now + KEPT_FOR
            try:
                self._values = tuple(self._read())
                self._trusted_until = now + TRUSTED_FOR
            except NoAnswer:
                if now >= self._trusted_until:
                    self._next_read_at = now
                    raise
        return self._values

    def _read(self) -> Iterator[str]:
        client = self._client()
        for stage in STAGES:
            try:
                yield client.get_secret_value(SecretId=self._name, VersionStage=stage)["SecretString"]
            except ClientError as error:
                code = error.response.get("Error", {}).get("Code", "")
                # A secret that was never changed has no value before.
                if (stage, code) != (STAGES[1], NOT_THERE):
                    raise NoAnswer(f"the secret {self._name} cannot be read: {code}") from error
            except BotoCoreError as error:
                raise NoAnswer(f"the secret {self._name} cannot be read: {type(error).__name__}") from error


@functools.cache
def _client() -> "SecretsManagerClient":
    # The gateway waits ten seconds for the authorizer in all.
    config = Config(connect_timeout=2, read_timeout=2, retries={"total_max_attempts": 2})
    return boto3.client("secretsmanager", config=config)
