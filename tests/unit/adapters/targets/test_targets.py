"""All targets behind one call."""

from typing import Any

import pytest

from cronfleet.adapters.system.clock import SystemClock
from cronfleet.adapters.targets.targets import AllTargets
from cronfleet.domain.run import Outcome
from cronfleet.domain.target import HandlerTarget, LambdaTarget, Target, WebhookTarget
from tests.support.calls import Felt, Notebook, call


def make() -> AllTargets:
    return AllTargets(receipts=Notebook(), clock=SystemClock(), handlers_package="functions.worker.handlers")


@pytest.mark.parametrize(
    ("target", "outcome", "said"),
    [
        (HandlerTarget("demo.heartbeat"), Outcome.SUCCEEDED, None),
        (WebhookTarget("https://127.0.0.1/"), Outcome.FAILED, "webhooks reach public addresses"),
        (LambdaTarget("prod-payments"), Outcome.FAILED, "is not named cronfleet-target-"),
    ],
)
def test_each_kind_of_target_is_called_by_its_adapter(target: Target, outcome: Outcome, said: str | None) -> None:
    result = make().call(call(target), Felt())
    assert result.outcome is outcome
    assert said is None or said in (result.error or "")


def test_a_call_whose_time_is_over_is_not_made() -> None:
    assert make().call(call(HandlerTarget("demo.heartbeat"), seconds=-1), Felt()).outcome is Outcome.TIMED_OUT


def test_a_fault_of_an_adapter_fails_the_attempt_and_not_the_worker() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    result = make().call(call(WebhookTarget("https://127.0.0.1/"), deep), Felt())
    assert (result.outcome, result.retryable) == (Outcome.FAILED, True)
    assert (result.error or "").startswith("RecursionError")
