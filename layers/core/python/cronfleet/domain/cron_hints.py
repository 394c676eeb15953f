"""What somebody who wrote something that is not a cron expression here probably meant.

Pure text: every function takes what was written and answers with half a sentence, or None where there is no good guess.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

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


def character(text: str, at: int) -> str:
    """Names the character of `text` at index `at`, so that an invisible one can be seen too."""
    char = text[at]
    shown = repr(char) if char.isprintable() and not char.isspace() else f"U+{ord(char):04X}"
    return f"character {at + 1} ({shown})"


def in_ascii(text: str) -> str | None:
    """The same in ASCII, where its look-alikes make that plain."""
    plain = unicodedata.normalize("NFKC", text.translate(_LOOKALIKES)).strip()
    return f"did you mean `{plain}`?" if plain and plain.isascii() and plain.isprintable() else None


def not_a_cron(text: str) -> str | None:
    """For text that belongs into another field of the schedule, or to another dialect altogether."""
    if re.match(r"(CRON_)?TZ=", text, re.IGNORECASE):
        return "the zone is a field of its own: `timezone`"
    if re.search(r"^#| #(?!\d+$)", text):
        return COMMENT
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
    seconds = re.fullmatch(r"(?:\*|0)/(\d{1,2})|\*", fields[0])
    if seconds and set(fields[1:]) <= {"*", "?"} and seconds[1] != "0":
        return f'did you mean the interval trigger {{"every": "{int(seconds[1] or 1)}s"}}?'
    if fields[0] in ("0", "00"):
        meant = f"seconds are no field here: did you mean `{' '.join(_in_five(fields[1:6]))}`?"
        if fields[5] != "*" or len(fields) != 6:
            return meant
        six = " ".join(_in_six(fields[:5]))
        return f"{meant} If the last is a year, write `{' '.join(fields[:5])}`, or in the dialect of AWS `cron({six})`"
    return 'seconds and years are no fields here; every ten seconds is an interval trigger, {"every": "10s"}'


def _with_year(fields: Sequence[str]) -> str:
    """For six or seven fields that end with a year: AWS's, or Quartz's with its seconds."""
    five = " ".join(_in_five(fields[-6:-1]))
    if (fields[-4] == "?") == (fields[-2] == "?"):
        return f"a year field is the dialect of AWS and Quartz: did you mean `{five}`?"
    return f"a year field is the dialect of AWS: write `cron({' '.join(fields[-6:])})`; or did you mean `{five}`?"


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
        return f"did you mean `cron({' '.join(_in_six(fields))})`?"
    if len(fields) == 7 and fields[0] in ("0", "00"):
        return f"seconds are no field here: did you mean `cron({' '.join(fields[1:])})`?"
    return None


def _in_six(fields: Sequence[str]) -> list[str]:
    """Crontab's five fields in the AWS dialect, as far as that can say them."""
    minute, hour, month_day, month, weekday = fields
    if "?" in (month_day, weekday):
        return [*fields, "*"]
    if weekday == "*":
        return [minute, hour, month_day, month, "?", "*"]
    return [minute, hour, "?", month, _named(weekday, 0), "*"]


def aws_day_fields(fields: Sequence[str]) -> str:
    """For six fields of which not exactly one day field is `?`."""
    month_day, weekday = fields[2], fields[4]
    if month_day == "?":
        return f"did you mean `{' '.join([*fields[:2], '*', *fields[3:]])}`?"
    if weekday == "*":
        return f"did you mean `{' '.join([*fields[:4], '?', fields[5]])}`?"
    if month_day == "*":
        return f"did you mean `{' '.join([*fields[:2], '?', *fields[3:]])}`?"
    return "days of the month or days of the week are two schedules there"


def _is_year(last: str, fields: Sequence[str]) -> bool:
    return bool(re.fullmatch(r"\d{4}([-,/]\d+)*", last)) or (last == "*" and "?" in fields)


def word(text: str, field: str) -> str | None:
    """For an item with letters that is nothing the field `field` knows."""
    upper = text.upper()
    if re.match(r"[HR](\(|/|$)", upper):
        return "to spread jobs out, set the policy `jitter_seconds`"
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
    if "W" in upper or "L" in upper:
        return "`L`, `L-3`, `15W` and `LW` belong to the day of month, `5L` to the day of week"
    return None


def after_hash(text: str) -> str:
    """For a day of week with a `#` that is no number of one."""
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
        and value <= fits_there
        and fields[other].isdigit()
        and int(fields[other]) <= fits_here
    ):
        turned = list(fields)
        turned[position], turned[other] = fields[other], fields[position]
        return f"did you mean `{' '.join(turned)}`?"
    return None
