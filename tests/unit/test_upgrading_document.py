"""docs/upgrading.md names every kind of item that is on record, and every record."""

import json
import re
from pathlib import Path

from cronfleet.adapters.dynamodb import schema
from tests.support.record_items import FOLDER, kind_of

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "upgrading.md").read_text(encoding="utf-8")
ROWS_IN_WORDS = {"row", "uk"}
"""Kinds whose sort key is an id of a caller's or a random one."""


def rows_of(table: str) -> list[str]:
    return [line for line in DOCUMENT.splitlines() if line.startswith(f"| {table} |")]


def test_every_table_and_every_kind_of_item_stands_in_the_inventory() -> None:
    newest = max(FOLDER.glob("*.json"), key=lambda path: int(path.stem))
    tables = json.loads(newest.read_text(encoding="utf-8"))["tables"]
    assert set(tables) <= {table.name for table in schema.TABLES}
    for table in schema.TABLES:
        (row,) = rows_of(table.name)
        named = set(re.findall(r"`([A-Za-z]+)`", row))
        kinds = {kind_of(item) for item in tables.get(table.name, ())} - ROWS_IN_WORDS
        assert kinds <= named, f"{table.name}: the inventory says nothing of {kinds - named}"


def test_every_record_stands_in_the_table_of_formats() -> None:
    for path in FOLDER.glob("*.json"):
        assert f"| {path.stem} | `tests/cases/items/{path.name}` |" in DOCUMENT
