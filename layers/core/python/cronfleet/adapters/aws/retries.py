"""When a request is sent again: botocore's own standard retries, asked only about what failed."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from botocore.retries.quota import RetryQuota
from botocore.retries.standard import (
    ExponentialBackoff,
    RetryEventAdapter,
    RetryHandler,
    RetryPolicy,
    RetryQuotaChecker,
    StandardRetryConditions,
    ThrottlingErrorDetector,
)

if TYPE_CHECKING:
    from cronfleet.adapters.aws.wire import Reply

RETRYABLE: Final = {"ReplicatedWriteConflictException": False}
"""Errors that the services' models call retryable, and whether as throttles; others go by botocore's own lists."""


class Retries:
    """Exponential backoff with full jitter, `x-amz-retry-after`, and a quota for all requests of one client."""

    def __init__(self, service: str, total_max_attempts: int) -> None:
        adapter = RetryEventAdapter()
        throttles = ThrottlingErrorDetector(adapter)
        quota: Any = RetryQuotaChecker(RetryQuota(), throttles)  # The stubs take it for the quota that it has.
        self._quota = quota
        self._handler = RetryHandler(
            retry_policy=RetryPolicy(
                StandardRetryConditions(max_attempts=total_max_attempts),
                ExponentialBackoff(service_name=service, throttling_detector=throttles),
            ),
            retry_event_adapter=adapter,
            retry_quota=quota,
            service_name=service,
        )
        self._service = service
        self._errors = [
            SimpleNamespace(name=name, metadata={"retryable": {"throttling": is_throttle}})
            for name, is_throttle in RETRYABLE.items()
        ]

    def good(self, reply: "Reply", context: dict[str, Any]) -> None:
        """An answer came: what was taken from the quota for it goes back."""
        self._quota.release_retry_quota(context, reply)

    def pause(
        self,
        operation: str,
        attempt: int,
        context: dict[str, Any],
        refused: "tuple[Reply, dict[str, Any]] | None",
        failure: Exception | None,
    ) -> float | None:
        """Seconds until a failed request is sent again, for the `attempt`-th time so far; `None`: it is not."""
        asked: Any = SimpleNamespace(
            name=operation, error_shapes=self._errors, service_model=SimpleNamespace(service_name=self._service)
        )
        found: Any = self._handler.needs_retry(
            response=refused,
            operation=asked,
            attempts=attempt,
            caught_exception=failure,
            request_dict={"context": context},
        )
        return None if found is None or found is False else float(found)
