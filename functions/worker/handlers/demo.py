"""Samples to watch the product with: one that beats, one that fails before it succeeds, one that takes its time."""

import time
from typing import Any

from cronfleet.sdk import Context, handler

STEP_SECONDS = 0.5


@handler("demo.heartbeat")
def heartbeat(context: Context, _payload: Any) -> None:
    """Say that it was called, and for which moment."""
    context.logger.info("beat", extra={"nominal_at": context.nominal_at.isoformat()})


@handler("demo.flaky")
def flaky(context: Context, payload: Any) -> None:
    """Fail the first attempts, then succeed. Payload: `{"failures": 2}`."""
    failures = int((payload or {}).get("failures", 2))
    if context.attempt <= failures:
        raise ConnectionError(f"the far end hung up (this sample fails {failures} times before it succeeds)")
    context.logger.info("succeeded at last", extra={"attempts": context.attempt})


@handler("demo.slow")
def slow(context: Context, payload: Any) -> None:
    """Work for a while, saying how much time is left. Payload: `{"seconds": 10}`; past its limit it is stopped."""
    seconds = float((payload or {}).get("seconds", 10))
    for _ in range(int(seconds / STEP_SECONDS)):
        time.sleep(STEP_SECONDS)
        context.logger.info("at work", extra={"time_left": round(context.time_left(), 1)})
