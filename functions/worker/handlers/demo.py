"""Samples to watch the product with: a beat, a failure before a success, steps in a trace, two that take their time."""

import time
from typing import Any

from cronfleet.sdk import Context, HandOn, handler

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


@handler("demo.steps")
def steps(context: Context, payload: Any) -> None:
    """Do a few steps, each of which is seen in the run's trace as a span of its own. Payload: `{"steps": 3}`."""
    from opentelemetry import trace  # noqa: PLC0415 - the worker does without where nothing is traced

    tracer = trace.get_tracer("demo")
    for number in range(1, int((payload or {}).get("steps", 3)) + 1):
        with tracer.start_as_current_span(f"step {number}", attributes={"demo.number": number}):
            time.sleep(0.05)
    context.logger.info("stepped", extra={"traceparent": context.traceparent})


@handler("demo.slow")
def slow(context: Context, payload: Any) -> None:
    """Work for a while, saying how far it is. Payload: `{"seconds": 10}`; it gives up when it is cancelled."""
    seconds = float((payload or {}).get("seconds", 10))
    steps = int(seconds / STEP_SECONDS)
    for step in range(steps):
        time.sleep(STEP_SECONDS)
        context.progress((step + 1) / steps, f"step {step + 1} of {steps}")
        context.logger.info("at work", extra={"time_left": round(context.time_left(), 1)})


@handler("demo.long")
def long(context: Context, payload: Any) -> None:
    """Work for minutes, and go on where it was when its worker has to stop. Payload: `{"steps": 20, "seconds": 60}`.

    A step is begun once: one in whose middle the process is killed is left out by the next attempt.
    """
    steps, seconds = int((payload or {}).get("steps", 20)), float((payload or {}).get("seconds", 60))
    for step in range(steps):
        if not context.receipt(f"step-{step}").first:
            continue  # An earlier attempt did it.
        for _ in range(int(seconds / STEP_SECONDS)):
            time.sleep(STEP_SECONDS)
            context.progress((step + 1) / steps, f"step {step + 1} of {steps}")
        if context.stopping:
            raise HandOn(f"{step + 1} of {steps} steps are done")
