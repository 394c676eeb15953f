"""Arguments and options that several commands share."""

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from cronfleet_cli.api import PAGE, Api, at
from cronfleet_cli.errors import NoAnswer, Refused, WrongUse
from cronfleet_cli.profiles import connection_of

MAX_LISTED: Final = 100_000
COMPLETIONS: Final = 30


def complete_schedule(incomplete: str) -> list[str]:
    """Schedules whose id begins as what is typed; none where the server does not answer at once."""
    try:
        api = Api(connection_of(os.environ, None, None), patient=False)
        page = api.get(at("schedules"), {"prefix": incomplete, "limit": COMPLETIONS})
    # A shell that completes has nobody to tell about errors; the command itself will.
    except (Refused, NoAnswer, WrongUse):
        return []
    return [str(schedule["id"]) for schedule in page["schedules"]]


Schedule = Annotated[str, typer.Argument(metavar="SCHEDULE", help="Its id.", autocompletion=complete_schedule)]
SomeSchedule = Annotated[
    str | None, typer.Option("--schedule", help="Of this schedule only.", autocompletion=complete_schedule)
]
RunId = Annotated[str, typer.Argument(metavar="RUN_ID", help="As `runs` shows it.")]
Labels = Annotated[list[str] | None, typer.Option("--label", "-l", help="NAME=VALUE; several must all be true.")]
Reason = Annotated[str, typer.Option("--reason", "-r", help="Why; goes to the audit log.")]
NeededReason = Annotated[str, typer.Option("--reason", "-r", help="Why; goes to the audit log.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would be.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=MAX_LISTED, help="At most so many.")]
From = Annotated[str | None, typer.Option("--from", help="From this time on, as 2026-12-01T02:00:00Z.")]
To = Annotated[str | None, typer.Option("--to", help="Up to this time.")]
Payload = Annotated[str | None, typer.Option("--payload", help="JSON, or @FILE; instead of the schedule's.")]
File = Annotated[Path, typer.Option("--file", "-f", help="A file; - is standard input.")]
Expected = Annotated[int | None, typer.Option(min=0, help="Refuse if another number matches.")]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Show its progress until it ends.")]

DEFAULT_LIMIT: Final = PAGE
