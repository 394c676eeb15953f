"""What the emulator leaves out of CloudWatch, written into its log as the functions write theirs.

AWS tells of its own accord what functions are invoked and what waits in queues. Runs inside the emulator, loaded by
`local/shared_layers.py`; `local/dashboard/recorder.py` reads the lines.
"""

import contextlib
import json
import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from ministack.services import cloudwatch, lambda_svc, sqs  # type: ignore[import-not-found]  # there alone

PUT: Final = "Put"
"""Marks what is in the emulator's CloudWatch already (`local/metrics.py` has the same word)."""

EVERY_SECONDS: Final = 10
SAID: Final = "\n%s"
"""How the emulator's own messages end that repeat what a function has said."""
RECEIVED_TOO_OFTEN: Final = 3
"""A message that was received so often no longer counts as the oldest (SQS, ApproximateAgeOfOldestMessage)."""
NOISY_SHARE: Final = 0.5
"""A tenant that has more of what is in hand, and not just a few, is noisy. AWS does not say where it draws the line."""
NOISY_LEAST: Final = 10


def install() -> None:
    """Have the emulator tell what AWS would, and judge no alarm: it does not look at dimensions, periods or silence."""
    cloudwatch._evaluate_alarm = lambda _alarm: None  # noqa: SLF001 - it has no other switch
    _tell_invocations()
    _tell_what_is_put()
    threading.Thread(target=_tell_queues, daemon=True).start()


def _tell_invocations() -> None:
    """Of every one, and what the function said in it: the emulator tells the one of Invoke alone, and the other not of
    what the gateway or a schedule has called.
    """
    emit = lambda_svc._emit_lambda_logs  # noqa: SLF001 - nothing else is called once for each invocation

    def ended(func: dict[str, Any], request_id: str, log_text: str, error: bool, *rest: Any, **named: Any) -> None:
        if log_text:
            _write(log_text)
        _say_invocation((func.get("config") or func)["FunctionName"], Invocations=1, Errors=int(error))
        emit(func, request_id, log_text, error, *rest, **named)

    def refused(function_name: str, throttle: bool = False, **_: Any) -> None:
        if throttle:
            _say_invocation(function_name, Throttles=1)

    lambda_svc._emit_lambda_logs = ended  # noqa: SLF001 - see above
    lambda_svc._emit_lambda_metrics = refused  # noqa: SLF001 - see above
    # Else what a queue's function says would stand in the log twice.
    lambda_svc.logger.addFilter(_without_what_was_said)


def _without_what_was_said(record: logging.LogRecord) -> bool:
    """A message of the emulator's own without the function's words; none, if it has no other."""
    text = str(record.msg)
    if not text.endswith(SAID) or not isinstance(record.args, tuple):
        return True
    record.msg, record.args = text.removesuffix(SAID), record.args[:-1]
    return not text.endswith(":" + SAID)


def _tell_what_is_put() -> None:
    """Of PutMetricData what has one `Value`, as people and the drill put it. `local/metrics.py` puts `Values`, which it
    has out of this log.
    """
    store = cloudwatch._store_datum  # noqa: SLF001 - where every way to put data meets

    def stored(
        namespace: str, name: str, dimensions: dict[str, str], at: float, unit: str, value: Any, *rest: Any
    ) -> None:
        store(namespace, name, dimensions, at, unit, value, *rest)
        if value is not None and not any(rest):
            _say(namespace, dimensions, {name: float(value)}, at)

    cloudwatch._store_datum = stored  # noqa: SLF001 - see above


def _say_invocation(function_name: str, **values: float) -> None:
    _say("AWS/Lambda", {"FunctionName": function_name.partition(":")[0]}, values)


def _tell_queues() -> None:
    while True:
        time.sleep(EVERY_SECONDS)
        now = time.time()
        for queue in list(sqs._queues._data.values()):  # noqa: SLF001 - of every account and region
            # It changes meanwhile; the next look makes up for it.
            with contextlib.suppress(RuntimeError, KeyError):
                _say("AWS/SQS", {"QueueName": queue["name"]}, _standing(list(queue["messages"]), now))


def _standing(messages: list[dict[str, Any]], now: float) -> dict[str, float]:
    waiting = [one for one in messages if one["visible_at"] <= now]
    in_hand = [one for one in messages if one["visible_at"] > now and one["receive_count"]]
    noisy = _noisy(in_hand)
    quiet = [one for one in waiting if one["group_id"] not in noisy]
    told: dict[str, float] = {
        "ApproximateNumberOfMessagesVisible": len(waiting),
        "ApproximateNumberOfMessagesNotVisible": len(in_hand),
        "ApproximateNumberOfMessagesVisibleInQuietGroups": len(quiet),
        "ApproximateNumberOfNoisyGroups": len(noisy),
    }
    ages = [
        (now - one["sent_at"], one["group_id"] in noisy)
        for one in (*waiting, *in_hand)
        if one["receive_count"] < RECEIVED_TOO_OFTEN
    ]
    told["ApproximateAgeOfOldestMessage"] = max((age for age, _ in ages), default=0)
    told["ApproximateAgeOfOldestMessageInQuietGroups"] = max((age for age, loud in ages if not loud), default=0)
    return told


def _noisy(in_hand: list[dict[str, Any]]) -> set[str]:
    of_group = Counter(one["group_id"] for one in in_hand if one["group_id"])
    most = max(NOISY_LEAST, NOISY_SHARE * len(in_hand))
    return {group for group, number in of_group.items() if number > most}


def _say(namespace: str, dimensions: Mapping[str, str], values: Mapping[str, float], at: float | None = None) -> None:
    directive = {
        "Namespace": namespace,
        "Dimensions": [list(dimensions)],
        "Metrics": [{"Name": name, "Unit": "None"} for name in values],
    }
    moment = time.time() if at is None else at
    about = {"Timestamp": int(moment * 1000), "CloudWatchMetrics": [directive], PUT: at is not None}
    _write(json.dumps({"_aws": about, **dimensions, **values}))


def _write(text: str) -> None:
    # In one piece: many threads write to the same log.
    sys.stderr.write(text.rstrip("\n") + "\n")
    sys.stderr.flush()
