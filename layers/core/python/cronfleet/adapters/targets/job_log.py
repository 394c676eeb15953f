"""What a job prints and logs, as lines of JSON that carry its run id, in the function's own log."""

import io
import json
import logging
import sys
from collections.abc import Mapping
from typing import Final, TextIO

from cronfleet.adapters.targets.redaction import Redaction
from cronfleet.domain.instant import SECOND, to_text

LOGGER: Final = "cronfleet.job"

_OWN_FIELDS: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


def redirect(fields: Mapping[str, object], redact: Redaction) -> logging.Logger:
    """Give every line of this process `fields`, and take out what `redact` blots out; the logger for a job.

    Called in the job's own process.
    """
    out = sys.stdout
    handler = logging.StreamHandler(out)
    handler.setFormatter(_Formatter(fields, redact))
    logging.root.handlers[:] = [handler]
    logger = logging.getLogger(LOGGER)
    logger.setLevel(logging.INFO)
    sys.stdout = _Lines(out, {**fields, "stream": "stdout"}, redact)
    sys.stderr = _Lines(out, {**fields, "stream": "stderr"}, redact)
    return logger


class _Formatter(logging.Formatter):
    """One object per record: level, message, time, the attempt's fields, and what the caller passed as `extra`."""

    def __init__(self, fields: Mapping[str, object], redact: Redaction) -> None:
        super().__init__()
        self._fields = fields
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        extra = {name: value for name, value in record.__dict__.items() if name not in _OWN_FIELDS}
        line: dict[str, object] = {
            "level": record.levelname,
            "message": record.getMessage(),
            "timestamp": to_text(int(record.created * SECOND)),
            **extra,
            **self._fields,
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return self._redact(json.dumps(line, default=str))


class _Lines(io.TextIOBase):
    """A text stream that turns each printed line into an object with the attempt's fields."""

    def __init__(self, out: TextIO, fields: Mapping[str, object], redact: Redaction) -> None:
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
        self._out.write(self._redact(json.dumps({"level": "INFO", "message": line, **self._fields})) + "\n")
        self._out.flush()  # A job that is stopped at its time limit leaves its last words.
