"""What somebody who wrote something that is not a cron expression here probably meant.

Pure text: every function takes what was written and answers with half a sentence, or None where there is no good guess.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from cronfleet.domain.errors import Invalid
from cronfleet.domain.time_text import interval_text

MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
FIELDS: Final = "minute, hour, day of month, month, day of week"

COMMENT: Final = "a comment is the schedule's `description`, not part of the expression"
_WORDS: Final = frozenset({*MONTHS, *WEEKDAYS, "L", "W", "LW", "H", "R"})
_DASHES: Final = "‐‑‒–—―−"
_STARS: Final = "∗⁎✱"
_INVISIBLE: Final = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
_LOOKALIKES: Final = str.maketrans(_DASHES + _STARS, "-" * len(_DASHES) + "*" * len(_STARS), _INVISIBLE)


def did_you_mean(text: str) -> str | None:
    """`text` as a suggestion, if it would be accepted itself."""
    return f"did you mean `{text}`?" if is_accepted(text) else None


def is_accepted(text: str) -> bool:
    """Whether `text` is an expression: whoever follows a suggestion must not be refused again."""
    from cronfleet.domain import aws_dialect, cron  # noqa: PLC0415 - they ask for hints in turn
    from cronfleet.domain.cron_grammar import Dialect  # noqa: PLC0415 - as above

    try:
        read = aws_dialect.read(text)
        if isinstance(read, str):
            cron.parse(read, Dialect.AWS if aws_dialect.is_wrapped(read) else Dialect.CRON)
    except Invalid:
        return False
    return True


def character(text: str, at: int) -> str:
    """Names the character of `text` at index `at`, so that an invisible one can be seen too."""
    char = text[at]
    shown = repr(char) if char.isprintable() and not char.isspace() else f"U+{ord(char):04X}"
    return f"character {at + 1} ({shown})"


def in_ascii(text: str) -> str | None:
    """The same in ASCII, where its look-alikes make that plain."""
    plain = unicodedata.normalize("NFKC", text.translate(_LOOKALIKES)).strip()
    return did_you_mean(plain) if plain and plain.isascii() and plain.isprintable() else None


def not_a_cron(text: str) -> str | None:
    """For text that belongs into another field of the schedule, or to another dialect altogether."""
    zone = re.match(r"(CRON_)?TZ\s*=", text, re.IGNORECASE)
    if zone:
        return f"`{zone[0]}` (character 1) is not part of an expression; the zone is a field of its own: `timezone`"
    comment = re.search(r"^#| #(?!\d+$)", text)
    if comment:
        return f"`#` (character {comment.end()}): {COMMENT}"
    quoted = re.fullmatch(r"([\"'`])([^\"'`]+)\1", text)
    if quoted and is_accepted(quoted[2]):
        return f"`{text[0]}` (character 1) is not part of an expression; did you mean `{quoted[2]}`?"
    aws = re.match(r"(cron|rate|at)\s*\(", text, re.IGNORECASE)
    if aws:
        return f'`{aws[1].lower()}(…)` is the dialect of AWS EventBridge: leave `dialect` out, or make it "aws"'
    return None


def macro(word: str, known: Sequence[str]) -> str:
    """For a word with `@` in front that is not one of the `known`."""
    if re.match(r"@every\b", word, re.IGNORECASE):
        return f'an interval is a trigger of its own: {{"every": "{_interval(word[6:].strip())}"}}'
    if word.lower() == "@reboot":
        return 'a fleet has no boot to wait for: use a one-shot trigger, {"at": …}'
    return f"the macros are {', '.join(known)}"


def _interval(duration: str) -> str:
    """A Go duration (`1h30m`) as an interval; an example where it is none of whole seconds."""
    parts = re.findall(r"(\d{1,6})([hms])", duration)
    seconds = sum(int(number) * {"h": 3_600, "m": 60, "s": 1}[unit] for number, unit in parts)
    is_whole = "".join(number + unit for number, unit in parts) == duration
    return interval_text(seconds) if seconds and is_whole else "5m"


def odd_field(fields: Sequence[str], wanted: int, start: int = 0) -> str:
    """Where an expression of too few or too many fields goes wrong; `start` is the index of its first character."""
    if len(fields) > wanted:
        at = start + len(" ".join(fields[:wanted])) + 1
        return f" and then `{fields[wanted]}` (character {at + 1})"
    return f", and ends after `{fields[-1]}` (character {start + len(' '.join(fields))})"


def field_count(fields: Sequence[str]) -> str | None:
    """For an expression that does not have five fields."""
    if any(field.endswith(",") for field in fields[:-1]) or any(field.startswith(",") for field in fields[1:]):
        return "a list has no blanks: `1,2`"
    if len(fields) < 5:
        return None
    if fields[5].startswith("#"):
        return COMMENT
    if re.search(r"^[/.~$]|[\\=]", fields[5]) or not set(re.findall(r"[A-Z]+", fields[5].upper())) <= _WORDS:
        return "the command is the schedule's target, not part of the expression"
    if len(fields) in (6, 7) and _is_year(fields[-1], fields):
        return _with_year(fields)
    if not all(re.fullmatch(r"[\w*/,?#-]+", field, re.ASCII) for field in fields):
        return None
    return _seconds(fields)


def _seconds(fields: Sequence[str]) -> str:
    """For six fields or more that hold nothing but what could be a field, and no year."""
    if len(fields) == 6 and re.search("[A-Z]", fields[5].upper()):
        in_list = did_you_mean(" ".join([*fields[:4], f"{fields[4]},{fields[5]}"]))  # `MON FRI`
        if in_list:
            return f"a list has no blanks: {in_list}"
    seconds = re.fullmatch(r"(?:\*|0)/(\d{1,2})|\*", fields[0])
    if seconds and set(fields[1:]) <= {"*", "?"} and seconds[1] != "0":
        return f'did you mean the interval trigger {{"every": "{int(seconds[1] or 1)}s"}}?'
    meant = did_you_mean(" ".join(_in_five(fields[1:6]))) if fields[0] in ("0", "00") else None
    if meant:
        meant = f"seconds are no field here: {meant}"
        five, six = " ".join(fields[:5]), f"cron({' '.join(_in_six(fields[:5]))})"
        if fields[5] != "*" or len(fields) != 6 or not (is_accepted(five) and is_accepted(six)):
            return meant
        return f"{meant} If the last is a year, write `{five}`, or in the dialect of AWS `{six}`"
    return 'seconds and years are no fields here; every ten seconds is an interval trigger, {"every": "10s"}'


def _with_year(fields: Sequence[str]) -> str:
    """For six or seven fields that end with a year: AWS's, or Quartz's with its seconds."""
    five, six = did_you_mean(" ".join(_in_five(fields[-6:-1]))), f"cron({' '.join(fields[-6:])})"
    if not is_accepted(six):
        return "a year field is the dialect of AWS and Quartz" + (f": {five}" if five else "")
    return f"a year field is the dialect of AWS: write `{six}`" + (f"; or {five}" if five else "")


def _in_five(fields: Sequence[str]) -> list[str]:
    """The same five fields for crontab's reader. Who writes a `?` counts days of the week from 1 = SUN."""
    return [*fields[:4], _named(fields[4], 1) if "?" in fields[2] else fields[4]]


def _named(weekday: str, sunday: int) -> str:
    """A day-of-week field with names for its numbers, the first of which is `sunday`; a step or `#` keeps its own."""
    return re.sub(r"(?<![#/\d])[0-7](?!\d)", lambda found: WEEKDAYS[(int(found[0]) - sunday) % 7], weekday)


def aws_field_count(fields: Sequence[str]) -> str | None:
    """For an expression of the AWS dialect that does not have six fields."""
    if any(field.startswith("#") for field in fields):
        return COMMENT
    if len(fields) == 5:
        return did_you_mean(f"cron({' '.join(_in_six(fields))})")
    without = did_you_mean(f"cron({' '.join(fields[1:])})") if len(fields) == 7 and fields[0] in ("0", "00") else None
    return without and f"seconds are no field here: {without}"


def _in_six(fields: Sequence[str]) -> list[str]:
    """Crontab's five fields in the AWS dialect, as far as that can say them."""
    minute, hour, month_day, month, weekday = fields
    if "?" in (month_day, weekday):
        return [*fields, "*"]
    if weekday == "*":
        return [minute, hour, month_day, month, "?", "*"]
    return [minute, hour, "?", month, _named(weekday, 0), "*"]


def aws_day_fields(fields: Sequence[str]) -> str | None:
    """For six fields of which not exactly one day field is `?`."""
    month_day, weekday = fields[2], fields[4]
    if month_day == "?":
        meant = [*fields[:2], "*", *fields[3:]]
    elif weekday == "*":
        meant = [*fields[:4], "?", fields[5]]
    elif month_day == "*":
        meant = [*fields[:2], "?", *fields[3:]]
    else:
        return "days of the month or days of the week are two schedules there"
    text = " ".join(meant)
    return f"did you mean `{text}`?" if is_accepted(f"cron({text})") else None


def _is_year(last: str, fields: Sequence[str]) -> bool:
    return bool(re.fullmatch(r"\d{4}([-,/]\d+)*", last)) or (last == "*" and "?" in fields)


def word(text: str, field: str) -> str | None:
    """For an item with letters that is nothing the field `field` knows."""
    upper = text.upper()
    if "~" in upper or re.match(r"[HR](\(|/|$)", upper):
        return "to spread jobs out, set the policy `jitter_seconds`"
    if field == "day of week" and re.fullmatch("WEEKDAYS?|WORKDAYS?|WEEKENDS?", upper):
        return f"write `{'SAT,SUN' if upper.startswith('WEEKEND') else 'MON-FRI'}`"
    hour = re.fullmatch(r"(\d{1,2})(AM|PM)", upper) if field == "hour" else None
    if hour and 1 <= int(hour[1]) <= 12:
        return f"hours go from 0 to 23: `{int(hour[1]) % 12 + 12 * (hour[2] == 'PM')}`"
    short = upper[:3]
    if short in WEEKDAYS:
        return (
            f"names of days have three letters: `{short}`"
            if field == "day of week"
            else f"{short} is a day of the week, the fifth field"
        )
    if short in MONTHS:
        return (
            f"names of months have three letters: `{short}`"
            if field == "month"
            else f"{short} is a month, the fourth field"
        )
    if re.fullmatch(r"L\d", upper) and field == "day of week":
        return f"the last one of a month is `{upper[1]}L`"
    if upper == "L" and field == "day of week":
        return "name the day: `6L` is the last Saturday of the month"
    if re.fullmatch(r"W\d+", upper):
        return f"did you mean `{upper[1:]}W`?"
    if re.fullmatch(r"[\dLW/-]+|LAST.*", upper) and re.search("[LW]", upper):
        return "`L`, `L-3`, `15W` and `LW` belong to the day of month, `5L` to the day of week"
    return None


def after_hash(text: str) -> str:
    """For a day of week with a `#` that is no number of one."""
    last = re.fullmatch(r"(\w{1,3})#(L|LAST|-1)", text, re.ASCII | re.IGNORECASE)
    if last:
        return f"the last one of a month is `{last[1]}L`"
    if re.search(r"#\D", text) and not re.search(r"#[A-Za-z]{3}$", text):
        return COMMENT
    return "one day and a number 1 to 5: `MON#2` is the second Monday of the month"


def out_of_range(value: int, position: int, fields: Sequence[str], low: int = 0) -> str | None:
    """For a number too large or too small for the field at `position` (0 = minute), which begins at `low`."""
    if position == 4 and value == 0 < low:
        return "the week begins with SUN, which is 1 in this dialect"
    if position == 0 and value == 60:
        return "the full hour is minute 0"
    if position == 1 and value == 24:
        return "midnight is hour 0"
    swapped = {1: (0, 23, 59), 3: (2, 12, 31)}.get(position)
    if swapped is None:
        return None
    other, fits_here, fits_there = swapped
    if (
        fields[position].isdigit()
        and low <= value <= fits_there
        and fields[other].isdigit()
        and low <= int(fields[other]) <= fits_here
    ):
        turned = list(fields)
        turned[position], turned[other] = fields[other], fields[position]
        text = " ".join(turned)
        return f"did you mean `{text}`?" if is_accepted(text if len(fields) == 5 else f"cron({text})") else None
    return None
