"""What a job prints and logs, as lines of JSON that carry its run id, in the function's own log."""

import io
import json
import logging
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Final, TextIO, TypeAlias

from cronfleet.adapters.targets.log_tail import LogTail
from cronfleet.adapters.targets.redaction import Redaction
from cronfleet.domain.instant import SECOND, to_text
from cronfleet.ports.clock import Clock

LOGGER: Final = "cronfleet.job"

FAILED: Final = "job_failed"
"""What the worker itself logs of an exception that a job let through."""

MAX_CAUSES: Final = 10
"""Exceptions of a chain that are shown."""

_Raised: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

_TRACEBACK: Final = logging.Formatter()

_OWN_FIELDS: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


def redirect(fields: Mapping[str, object], redact: Redaction, tail: LogTail, clock: Clock) -> logging.Logger:
    """Give every line of this process `fields`, and take out what `redact` blots out; the logger for a job.

    Called in the job's own process. `tail` gets each line as well, as people read it.
    """
    out = sys.stdout
    handler = logging.StreamHandler(out)
    handler.setFormatter(_Formatter(fields, redact))
    logging.root.handlers[:] = [handler, _Tailing(tail, redact)]
    # What the worker's own loggers were given is not for the job's process.
    package = logging.getLogger(LOGGER.partition(".")[0])
    package.handlers.clear()
    package.propagate = True
    logger = logging.getLogger(LOGGER)
    logger.setLevel(logging.INFO)
    for stream in ("stdout", "stderr"):
        setattr(sys, stream, _Lines(out, {**fields, "stream": stream}, redact, partial(_add, tail, clock)))
    return logger


def _add(tail: LogTail, clock: Clock, line: str) -> None:
    tail.add(clock.now(), "INFO", line)


class _Tailing(logging.Handler):
    """Keeps the message of each record, with what the caller passed as `extra`, and the traceback."""

    def __init__(self, tail: LogTail, redact: Redaction) -> None:
        super().__init__()
        self._tail = tail
        self._redact = redact

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        extra = _extra(record)
        if extra:
            text = f"{text} {json.dumps(extra, default=str, ensure_ascii=False)}"
        if record.exc_info:
            text = f"{text}\n{_TRACEBACK.formatException(record.exc_info)}"
        self._tail.add(int(record.created * SECOND), record.levelname, self._redact(text))


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in record.__dict__.items() if name not in _OWN_FIELDS}


class _Formatter(logging.Formatter):
    """One object per record: level, message, time, the attempt's fields, and what the caller passed as `extra`."""

    def __init__(self, fields: Mapping[str, object], redact: Redaction) -> None:
        super().__init__()
        self._fields = fields
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "level": record.levelname,
            "message": record.getMessage(),
            "timestamp": to_text(int(record.created * SECOND)),
            **_extra(record),
            **self._fields,
        }
        if record.exc_info:
            is_ours = record.msg == FAILED and record.name == LOGGER
            line["exception"] = _places(record.exc_info) if is_ours else self.formatException(record.exc_info)
        return self._redact(json.dumps(line, default=str))


def _places(raised: _Raised) -> str:
    """Where an exception came from and of what type it is, without its words: those may be a piece of the payload, and
    stand with the attempt, for its tenant.
    """
    parts: list[str] = []
    error = raised[1]
    while error is not None:
        frames = traceback.format_list(traceback.extract_tb(error.__traceback__))
        parts.append("".join(["Traceback (most recent call last):\n", *frames, type(error).__qualname__]))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n\nwhich came of\n\n".join(parts[:MAX_CAUSES])


class _Lines(io.TextIOBase):
    """A text stream that turns each printed line into an object with the attempt's fields."""

    def __init__(
        self, out: TextIO, fields: Mapping[str, object], redact: Redaction, keep: Callable[[str], None]
    ) -> None:
        self._keep = keep
        self._out = out
        self._fields = fields
        self._redact = redact
        self._begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._put(line)
        return len(text)

    def flush(self) -> None:
        if self._begun:
            line, self._begun = self._begun, ""
            self._put(line)
        self._out.flush()

    def writable(self) -> bool:
        return True

    def _put(self, line: str) -> None:
        self._keep(self._redact(line))
        self._out.write(self._redact(json.dumps({"level": "INFO", "message": line, **self._fields})) + "\n")
        self._out.flush()  # A job that is stopped at its time limit leaves its last words.
