"""What a function asks AWS for, found by reading its code: programs of a few lines, each hiding a call another way."""

import inspect
from pathlib import Path

import pytest

from cronfleet.adapters.dynamodb.database import Database
from permissions.atoms import VERBS
from permissions.compare import Code, judged
from permissions.needs import Unknown, of_code
from permissions.templates import Part, Statement

DATABASE = """
class Database:
    def get(self, table, partition, sort): ...
"""
STORE = """
from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.dynamodb.database import Database

class Runs:
    def __init__(self, database: Database) -> None:
        self._database = database

    def get_run(self, key: str) -> object:
        return self._database.get(schema.RUNS, key, "a")

    def put_run(self, key: str) -> None:
        place = (schema.RUNS, key, "a")
        self._database.update(*place, "b")

    def claim(self, changes: list[str]) -> None:
        self._database.update_all(schema.SCHEDULES, changes)

    def due(self) -> object:
        return self._database.query(schema.SCHEDULES, "a", {}, limit=1, index=schema.DUE)

    def commit(self, writes: list["Write"]) -> None:
        self._database.transact([_action(self._database, write) for write in writes], "token")

def _action(database: Database, write: "Write"):
    table = schema.AUDIT if isinstance(write, PutEntry) else schema.CALENDARS
    match write:
        case PutEntry():
            return {"Put": {"TableName": database.name(schema.AUDIT), "Item": {}}}
        case CheckCalendar():
            return {"ConditionCheck": {"TableName": database.name(schema.CALENDARS), "Key": {}}}

from cronfleet.ports.writes import CheckCalendar, PutEntry, Write
"""
PORT = """
class PutEntry:
    entry: str
class CheckCalendar:
    name: str
Write = PutEntry | CheckCalendar
"""
BOOTSTRAP = """
from cronfleet.adapters.dynamodb.runs import Runs
from cronfleet.adapters.dynamodb.database import Database

def store() -> Runs:
    return Runs(Database())
"""


def code(folder: Path, handler: str) -> Code:
    files = {
        "layers/core/python/cronfleet/adapters/dynamodb/database.py": DATABASE,
        "layers/core/python/cronfleet/adapters/dynamodb/runs.py": STORE,
        # Its tables are those of the real one.
        "layers/core/python/cronfleet/adapters/dynamodb/schema.py": "",
        "layers/core/python/cronfleet/ports/writes.py": PORT,
        "layers/core/python/cronfleet/bootstrap.py": BOOTSTRAP,
        "functions/api/handler.py": f"from cronfleet import bootstrap\n{handler}",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return Code(folder)


def found(folder: Path, handler: str) -> set[tuple[str, str, str]]:
    return {(one.operation, one.on, one.index) for one in code(folder, handler).requests("api")}


GET = {("get", "runs", "")}


@pytest.mark.parametrize(
    ("handler", "asked"),
    [
        ("def handle(event): return None", set()),
        ("def handle(event): return bootstrap.store().get_run('a')", GET),
        ("def handle(event): return [run for run in map(bootstrap.store().get_run, event)]", GET),
        ("from functools import partial\ndef handle(event): return partial(bootstrap.store().get_run, 'a')()", GET),
        ("def ask(call): return call()\ndef handle(event): return ask(lambda: bootstrap.store().get_run('a'))", GET),
        (
            (
                "class Holder:\n    def __init__(self, inner): self.inner = inner\n    @property\n"
                "    def run(self): return self.inner.get_run('a')\n"
                "def handle(event): return Holder(bootstrap.store()).run"
            ),
            GET,
        ),
        ("STEPS = {'a': lambda store: store.get_run('a')}\ndef handle(event): STEPS['a'](bootstrap.store())", GET),
        (
            (
                "def handle(event):\n    kept = None\n    def decide():\n        nonlocal kept\n"
                "        kept = bootstrap.store()\n    decide()\n    return kept.get_run('a')"
            ),
            GET,
        ),
        ("def handle(event): bootstrap.store().put_run('a')", {("update", "runs", "")}),
        ("def handle(event): bootstrap.store().claim([])", {("update_all", "schedules", "")}),
        ("def handle(event): bootstrap.store().due()", {("query", "schedules", "due")}),
        (
            "from cronfleet.ports.writes import PutEntry\ndef handle(event): bootstrap.store().commit([PutEntry('a')])",
            {("Put", "audit", "")},
        ),
        (
            (
                "from cronfleet.ports.writes import CheckCalendar\n"
                "def handle(event):\n    writes = []\n    writes.append(CheckCalendar('a'))\n"
                "    bootstrap.store().commit(writes)"
            ),
            {("ConditionCheck", "calendars", "")},
        ),
    ],
)
def test_a_call_is_found_however_it_is_reached(tmp_path: Path, handler: str, asked: set[tuple[str, str, str]]) -> None:
    assert found(tmp_path, handler) == asked


ROLE = [Statement(("dynamodb:GetItem",), ("arn:aws:dynamodb:REGION:ACCOUNT:table/cronfleet-runs",))]
HANDLER = "def handle(event): return bootstrap.store().get_run('a')"


def test_what_is_asked_for_and_granted_is_right_and_all_else_is_named(tmp_path: Path) -> None:
    part = Part("api", "api", "role")
    needs = list(of_code(part, code(tmp_path, HANDLER).requests("api"), "cronfleet"))
    assert judged(part, needs, ROLE).missing == judged(part, needs, ROLE).unused == []
    [missing] = judged(part, needs, []).missing
    assert "api may not do dynamodb:GetItem on table/cronfleet-runs" in missing
    assert "functions.api.handler:handle" in missing
    more = [*ROLE, Statement(("dynamodb:DeleteItem",), ROLE[0].resources)]
    [unused] = judged(part, needs, more).unused
    assert "api may do dynamodb:DeleteItem on table/cronfleet-runs, which its code never does" in unused


def test_a_right_to_an_index_is_no_right_to_its_table(tmp_path: Path) -> None:
    part = Part("api", "api", "role")
    handler = "def handle(event): bootstrap.store().due()"
    needs = list(of_code(part, code(tmp_path, handler).requests("api"), "cronfleet"))
    table = "arn:aws:dynamodb:REGION:ACCOUNT:table/cronfleet-schedules"
    verdict = judged(part, needs, [Statement(("dynamodb:Query",), (table,))])
    assert "table/cronfleet-schedules/index/due" in verdict.missing[0]
    assert verdict.unused


def test_an_operation_that_nobody_knows_is_refused_and_says_where_to_enter_it(tmp_path: Path) -> None:
    handler = "import boto3\ndef handle(event): boto3.client('s3').get_object(Bucket='a')"
    with pytest.raises(Unknown, match=r"s3\.get_object, asked by functions\.api\.handler:handle: say in permissions/"):
        list(of_code(Part("api", "api", "role"), code(tmp_path, handler).requests("api"), "cronfleet"))


def test_what_is_asked_for_under_anothers_role_is_not_the_parts_own(tmp_path: Path) -> None:
    handler = "import boto3\ndef handle(event): boto3.client('s3', aws_session_token='a').get_object(Bucket='a')"
    assert found(tmp_path, handler) == set()


def test_every_request_of_the_database_is_known() -> None:
    own = {name for name, _ in inspect.getmembers(Database, inspect.isfunction) if not name.startswith("_")}
    assert own - {"back_off", "pause", "tell_refused"} == VERBS


def test_the_lean_client_asks_for_what_boto3s_would(tmp_path: Path) -> None:
    handler = "from cronfleet.adapters.aws import lean\ndef handle(event): lean.client('s3').get_object(Bucket='a')"
    with pytest.raises(Unknown, match=r"s3\.get_object"):
        list(of_code(Part("api", "api", "role"), code(tmp_path, handler).requests("api"), "cronfleet"))
