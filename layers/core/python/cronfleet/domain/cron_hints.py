"""What somebody who wrote something that is not a cron expression here probably meant.

Pure text: every function takes what was written and answers with half a sentence, or None where there is no good guess.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
FIELDS: Final = "minute, hour, day of month, month, day of week"

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
    """For text that belongs into another field of the trigger, or to another scheduler altogether."""
    if re.match(r"(CRON_)?TZ=", text, re.IGNORECASE):
        return "the zone is a field of its own: `timezone`"
    aws = re.match(r"(cron|rate|at)\s*\(", text, re.IGNORECASE)
    if aws:
        other = {
            "cron": "five fields",
            "rate": 'an interval trigger, {"every": "5m"},',
            "at": 'a one-shot trigger, {"at": …},',
        }
        return f"`{aws[1].lower()}(…)` is the dialect of AWS EventBridge; write {other[aws[1].lower()]} here"
    return None


def macro(word: str, known: Sequence[str]) -> str:
    """For a word with `@` in front that is not one of the `known`."""
    every = re.match(r"@every\s+(\S+)", word, re.IGNORECASE)
    if every:
        return f'an interval is a trigger of its own: {{"every": "{every[1]}"}}'
    if word.lower() == "@reboot":
        return 'a fleet has no boot to wait for: use a one-shot trigger, {"at": …}'
    return f"the macros are {', '.join(known)}"


def field_count(fields: Sequence[str]) -> str | None:
    """For an expression that does not have five fields."""
    if any(field.endswith(",") for field in fields[:-1]) or any(field.startswith(",") for field in fields[1:]):
        return "a list has no blanks: `1,2`"
    if len(fields) < 5:
        return None
    if re.search(r"[/\\.=]?[a-z_]{4,}|^/|\\", fields[5]):
        return "the command is the schedule's target, not part of the expression"
    if len(fields) in (6, 7) and _is_year(fields[-1], fields):
        return f"a year field is the dialect of AWS and Quartz: did you mean `{' '.join(fields[-6:-1])}`?"
    if not all(re.fullmatch(r"[\w*/,?#-]+", field, re.ASCII) for field in fields):
        return None
    seconds = re.fullmatch(r"\*/(\d{1,2})", fields[0])
    if seconds and set(fields[1:]) <= {"*", "?"}:
        return f'did you mean the interval trigger {{"every": "{int(seconds[1])}s"}}?'
    if fields[0] in ("0", "00"):
        return f"seconds are no field here: did you mean `{' '.join(fields[1:6])}`?"
    return 'seconds and years are no fields here; every ten seconds is an interval trigger, {"every": "10s"}'


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


def out_of_range(value: int, position: int, fields: Sequence[str]) -> str | None:
    """For a number too large or too small for the field at `position` (0 = minute)."""
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
