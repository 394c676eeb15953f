"""The targets of long runs: what may keep a worker busy for hours."""

import functools
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from cronfleet.adapters.targets.handler import PythonHandlers, describe
from cronfleet.adapters.targets.secrets import Secrets
from cronfleet.adapters.targets.webhook import Webhooks
from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_log import LogPlace
from cronfleet.domain.run import Outcome
from cronfleet.domain.target import HandlerTarget, WebhookTarget
from cronfleet.ports.clock import Clock
from cronfleet.ports.target import Call, Pulse, Receipts
from cronfleet.ports.tracing import JobSpans

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

logger = logging.getLogger(__name__)


class LongTargets:
    """Calls Python handlers and webhooks; what a kind needs is made when it is first called.

    A long worker calls nothing else: whatever else there is ends, or goes on by itself, within minutes.
    """

    def __init__(
        self,
        *,
        receipts: Receipts,
        clock: Clock,
        handlers_package: str,
        allowed_networks: Sequence[str] = (),
        log_place: LogPlace | None = None,
        job_spans: JobSpans | None = None,
    ) -> None:
        """`job_spans` takes the spans that jobs make themselves."""
        self._clock = clock
        self._log_place = log_place
        self._allowed_networks = allowed_networks
        self._handlers = PythonHandlers(
            package=handlers_package,
            receipts=receipts,
            clock=clock,
            read_secret=self._read_secret,
            log_place=log_place,
            job_spans=job_spans,
        )

    def call(self, call: Call, pulse: Pulse) -> Result:
        """See `Targets.call`. A fault of an adapter fails this attempt, and is logged with its traceback."""
        if call.deadline_at <= self._clock.now():
            return Result(Outcome.TIMED_OUT, "its time was over before it could be called")
        try:
            return self._dispatch(call, pulse)
        except Exception as error:
            logger.exception("target_broken: %s", call.key.run_id)
            return Result(Outcome.FAILED, describe(error))

    def _dispatch(self, call: Call, pulse: Pulse) -> Result:
        match call.target:
            case HandlerTarget() as handler:
                return self._handlers.call(call, handler, pulse)
            case WebhookTarget() as webhook:
                return self._webhooks.call(call, webhook, pulse)
        raise TypeError("only handlers and webhooks keep a worker busy for long")

    def _read_secret(self, tenant: str, name: str) -> str:
        return self._secrets.read(tenant, name)

    @functools.cached_property
    def _secrets(self) -> Secrets:
        return Secrets(_secrets_client, self._clock)

    @functools.cached_property
    def _webhooks(self) -> Webhooks:
        return Webhooks(
            secrets=self._secrets,
            clock=self._clock,
            allowed_networks=self._allowed_networks,
        )


@functools.cache
def _secrets_client() -> "SecretsManagerClient":
    config = Config(connect_timeout=2, read_timeout=3, retries={"total_max_attempts": 2})
    return boto3.client("secretsmanager", config=config)
