"""Every target kind behind one call."""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

import boto3
from botocore.config import Config

from cronfleet.adapters.targets.lambda_function import LambdaFunctions
from cronfleet.adapters.targets.long_targets import LongTargets
from cronfleet.adapters.targets.messages import Messages
from cronfleet.adapters.targets.tenant_roles import TenantRoles
from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_log import LogPlace
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


class AllTargets(LongTargets):
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
        super().__init__(
            receipts=receipts,
            clock=clock,
            handlers_package=handlers_package,
            allowed_networks=allowed_networks,
            log_place=log_place,
            job_spans=job_spans,
        )
        self._roles = roles

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

    @functools.cached_property
    def _messages(self) -> Messages:
        if self._roles is None:
            raise RuntimeError("no role of a tenant is assumed here, and so no message is sent")
        return Messages(self._roles)

    @functools.cached_property
    def _lambda_functions(self) -> LambdaFunctions:
        return LambdaFunctions(
            client=_lambda_client, clock=self._clock, region=self._log_place.region if self._log_place else ""
        )


# Few limits are in use at a time; a client waits for the time limit that it was made with.
@functools.lru_cache(maxsize=16)
def _lambda_client(seconds: int) -> "LambdaClient":
    # One try: whether a call that was not answered ran is not known, and the run's own retry counts it.
    config = Config(connect_timeout=5, read_timeout=seconds, retries={"total_max_attempts": 1})
    return boto3.client("lambda", config=config)
