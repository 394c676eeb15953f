"""`python -m cronfleet.preview`: the next fires of triggers, one JSON object a line in, one a line out.

    {"cron": "30 2 * * *", "tz": "Europe/Paris", "after": "2026-10-24T12:00:00Z", "count": 2}
    {"fires": ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]}

A line holds one of `cron` (needs `tz`), `at` (RFC 3339; needs `tz` if it has no offset) and `every` (`10s`, `5m`, `1h`,
`1d`; with `anchor`, RFC 3339, or else counted from `after` cut to its second). `tz` may be called `timezone`, as in the
API. With `cron` there may be `gap` (`skip`, `after`) and `overlap` (`first`, `second`, `both`), for a time that the
clock skips or shows twice, and `"dialect": "aws"` for the six fields of AWS; its `cron(…)`, `rate(…)` and `at(…)` are
known without that. `calendar` holds the calendar itself beside what a schedule says of it, since no store is asked:
`{"mode": "roll_forward", "holidays": ["2026-12-25"]}`, with `nth`, `workdays`, `freezes`, `weekend` as in the API.

`after` is RFC 3339 with an offset, by default now; fires are strictly later. `count` is 1 to 10,000, by default 5;
there are fewer where a trigger ends: `at` fires once, and nothing fires after the year 9999. Other keys are ignored;
null counts as absent.

With `"lint": true` the answer also says what the trigger means, and what about it will surprise
(`docs/warnings.md`):

    {"fires": […], "words": "At 02:30 every day, in Europe/Paris", "warnings": [{"code": "dst_change", "text": "…"}]}

Whatever cannot be answered gets a line `{"error": "…"}` that names the key. Each line is answered before more input is
waited for, so a program may write a line and read its answer.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import BinaryIO, Final

from cronfleet.domain import zones
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.time_text import parse_moment
from cronfleet.domain.trigger import Trigger, fires, parse_trigger

DEFAULT_COUNT: Final = 5
LARGEST_COUNT: Final = 10_000
LONGEST_LINE: Final = 65_536
"""Bytes. What is longer is answered with an error and not kept."""

_TRIGGER: Final = ("cron", "gap", "overlap", "dialect", "at", "every", "anchor")
_KEYS: Final = frozenset({*_TRIGGER, "calendar", "tz", "timezone", "after", "count", "lint"})
_KEY_OF_FIELD: Final = {"timezone": "tz"}


def answer(line: bytes, now: Callable[[], Instant]) -> str:
    """The JSON text that answers one line of input; `now` is asked only where the line has no `after`."""
    try:
        return json.dumps(_answer(_request(line), now))
    except Invalid as error:
        key = _KEY_OF_FIELD.get(error.field, error.field)
        return json.dumps({"error": f"{key}: {error.reason}" if key else error.reason})
    except Exception as error:
        # Our own mistake; said aloud, and it must not cost the other lines their answers.
        return json.dumps({"error": f"internal error, please report it: {error!r}"})


def _request(line: bytes) -> dict[str, object]:
    if len(line) > LONGEST_LINE:
        raise Invalid("", f"the line is longer than {LONGEST_LINE} bytes")
    if not line.strip():
        raise Invalid("", 'the line is empty; write one such as {"cron": "0 2 * * *", "tz": "Asia/Kolkata"}')
    try:
        request = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        raise Invalid("", f"the line is not UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise Invalid("", "the line is nested too deeply; it is one flat JSON object") from None
    except ValueError as error:
        raise Invalid("", f"the line is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise Invalid("", "the line is JSON but no object with a key cron, at or every")
    return {key: value for key, value in request.items() if value is not None}


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next((name for name in names if name in _KEYS and names.count(name) > 1), None)
        if twice is not None:
            raise Invalid(twice, "stands there twice; write each key once")
    return made


def _answer(request: dict[str, object], now: Callable[[], Instant]) -> dict[str, object]:
    after = parse_moment(request["after"], "after").instant("after") if "after" in request else now()
    count = _count(request.get("count", DEFAULT_COUNT))
    wants_lint = _truth(request.get("lint", False), "lint")
    if "tz" in request and "timezone" in request:
        raise Invalid("timezone", "and timezone are two names of one key; write one of them")
    timezone = _timezone(request.get("tz", request.get("timezone")))
    trigger = _trigger(request, after, timezone)
    if timezone is not None:
        zones.load(timezone)  # a wrong one is refused where the trigger needs none, too
    said: dict[str, object] = {"fires": [to_text(nominal_at) for nominal_at in islice(fires(trigger, after), count)]}
    return said | _lint(trigger, after) if wants_lint else said


def _trigger(request: dict[str, object], after: Instant, timezone: str | None) -> Trigger:
    fields: dict[str, object] = {key: request[key] for key in _TRIGGER if key in request}
    if "calendar" not in request:
        return parse_trigger(fields, after, timezone)
    from cronfleet.domain.calendar_change import bound_to, check_fires  # noqa: PLC0415 - lines without a calendar pay nothing for it
    from cronfleet.domain.calendar_form import inline  # noqa: PLC0415 - as above

    use, calendar = inline(request["calendar"])
    trigger = bound_to(parse_trigger({**fields, "calendar": use}, after, timezone), calendar)
    check_fires(trigger, after)
    return trigger


def _lint(trigger: Trigger, after: Instant) -> dict[str, object]:
    from cronfleet.domain.crowded import default_jitter  # noqa: PLC0415 - lines without lint pay nothing for it
    from cronfleet.domain.lint import lint_form, look_over  # noqa: PLC0415 - as above

    # As a schedule with this trigger would be spread that says nothing of it.
    return lint_form(look_over(trigger, after, jitter_seconds=default_jitter(trigger)))


def _truth(value: object, key: str) -> bool:
    if not isinstance(value, bool):
        raise Invalid(key, f"must be true or false, not {type(value).__name__}")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid("count", f"must be a whole number, not {type(value).__name__}")
    if not 1 <= value <= LARGEST_COUNT:
        raise Invalid("count", f"is not in 1 to {LARGEST_COUNT}")
    return value


def _timezone(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise Invalid("timezone", f"must be text, an IANA name such as Asia/Kolkata, not {type(value).__name__}")
    return value


def serve(stdin: BinaryIO, stdout: BinaryIO, now: Callable[[], Instant]) -> None:
    """Answers all lines of `stdin`: in blocks as they come, so that a waiting writer is never kept waiting."""
    for lines in _blocks(stdin):
        for line in lines:
            stdout.write(f"{answer(line, now)}\n".encode("ascii"))
        stdout.flush()


def _blocks(stdin: BinaryIO) -> Iterator[list[bytes]]:
    """The lines that have come, each time some have."""
    rest = b""
    while chunk := stdin.read1(LONGEST_LINE):  # type: ignore[attr-defined] # as BufferedReader and BytesIO have it
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield lines
        rest = rest[: LONGEST_LINE + 1]  # enough to see that it is too long
    if rest:
        yield [rest]


def main() -> int:
    """The command. Ends with the input; 1 if nobody takes the answers any more, 130 on Ctrl-C."""
    if sys.stdin is None or sys.stdout is None:
        print("preview reads lines from its input and answers on its output: both must be open", file=sys.stderr)
        return 1
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer, _now)
    except OSError as error:
        # Python flushes the stream once more on its way out; what cannot be delivered goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"the answers cannot be delivered: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _now() -> Instant:
    from cronfleet.adapters.system.clock import SystemClock  # noqa: PLC0415 - only a line without `after` needs a clock

    return SystemClock().now()


if __name__ == "__main__":
    sys.exit(main())
