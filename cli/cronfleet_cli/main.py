"""The command line: `cronfleet`, all of its commands, and nothing else."""

from typing import Annotated

import typer

from cronfleet_cli.commands import (
    alerting,
    applying,
    audit,
    breakers,
    bulk,
    calendars,
    dead_letters,
    forecasting,
    freezes,
    holds,
    installation,
    moving,
    operations,
    previewing,
    runs,
    schedules,
    tenants,
)

app = typer.Typer(
    name="cronfleet",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Schedules, runs, backfills and dead letters of a Cronfleet installation, over HTTP.",
    epilog="Exit codes: 0 done, 1 refused by the server or without its answer, 2 wrong use, "
    "3 `apply --plan` would change something.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _module in (applying, runs, operations, previewing, forecasting, moving, installation):
    _module.register(app)
_GROUPS = {
    "schedules": schedules.app,
    "backfills": operations.backfills,
    "operations": operations.app,
    "dead-letters": dead_letters.app,
    "breakers": breakers.app,
    "channels": alerting.channels,
    "incidents": alerting.incidents,
    "calendars": calendars.app,
    "freezes": freezes.app,
    "hold": holds.app,
    "bulk": bulk.app,
    "tenants": tenants.app,
    "keys": tenants.keys,
    "audit": audit.app,
}
for _name, _group in _GROUPS.items():
    app.add_typer(_group, name=_name)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - needed here alone, and slow

        try:
            typer.echo(version("cronfleet-cli"))
        except PackageNotFoundError:
            typer.echo("from a checkout")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Schedules, runs, backfills and dead letters of a Cronfleet installation, over HTTP."""
    del version


def main() -> None:
    """Run it; the process ends with its exit code."""
    app(prog_name="cronfleet")
