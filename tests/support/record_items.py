"""Records what today's code stores and sends: `python -m tests.support.record_items 3`. Without a number it only says
what is stored today that no record knows.

Written to `tests/cases/items/<format>.json`, once for each format, and never again: what a release has left in
somebody's tables does not change. `docs/upgrading.md` says what today's code is held to by it, and when a new format
is recorded. The first one is `tests/cases/first_items.json`.
"""

import argparse
import base64
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import boto3

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.dynamodb.items.packing import pack, unpack
from tests.support import eventful
from tests.support.chain import PREFIX, Chain, chain

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "tests" / "cases" / "items"
LAMBDA_ROOT: Final = "/var/task"
Item = dict[str, dict[str, Any]]


def main(arguments: list[str]) -> int:
    """Live through the eventful minutes and write down what they left; 1 where the release has its record."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.record_items", description=__doc__)
    parser.add_argument("format", type=int, nargs="?", help="the number of a new format; without it nothing is written")
    chosen = parser.parse_args(arguments).format
    path = FOLDER / f"{chosen}.json"
    if path.exists():
        sys.stderr.write(f"{path} is there: a format has one record, which does not change\n")
        return 1
    with chain(eventful.START) as made:
        eventful.live(made)
        record = _record(made)
    if chosen is None:
        return _compare(record)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record, separators=(",", ":"), sort_keys=True) + "\n", encoding="utf-8")
    sys.stderr.write(f"{path}: {sum(map(len, record['tables'].values()))} items\n")
    return 0


def _compare(record: dict[str, Any]) -> int:
    """Say which attributes no record knows: what has some is a new format, and is to be recorded; 1 then."""
    known: Counter[str] = Counter()
    for path in FOLDER.glob("*.json"):
        known.update(shapes(json.loads(path.read_text(encoding="utf-8"))))
    new = sorted(set(shapes(record)) - set(known))
    sys.stderr.write("".join(f"new: {shape}\n" for shape in new) or "nothing new\n")
    return 1 if new else 0


def shapes(record: dict[str, Any]) -> Counter[str]:
    """How many items hold each attribute, by table, kind of item, name and type; and likewise of messages."""
    found: Counter[str] = Counter()
    for table, items in record["tables"].items():
        for item in items:
            found.update(f"{table} {kind_of(item)} {name}:{next(iter(value))}" for name, value in item.items())
    for queue, bodies in record["messages"].items():
        for body in bodies:
            found.update(f"queue {queue} {name}:{type(value).__name__}" for name, value in json.loads(body).items())
    return found


def kind_of(item: Item) -> str:
    """How its sort key begins, less all that differs from one to the next."""
    return re.sub(r"[#~].*|\d.*|^o[0-9a-f]{20}$|-[0-9a-f]{16}$|^(01|k-).*", "", item["sk"]["S"]) or "row"


def _record(made: Chain) -> dict[str, Any]:
    return {
        "now": made.now,
        "tables": {table.name: [as_json(item) for item in stored(table.name)] for table in schema.TABLES},
        "messages": {queue: list(_messages(url)) for queue, url in made.urls.items()},
    }


def stored(table: str) -> Iterator[Item]:
    """Every item of a table, by its keys."""
    pages = boto3.client("dynamodb").get_paginator("scan").paginate(TableName=f"{PREFIX}-{table}")
    items = [item for page in pages for item in page["Items"]]
    yield from sorted(items, key=lambda item: (item["pk"]["S"], item["sk"]["S"]))


def _messages(url: str) -> Iterator[str]:
    """What waits in a queue, delayed messages left out: nobody can look at those."""
    sqs = boto3.client("sqs")
    while received := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", ()):
        yield from (message["Body"] for message in received)


def as_json(item: Item) -> Item:
    """Binary attributes in base64; what a job logged names the folder of Lambda and not that of whoever records."""
    return {name: _as_json(value) for name, value in item.items()}


def _as_json(value: dict[str, Any]) -> dict[str, Any]:
    if "B" not in value:
        return value
    return {"B": base64.b64encode(_elsewhere(bytes(value["B"]))).decode()}


def _elsewhere(packed: bytes) -> bytes:
    text = json.dumps(unpack(packed))
    return pack(json.loads(text.replace(str(ROOT), LAMBDA_ROOT))) if str(ROOT) in text else packed


def from_json(recorded: Item) -> Item:
    """The reverse of `as_json`."""
    return {name: {"B": base64.b64decode(value["B"])} if "B" in value else value for name, value in recorded.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
