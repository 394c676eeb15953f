"""Crontabs: a whole file as candidates and refusals, as Debian's cron and cronie read it (crontab(5)).

- A job is five time fields or a macro, in the system's form the user, and the command: the rest of the line.
- An assignment `NAME = value` holds for the jobs below it, quotes around name or value are taken off, nothing in it is
  expanded. `CRON_TZ` is the zone of the times below it (cronie; Debian's cron has none). `TZ` is the command's zone
  alone, and not that of its times.
- In a command the first `%` ends it and begins its standard input, further ones are line breaks there; `\\%` is a `%`.
- `#` begins a comment only at the beginning of a line. There are no continued lines.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cronfleet.domain import imported
from cronfleet.domain.crontab_form import USER_NAME, Form, form_of_content, form_of_path, plain_form
from cronfleet.domain.errors import Invalid
from cronfleet.domain.imported import Candidate, Refusal, Sheet
from cronfleet.domain.instant import EARLIEST
from cronfleet.domain.trigger import parse_trigger

LONGEST_LINE: Final = 16_384
"""Characters; Debian's cron takes commands of up to 998."""
MAX_LINES: Final = 20_000
DEFAULT_ZONE: Final = "UTC"

_BLANKS: Final = " \t"
_ASSIGNMENT: Final = re.compile(
    r"""[ \t]*(?:"([^"]*)"|'([^']*)'|([A-Za-z_][^\s=]*))[ \t]*=[ \t]*(.*?)[ \t]*$""", re.DOTALL
)
_JOB: Final = re.compile(r"((?:[^ \t]+[ \t]+){4}[^ \t]+)(?:[ \t]+(.*))?", re.DOTALL)
_MACRO: Final = re.compile(r"(@every[ \t]+[^ \t]+|@[^ \t]+)(?:[ \t]+(.*))?", re.DOTALL | re.IGNORECASE)
_ONE_ZONE: Final = re.compile(r"[ \t]*(?:CRON_TZ|TZ)=[\"']?([\w/+-]+)[\"']?[ \t]+([*@\d].*)", re.DOTALL)
_TIME: Final = r"[\d*?][\d*,/?LW#-]*"
_ANACRON: Final = re.compile(
    rf"(?:\d+[ \t]+\d+[ \t]+(?!L\b|LW\b)(?!\S+[ \t]+{_TIME}[ \t])[A-Za-z]|@\w+[ \t]+\d+[ \t]+[A-Za-z])"
)
_ONE_MORE_TIME: Final = re.compile(rf"({_TIME}|(MON|TUE|WED|THU|FRI|SAT|SUN)([-,]\w{{3}})*)([ \t]|$)", re.IGNORECASE)
_SWITCHED_OFF: Final = re.compile(
    rf"[#\s]*(-?(?:{_TIME}[ \t]+){{3}}[\w*?][\w*,/?#-]*[ \t]+[\w*?][\w*,/?#-]*[ \t]+[^\s*|]"
    r"|@(reboot|hourly|daily|midnight|weekly|monthly|yearly|annually)[ \t]+\S)"
)
_RULER: Final = re.compile(
    r"\b(minutes?|mins?|hours?|days?|months?|weekday|week|year|dow|dom|mon)\b\W*"
    r"(0 ?[-–] ?59|0 ?[-–] ?23|1 ?[-–] ?(?:31|12|7)\b|0 ?[-–] ?[67]\b)"
    r"|[│┌└├]|command to be execute|^\W*m(in(ute)?s?)?\W+h(ou)?r?s?\W",
    re.IGNORECASE,
)
_PLACEHOLDER: Final = re.compile(r"\{\{|\$\{|\$\(|\$[A-Za-z_]|<[A-Za-z_ -]+>|@@?[A-Za-z_]+@|%[A-Z_]+%")
_COMMAND: Final = re.compile(r"(?:\\.|[^\\%]|\\$)*", re.DOTALL)
_PAIR: Final = re.compile(r"\\(.)", re.DOTALL)
_PERCENT: Final = re.compile(r"\\?%")
_FLAGS: Final = re.compile(r"(?:-[nqs]+[ \t]+)+")
_NOTHING_OF_ITS_OWN: Final = """
    cd test [ nice ionice sudo env flock bash sh zsh php python python2 python3 perl ruby node if then
    exec command && || ( { ; root /bin/sh /bin/bash /usr/bin/env timeout chronic -x -f -e ! . source
    export /usr/bin/php /usr/bin/python /usr/bin/python3 /usr/bin/perl /usr/bin/flock /usr/bin/test
"""
_NO_NAME: Final = frozenset(_NOTHING_OF_ITS_OWN.split())
_REPLACED: Final = "\ufffd"
_MAX_DELAY_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class Options:
    """How a file is to be read. `timezone` is that of the machine it comes from; `form` None: find out."""

    timezone: str | None = None
    form: Form | None = None
    path: str = ""
    tz_is_of_times: bool | None = None
    """Whether `TZ` is the zone of the times, too; None: only where the machine's is not given."""


@dataclass(slots=True)
class _State:
    """What the lines above say of the next one."""

    form: Form
    options: Options
    is_anacrontab: bool
    environment: dict[str, str] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    continued: bool = False
    seen: dict[tuple[str, ...], int] = field(default_factory=dict)

    def zone(self) -> tuple[str, tuple[str, ...]]:
        """The zone of the next job's times, and what is to be said of it."""
        given, tz = self.options.timezone, self.environment.get("TZ", "").lstrip(":")
        if named := self.environment.get("CRON_TZ", "").lstrip(":"):
            return named, ()
        if tz and (self.options.tz_is_of_times or (self.options.tz_is_of_times is None and given is None)):
            return tz, (f"TZ={tz} is taken for the zone of the times: cron takes it for the command's alone",)
        if tz and tz != given:
            said = f"TZ={tz} is the zone of the command, not of its times, which are in {given or DEFAULT_ZONE}"
            return given or DEFAULT_ZONE, (f"{said}; import with tz=times if your cron reads them in it",)
        return given or DEFAULT_ZONE, ()


def read(text: str, options: Options, not_utf8: frozenset[int] = frozenset()) -> Sheet:
    """The file `text` as a sheet. `not_utf8` holds the numbers of lines that were not UTF-8 and read as Latin-1."""
    lines = _lines(text)
    form, why = _form(lines, options)
    state = _State(form, options, "anacrontab" in options.path or "\nSTART_HOURS_RANGE" in f"\n{text}")
    counts = dict.fromkeys(("blank", "comments", "assignments"), 0)
    candidates: list[Candidate] = []
    refusals: list[Refusal] = []
    for number, line in enumerate(lines, 1):
        kind = _kind(line)
        if kind is not None:
            counts[kind] += 1
            _note(state, kind, line)
            continue
        try:
            notes = ("the line is not UTF-8 and was read as Latin-1",) if number in not_utf8 else ()
            candidates.append(_job(number, line, state, notes))
        except Invalid as error:
            refusals.append(Refusal(number, imported.shown(line), error.reason))
        state.comments.clear()
        state.continued = line.endswith("\\")
    counts |= {"lines": len(lines), "switched_off": sum(1 for line in lines if _is_switched_off(line))}
    return Sheet(tuple(candidates), tuple(refusals), counts, (why, *_notes(text, lines, options)))


def _lines(text: str) -> list[str]:
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    if len(lines) > MAX_LINES:
        raise Invalid("body", f"has {len(lines)} lines; {MAX_LINES} are read at a time. Send it in parts")
    return [line.rstrip("\r") for line in lines]


def _kind(line: str) -> str | None:
    """What a line is, unless it is a job: a kind of `counts`."""
    stripped = line.strip(_BLANKS)
    if not stripped:
        return "blank"
    if stripped.startswith("#"):
        return "comments"
    if len(line) > LONGEST_LINE or _ONE_ZONE.fullmatch(line) or imported.template_in(line):
        return None
    return "assignments" if _ASSIGNMENT.match(line) else None


def _note(state: _State, kind: str, line: str) -> None:
    """Keeps what a line that is no job says of those below it."""
    state.continued = False
    if kind == "comments":
        said = line.strip(_BLANKS).strip("#").strip()
        if _RULER.search(line):
            state.comments.clear()
        elif re.search(r"\w", said) and not _is_switched_off(line):
            state.comments.append(said)
        return
    state.comments.clear()
    if kind == "assignments":
        name, value = assignment(line)
        state.environment[name] = value


def assignment(line: str) -> tuple[str, str]:
    """Name and value of an assignment, without the quotes around them."""
    match = _ASSIGNMENT.match(line)
    if match is None:
        raise Invalid("line", "is no assignment")
    value = match[4]
    if value[:1] in ("'", '"') and (end := value.find(value[0], 1)) > 0:
        value = value[1:end]  # cron refuses what follows the quote; mostly it is a comment
    return match[1] or match[2] or match[3] or "", value


def _is_switched_off(line: str) -> bool:
    """Whether a comment holds a job, which somebody has switched off."""
    text = line.lstrip(_BLANKS)
    return text.startswith("#") and _SWITCHED_OFF.match(text) is not None and "command to be execute" not in text


def _form(lines: list[str], options: Options) -> tuple[Form, str]:
    if options.form is not None:
        return options.form, f"read in the {options.form} form, as asked"
    jobs = [line for line in lines if _kind(line) is None]
    rests = [rest for job in jobs if (rest := _split(_one_zone(job)[1])[1])]
    by_path, plain = form_of_path(options.path), plain_form(rests)
    if by_path is not None and plain in (None, by_path):
        return by_path, f"read in the {by_path} form, as {options.path} has it"
    form = plain or form_of_content(rests, (line for line in lines if _kind(line) == "comments"))
    other = "a user stands" if form is Form.SYSTEM else "no user stands"
    against = f", though {options.path} should have the {by_path} form" if by_path else ""
    return form, f"read in the {form} form: {other} before the commands, it seems{against}; form=… says otherwise"


def _notes(text: str, lines: list[str], options: Options) -> Iterator[str]:
    assigned = [assignment(line) for line in lines if _kind(line) == "assignments"]
    zones = [name for name, _ in assigned if name in ("CRON_TZ", "TZ")]
    if any(name == "MAILTO" and value for name, value in assigned):
        yield "nothing is mailed: failures stand in each run's history; MAILTO is in the payload, and a label"
    if options.timezone is None and not zones:
        yield f"no timezone was given, and the file names none: times are read in {DEFAULT_ZONE} (timezone=… to change)"
    elif options.timezone is None:
        yield f"no timezone was given: times that the file names no zone for are read in {DEFAULT_ZONE}"
    if "\r\n" in text:
        yield "lines end with CR LF: cron would hand the CR to each command; it is left out"


# --- one job ---------------------------------------------------------------------------------------------------


def _one_zone(line: str) -> tuple[str, str]:
    """The zone that stands before the times (`CRON_TZ=UTC 0 2 * * * …`, as robfig has it), and the rest."""
    match = _ONE_ZONE.fullmatch(line)
    return (match[1], match[2]) if match else ("", line)


def _split(line: str) -> tuple[str, str]:
    """The times and what follows them; of a line that is too short, what there is."""
    text = line.strip(_BLANKS)
    if text.startswith("-") and text[1:2] and text[1] in "*@0123456789":
        text = text[1:]
    match = _MACRO.fullmatch(text) if text.startswith("@") else _JOB.fullmatch(text)
    if match is None:
        return text, ""
    # Not `split()`: what else may look like a blank is refused as it is everywhere.
    return re.sub("[ \t]+", " ", match[1]), (match[2] or "").strip(_BLANKS)


def _job(number: int, line: str, state: _State, notes: tuple[str, ...]) -> Candidate:
    _check(line, state)
    zone, text = _one_zone(line)
    times, rest = _split(text)
    if state.form is Form.USER and _ONE_MORE_TIME.match(rest) and not times.startswith("@"):
        times, rest = f"{times} {rest.split()[0]}", ""  # which is refused with its six fields
    default_zone, said = ("", ()) if zone else state.zone()
    trigger = _trigger(times, zone or default_zone)
    parse_trigger(trigger, EARLIEST)
    user, rest = _user(rest, state, times)
    flags = _FLAGS.match(rest)
    if flags:
        rest = rest[flags.end() :]
        notes = (*notes, f"`{flags[0].strip()}` before the command is an option of BSD's cron")
    command, stdin = halves(rest)
    if not command.strip():
        raise Invalid("line", "has no command after its times" + (" and its user" if user else ""))
    environment = dict(state.environment)
    payload = {"command": command, "stdin": stdin, "user": user, "environment": environment}
    who = (user or "", rest)
    state.seen[who] = nth = state.seen.get(who, 0) + 1
    return Candidate(
        line=number,
        text=imported.shown(line),
        name=_name(command),
        identity=(*who, str(nth)),
        trigger=trigger,
        payload=payload,
        description=imported.description_of("\n".join(state.comments)),
        policies=_policies(environment, single="s" in (flags[0] if flags else "")),
        labels=_labels(user, environment),
        notes=(*notes, *said, *_further(line)),
    )


def _check(line: str, state: _State) -> None:
    """Refuses what is no job's line, whatever its times are."""
    text = line.strip(_BLANKS)
    if len(line) > LONGEST_LINE:
        raise Invalid("line", f"has {len(line)} characters; {LONGEST_LINE} are read")
    if _REPLACED in line or "\0" in line:
        raise Invalid(
            "line", "holds a byte that is no text: send the file as UTF-8, or as application/octet-stream for Latin-1"
        )
    found = imported.template_in(text) or _placeholder(text)
    if found:
        raise Invalid("line", f"is a template: `{found}` is to be filled in first; import what it makes")
    if state.continued:
        raise Invalid("line", "goes on a line that ends with a backslash: cron has no continued lines")
    if _ANACRON.match(text) or (state.is_anacrontab and not text.startswith("#")):
        raise Invalid(
            "line",
            "is a line of anacrontab (period in days, delay in minutes, name, command), which names no time of day: "
            "write a schedule with a cron expression, and a misfire policy for the times that were missed",
        )


def _placeholder(text: str) -> str | None:
    """A placeholder among the times."""
    times = " ".join(text.split()[: 1 if text.startswith("@") else 5])
    match = _PLACEHOLDER.search(times)
    return None if match is None else match[0]


def _user(rest: str, state: _State, times: str) -> tuple[str | None, str]:
    if state.form is Form.USER or not rest:
        return None, rest
    user = re.split(r"[ \t]", rest, maxsplit=1)[0]
    command = rest[len(user) :].strip(_BLANKS)
    if not USER_NAME.fullmatch(user):
        raise Invalid("line", f"has {user[:64]!r} where the system form has the user, after `{times}`")
    return user, command


def _trigger(times: str, zone: str) -> Mapping[str, object]:
    if times.lower().startswith("@every "):
        return {"every": imported.every_of(times.split()[1]), "anchor": imported.NATURAL_ANCHOR}
    if times.lower() == "@every_second":
        return {"every": "1s", "anchor": imported.NATURAL_ANCHOR}
    return {"cron": "* * * * *" if times.lower() == "@every_minute" else times, "timezone": zone}


def halves(text: str) -> tuple[str, str | None]:
    """The command and its standard input, which an unescaped `%` begins; None: it has none.

    Each further `%` is a line break, and the input ends with one, as cron gives it (do_command.c).
    """
    found = _COMMAND.match(text)
    end = found.end() if found else 0
    # Before the first `%` a backslash takes what follows it along (`\\%` is two of them, and the end of the command);
    # after it, only the one right before a `%` counts.
    command = _PAIR.sub(lambda pair: "%" if pair[1] == "%" else pair[0], text[:end])
    if end == len(text):
        return command, None
    stdin = _PERCENT.sub(lambda sign: "%" if sign[0] == "\\%" else "\n", text[end + 1 :])
    return command.rstrip(_BLANKS), stdin if stdin.endswith("\n") or not stdin else f"{stdin}\n"


def _name(command: str) -> str:
    for word in command.split():
        plain = word.strip("\"'`();{}&|")
        name = imported.slug(plain.rstrip("/").rpartition("/")[2])
        if name and plain not in _NO_NAME and not plain.startswith("-") and "=" not in plain:
            return name
    return "job"


def _policies(environment: Mapping[str, str], *, single: bool) -> dict[str, Any]:
    """Cron tries once. cronie puts jobs off by up to RANDOM_DELAY minutes."""
    policies: dict[str, Any] = {"retry": {"max_attempts": 1}}
    delay = environment.get("RANDOM_DELAY", "")
    if delay.isdecimal() and delay.isascii() and int(delay):
        policies["jitter_seconds"] = min(int(delay) * 60, _MAX_DELAY_SECONDS)
    return policies | ({"overlap": "skip"} if single else {})


def _labels(user: str | None, environment: Mapping[str, str]) -> dict[str, str]:
    found = {"user": imported.label_of(user or ""), "mailto": imported.label_of(environment.get("MAILTO", ""))}
    return {name: value for name, value in found.items() if value is not None}


def _further(line: str) -> Iterator[str]:
    if line.lstrip(_BLANKS).startswith("-"):
        yield "the `-` in front (no line in the system's log) has no meaning here"
    if "\r" in line:
        yield "a CR stands within the line, which cron hands to the command; it ends no line"
    if line.endswith("\\"):
        yield "the command ends with a backslash; cron does not join it with the next line"
