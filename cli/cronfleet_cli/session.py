"""A session: one command, from its options to its exit code. Every command is registered with `command`."""

import inspect
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import Parameter
from typing import Annotated, Any, Final

import typer
from rich.console import RenderableType

from cronfleet_cli.api import PAGE, Api
from cronfleet_cli.errors import INTERRUPTED, REFUSED, WRONG_USE, NoAnswer, Refused, WrongUse
from cronfleet_cli.profiles import connection_of
from cronfleet_cli.screen import Column, Output, Screen, fields, table

_PANEL: Final = "Everywhere"

OutputOption = Annotated[
    Output, typer.Option("--output", "-o", help="For people, or for programs.", rich_help_panel=_PANEL)
]
ProfileOption = Annotated[
    str | None,
    typer.Option("--profile", help="Which installation: a name of the configuration.", rich_help_panel=_PANEL),
]
TenantOption = Annotated[
    str | None, typer.Option("--tenant", help="The tenant to act for; for platform admins.", rich_help_panel=_PANEL)
]
OnceOption = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key",
        help="The same key with the same command makes it one, however often it is sent. Without, each is its own.",
        rich_help_panel=_PANEL,
    ),
]

# Named so that no argument of a command is named the same.
_COMMON: Final[tuple[tuple[str, Any, Any], ...]] = (
    ("session_output", OutputOption, Output.TABLE),
    ("session_profile", ProfileOption, None),
    ("session_tenant", TenantOption, None),
    ("session_once", OnceOption, None),
)


@dataclass(slots=True)
class Session:
    """What a command works with: the screen, and the API, to which it connects when it is first asked."""

    screen: Screen
    profile: str | None = None
    tenant: str | None = None
    idempotency_key: str | None = None
    _api: Api | None = None

    @property
    def api(self) -> Api:
        """The installation; raises `WrongUse` where nothing names one."""
        if self._api is None:
            connection = connection_of(os.environ, self.profile, self.tenant)
            self._api = Api(connection, once=self.idempotency_key)
        return self._api

    def own_tenant(self) -> str:
        """The tenant that a path needs: that of `--tenant` or the profile; raises `WrongUse`."""
        tenant = self.api.connection.tenant
        if not tenant:
            raise WrongUse("which tenant? Write --tenant, set CRONFLEET_TENANT, or give the profile a tenant")
        return tenant

    def answer(self, data: Any, *parts: RenderableType) -> None:
        """The result: `data` for programs, `parts` for people."""
        if self.screen.is_json:
            self.screen.json(data)
        else:
            self.screen.show(*parts)

    def answer_with(self, data: Any, sentence: str) -> None:
        """A result of which people need one sentence."""
        if self.screen.is_json:
            self.screen.json(data)
        else:
            self.screen.say(sentence, "green")

    def answer_fields(self, data: Any, leave_out: Iterable[str] = ()) -> None:
        """An object, all of it."""
        self.answer(data, fields(data, leave_out))

    def answer_list(self, data: Any, name: str, columns: Iterable[Column], title: str = "") -> None:
        """A list; that more could be asked for is said."""
        self.answer(data, table(data[name], list(columns), title or name))
        if data.get("cursor") and not self.screen.is_json:
            self.screen.note(f"There are more than these {len(data[name])}: raise --limit, or narrow the question.")

    def list(self, path: str, name: str, columns: Iterable[Column], limit: int = PAGE, **query: Any) -> None:
        """Read a list, page by page, and show it."""
        self.answer_list(self.api.listed(path, name, query, limit), name, columns)

    def close(self) -> None:
        """Let go of the connection."""
        if self._api is not None:
            self._api.close()


def command(
    app: typer.Typer, name: str | None = None, **more: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function whose first parameter is a `Session` and whose others are its arguments and options.

    The options that every command has are added; what goes wrong is shown and becomes the exit code.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True)
        _, *own = signature.parameters.values()

        def run(**given: Any) -> None:
            output, profile, tenant, once = (given.pop(option) for option, _, _ in _COMMON)
            _carry_out(function, Session(Screen(output), profile, tenant, once), given)

        common = [
            Parameter(option, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for option, kind, default in _COMMON
        ]
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        # Typer looks at the signature to know what can be written.
        vars(run)["__signature__"] = inspect.Signature([*own, *common])
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *common]}
        app.command(name, **more)(run)
        return function

    return register


def _carry_out(function: Callable[..., None], session: Session, given: dict[str, Any]) -> None:
    screen = session.screen
    try:
        function(session, **given)
    except Refused as refused:
        screen.refusal(refused)
        raise typer.Exit(REFUSED) from refused
    except NoAnswer as silence:
        screen.note(str(silence), "bold red")
        raise typer.Exit(REFUSED) from silence
    except WrongUse as wrong:
        screen.note(f"Error: {wrong}", "bold red")
        raise typer.Exit(WRONG_USE) from wrong
    except KeyboardInterrupt as interrupt:
        raise typer.Exit(INTERRUPTED) from interrupt
    except BrokenPipeError as gone:
        # Whoever read the output has seen enough (`| head`); Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from gone
    finally:
        session.close()
