"""Every target kind behind one call."""

import functools
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

import boto3
from botocore.config import Config

from cronfleet.adapters.targets.handler import PythonHandlers, describe
from cronfleet.adapters.targets.lambda_function import LambdaFunctions
from cronfleet.adapters.targets.messages import Messages
from cronfleet.adapters.targets.secrets import Secrets
from cronfleet.adapters.targets.tenant_roles import TenantRoles
from cronfleet.adapters.targets.webhook import Webhooks
from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_log import LogPlace
from cronfleet.domain.run import Outcome
from cronfleet.domain.target import (
    EcsTaskTarget,
    EventBridgeTarget,
    HandlerTarget,
    LambdaTarget,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    WebhookTarget,
)
from cronfleet.ports.clock import Clock
from cronfleet.ports.target import Call, Pulse, Receipts
from cronfleet.ports.tracing import JobSpans

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_secretsmanager import SecretsManagerClient

logger = logging.getLogger(__name__)


class AllTargets:
    """Calls each target by its kind; what a kind needs is made when it is first called."""

    def __init__(
        self,
        *,
        receipts: Receipts,
        clock: Clock,
        handlers_package: str,
        allowed_networks: Sequence[str] = (),
        log_place: LogPlace | None = None,
        roles: TenantRoles | None = None,
        job_spans: JobSpans | None = None,
    ) -> None:
        """Without `roles` no message is sent: only this process itself may call what it calls.

        `job_spans` takes the spans that jobs make themselves.
        """
        self._roles = roles
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
        target = call.target
        match target:
            case HandlerTarget():
                return self._handlers.call(call, target, pulse)
            case WebhookTarget():
                return self._webhooks.call(call, target, pulse)
            case LambdaTarget():
                return self._lambda_functions.call(call, target, pulse)
            case SqsTarget() | SnsTarget() | EventBridgeTarget():
                return self._messages.call(call, target)
            case StepFunctionsTarget() | EcsTaskTarget():
                raise TypeError("what goes on by itself is handed over, and not called")
        assert_never(target)

    def _read_secret(self, tenant: str, name: str) -> str:
        return self._secrets.read(tenant, name)

    @functools.cached_property
    def _messages(self) -> Messages:
        if self._roles is None:
            raise RuntimeError("no role of a tenant is assumed here, and so no message is sent")
        return Messages(self._roles)

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

    @functools.cached_property
    def _lambda_functions(self) -> LambdaFunctions:
        return LambdaFunctions(
            client=_lambda_client, clock=self._clock, region=self._log_place.region if self._log_place else ""
        )


@functools.cache
def _secrets_client() -> "SecretsManagerClient":
    config = Config(connect_timeout=2, read_timeout=3, retries={"total_max_attempts": 2})
    return boto3.client("secretsmanager", config=config)


# Few limits are in use at a time; a client waits for the time limit that it was made with.
@functools.lru_cache(maxsize=16)
def _lambda_client(seconds: int) -> "LambdaClient":
    # One try: whether a call that was not answered ran is not known, and the run's own retry counts it.
    config = Config(connect_timeout=5, read_timeout=seconds, retries={"total_max_attempts": 1})
    return boto3.client("lambda", config=config)
