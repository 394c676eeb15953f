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
    """Work for a while, saying how far it is. Payload: `{"seconds": 10}`; it gives up when it is cancelled."""
    seconds = float((payload or {}).get("seconds", 10))
    steps = int(seconds / STEP_SECONDS)
    for step in range(steps):
        time.sleep(STEP_SECONDS)
        context.progress((step + 1) / steps, f"step {step + 1} of {steps}")
        context.logger.info("at work", extra={"time_left": round(context.time_left(), 1)})
