"""Secrets that targets need: references in a schedule, values in Secrets Manager, never in a row, a log or an error."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from cronfleet.domain.instant import MINUTE, Instant
from cronfleet.domain.target import may_read, secret_prefix
from cronfleet.ports.clock import Clock

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

KEPT_FOR: Final = 5 * MINUTE
"""How long a value is used before it is read again: a rotated key is picked up within this time."""


class SecretRefused(Exception):
    """The reference names what its tenant may not read. A retry cannot mend it: the schedule must be changed."""


class SecretUnavailable(Exception):
    """The secret cannot be read now; it may be there when the run is tried again."""


class Secrets:
    """Reads secrets by name; `client` is called when the first one is needed."""

    def __init__(self, client: "Callable[[], SecretsManagerClient]", clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._kept: dict[str, tuple[str, Instant]] = {}

    def read(self, tenant: str, name: str) -> str:
        """The value of `name`, which must lie under `cronfleet/<tenant>/`.

        Raises `SecretRefused` and `SecretUnavailable`, whose texts name the secret and never its value.
        """
        if not may_read(tenant, name):
            prefix = secret_prefix(tenant)
            raise SecretRefused(f"the secret {name!r} does not lie under {prefix!r}; store it there and name it so")
        kept = self._kept.get(name)
        if kept is not None and kept[1] > self._clock.now():
            return kept[0]
        value = self._fetch(name)
        self._kept[name] = (value, self._clock.now() + KEPT_FOR)
        return value

    def _fetch(self, name: str) -> str:
        try:
            value = self._client().get_secret_value(SecretId=name).get("SecretString")
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "unknown error")
            raise SecretUnavailable(f"the secret {name!r} cannot be read: {code}") from error
        except BotoCoreError as error:
            raise SecretUnavailable(f"the secret {name!r} cannot be read: {type(error).__name__}") from error
        if not value:
            raise SecretUnavailable(f"the secret {name!r} holds no text")
        return value
