"""The form in which callers see what an attempt said."""

from cronfleet.domain.attempt_log import AttemptLog, LogPlace
from cronfleet.domain.form import Form
from cronfleet.domain.instant import to_text
from cronfleet.domain.run import RunKey


def log_form(key: RunKey, attempt: int, log: AttemptLog | None) -> Form:
    """The log of an attempt; `None`: nothing is kept of it."""
    lines = () if log is None else log.lines
    return {
        "run_id": key.run_id,
        "attempt": attempt,
        "kept_at": None if log is None else to_text(log.kept_at),
        "is_whole": log is None or log.is_whole,
        "lines": [{"at": to_text(line.at), "level": line.level, "text": line.text} for line in lines],
        "place": None if log is None or log.place is None else _place_form(log.place, key),
    }


def log_link_form(key: RunKey, attempt: int, log: AttemptLog | None) -> Form:
    """Where the log of an attempt is read; `None`: nothing is kept of it."""
    return {
        "attempt": attempt,
        "path": f"/v1/runs/{key.run_id}/log?attempt={attempt}",
        "line_count": 0 if log is None else len(log.lines),
        "url": None if log is None or log.place is None else log.place.url(key.run_id),
    }


def _place_form(place: LogPlace, key: RunKey) -> Form:
    return {
        "region": place.region,
        "group": place.group,
        "stream": place.stream or None,
        "request_id": place.request_id or None,
        "url": place.url(key.run_id),
    }
