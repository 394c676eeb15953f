"""`python -m zone_report OLD NEW`: each schedule whose next year changes with the zone data; see `--help`."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from cronfleet.adapters.system.clock import SystemClock
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import DAY, Instant, to_text
from cronfleet.domain.time_text import parse_moment
from cronfleet.domain.zone_comparison import Compared, changed_zones, compare
from cronfleet.domain.zones import ZoneSource
from zone_report.releases import Unavailable, newest, source_of
from zone_report.schedules import Schedule, from_lines, from_service

NOTHING, CHANGED, USAGE = 0, 1, 2
KEY_VARIABLE: Final = "CRONFLEET_API_KEY"
WIDTH_IN_A_FILE: Final = 140
WIDTH_OF_TIME: Final = len("2026-12-01T02:30:00Z")
SHOWN: Final = 5
"""Dates of one schedule that are printed; `--json` has them all."""


def main(arguments: Sequence[str]) -> int:
    """0: nothing changes; 1: something does; 2: it could not be found out."""
    options = _parse(arguments)
    errors = Console(stderr=True, highlight=False)
    try:
        before, after = (source_of(text, options.cache) for text in _wanted(options))
        report = _report(options, before, after)
    except (Unavailable, Invalid, OSError, httpx.HTTPError) as error:
        errors.print(f"zone_report: {error}", markup=False)
        return USAGE
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        _print(report, Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_IN_A_FILE))
    return CHANGED if report["schedules"] or report["zones"] else NOTHING


def _wanted(options: Any) -> list[str]:
    if options.releases:
        return list(options.releases)
    return newest(2)[::-1]


def _report(options: Any, before: ZoneSource, after: ZoneSource) -> dict[str, Any]:
    start = parse_moment(options.after, "after").instant("after") if options.after else SystemClock().now()
    end = start + options.days * DAY
    looked = 0
    found = []
    for schedule in _shown(_schedules(options), silent=options.json):
        looked += 1
        compared = _compared(schedule, before, after, start, end)
        if compared is not None and compared.is_changed:
            found.append(_form(schedule, compared))
    return {
        "before": before.release,
        "after": after.release,
        "from": to_text(start),
        "to": to_text(end),
        "zones": list(changed_zones(before, after, start, end)),
        "zones_gone": sorted(before.names - after.names),
        "zones_new": sorted(after.names - before.names),
        "looked_at": looked,
        "schedules": found,
    }


def _schedules(options: Any) -> Iterator[Schedule]:
    if options.url:
        return from_service(options.url, os.environ[KEY_VARIABLE])
    if options.triggers is None:
        return iter(())
    return from_lines(sys.stdin if options.triggers == "-" else Path(options.triggers).open(encoding="utf-8"))


def _shown(schedules: Iterator[Schedule], *, silent: bool) -> Iterator[Schedule]:
    """The schedules, with a moving count on the terminal's error output while they last."""
    console = Console(stderr=True, quiet=silent and not sys.stderr.isatty())
    columns = (SpinnerColumn(), TextColumn("{task.completed} schedules looked at"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("")
        for schedule in schedules:
            yield schedule
            progress.advance(task)


def _compared(
    schedule: Schedule, before: ZoneSource, after: ZoneSource, start: Instant, end: Instant
) -> Compared | None:
    """`None` for what cannot fire any more by the release in force: that is no news."""
    try:
        return compare(partial(schedule.trigger, start), before, after, start, end)
    except Invalid as error:
        return None if "past" in error.reason else Compared(None, problem=str(error))


def _form(schedule: Schedule, compared: Compared) -> dict[str, Any]:
    return {
        "id": schedule.name,
        "trigger": dict(schedule.form),
        "changes": [
            {
                "local": None if one.local is None else to_text(one.local * 1_000).removesuffix("Z"),
                "before": None if one.before_at is None else to_text(one.before_at),
                "after": None if one.after_at is None else to_text(one.after_at),
            }
            for one in compared.differences
        ],
        "is_cut": compared.is_cut,
        "problem": compared.problem or None,
        "calendar_left_out": schedule.has_calendar,
    }


def _print(report: dict[str, Any], console: Console) -> None:
    console.print(f"Zone data {report['before']} → {report['after']}, {report['from']} to {report['to']}")
    for name, words in (("zones", "whose clocks change"), ("zones_gone", "gone"), ("zones_new", "new")):
        if report[name]:
            console.print(f"Zones {words} ({len(report[name])}): {', '.join(report[name])}")
    if report["looked_at"]:
        console.print(f"{len(report['schedules'])} of {report['looked_at']} schedules change.")
    if not report["schedules"]:
        return
    console.print(f"\nEach local time, when it comes by {report['before']} → and when by {report['after']}:")
    for schedule in report["schedules"]:
        console.print()
        for line in _lines(schedule):
            console.print(line, markup=False)


def _lines(schedule: dict[str, Any]) -> Iterator[str]:
    """One schedule in lines that fit into 80 columns, if its name and trigger do."""
    trigger = schedule["trigger"]
    parts = (schedule["id"], trigger.get("cron") or trigger.get("at"), trigger.get("timezone"))
    yield "  ".join(str(part) for part in parts if part)
    if schedule["problem"]:
        yield f"  {schedule['problem']}"
    for one in schedule["changes"][:SHOWN]:
        local, before, after = (one[name] or "–" for name in ("local", "before", "after"))
        yield f"  {local:{WIDTH_OF_TIME}}  {before:{WIDTH_OF_TIME}} → {after}"
    left = len(schedule["changes"]) - SHOWN
    if left > 0:
        yield f"  and {left}{'+' if schedule['is_cut'] else ''} more"


def _parse(arguments: Sequence[str]) -> Any:
    parser = argparse.ArgumentParser(
        prog="python -m zone_report",
        description="What a new release of the zone data changes: zones, and schedules with the dates of their next "
        "year. Ends with 1 if anything changes, 0 if nothing does, 2 if that could not be found out.",
    )
    parser.add_argument(
        "releases", nargs="*", metavar="RELEASE", help="old and new: folders, or versions of the tzdata package "
        "(2026.5 2026.6), which pip fetches; left out, the two newest there are",
    )  # fmt: skip
    parser.add_argument("--triggers", metavar="FILE", help="JSON lines as the preview takes them (- for the input)")
    parser.add_argument("--url", help=f"a tenant's schedules over HTTP; its API key stands in {KEY_VARIABLE}")
    parser.add_argument("--after", help="where the comparison begins, RFC 3339; now, if left out")
    parser.add_argument("--days", type=_days, default=366, help="how far it reaches (default 366)")
    parser.add_argument("--cache", type=Path, help="where fetched packages are kept")
    parser.add_argument("--json", action="store_true", help="all of it, as JSON")
    options = parser.parse_args(arguments)
    if len(options.releases) not in (0, 2):
        parser.error("give two releases, or none")
    if options.url and options.triggers:
        parser.error("--url and --triggers are two sources: give one")
    if options.url and not os.environ.get(KEY_VARIABLE):
        parser.error(f"set {KEY_VARIABLE} to the tenant's API key")
    return options


def _days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 36_600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of days from 1 to 36600")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
